"""The conformance rows that concern the resync machine, each against scripted responses in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from driving import (
    FULL,
    Driver,
    Page,
    Response,
    Stream,
    added,
    book,
    bookmark,
    changes,
    deleted,
    end_bookmark,
    modified,
    play,
    requests,
)

import kubeproto as kp
from kubeproto.objects import StatusCause
from kubeproto.watching.resync import (
    Backoff,
    Closed,
    Ended,
    Endpoint,
    Idle,
    Lagging,
    Opening,
    Paused,
    Refreshed,
    SendList,
    SendWatch,
    Settings,
    Started,
    Stopped,
    Streaming,
    Watching,
    sync_status,
)
from kubeproto.wire import (
    Broken,
    Expired,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unsupported,
    classify,
)

STREAMING = Settings()
GONE = Expired("too old", 410)
AHEAD = TooLarge("too large", 504)
BUSY = Throttled("busy", 429)
DOWN = ServerFailed("internal error", 500)
REFUSED = Unreachable("connection refused")
OLD_SERVER = Unsupported("sendInitialEvents: Forbidden", 422)
OPEN = Stream(end=None)


def failed(
    code: int, reason: str = "", message: str = "", *, retry_after: int = 0, causes: Any = ()
) -> kp.WatchFailed:
    """Return the ERROR event of a watch."""
    details = kp.objects.StatusDetails(retry_after_seconds=retry_after, causes=causes)
    return kp.WatchFailed(
        kp.Status(status="Failure", code=code, reason=reason, message=message, details=details)
    )


def malformed(name: str, version: str, line: bytes = b"{}", *, kind: str = "MODIFIED") -> kp.Malformed:
    return kp.Malformed(kp.ObjectMeta(name=name, resource_version=version), ValueError("no"), line, kind)


# The reflector


def test_r_01_an_error_in_the_stream_closes_it() -> None:
    driver = play(Page(1), OPEN)
    driver.feed([added("a", 2), failed(500, "InternalError")])
    assert not driver.open
    assert driver.snapshot() == {"a": "2"}


def test_r_02_a_stop_closes_the_stream_and_sends_no_further_request() -> None:
    driver = play(Page(1), OPEN)
    driver.step(Stopped())
    assert (driver.open, driver.planned, type(driver.state)) == (False, None, Ended)


def test_r_04_a_stop_before_the_watch_was_sent_leaves_it_unsent() -> None:
    driver = play(Page(1))
    assert type(driver.planned) is SendWatch
    driver.step(Stopped())
    assert str(driver.planned) == "None"
    assert requests(driver) == [("list", "0")]


def test_r_05_and_r_07_and_r_11_a_stop_is_not_a_failure() -> None:
    driver = play(Page(1), OPEN)
    driver.step(Stopped())
    assert (driver.failures, driver.abandoned) == ([], None)


def test_r_06_after_a_stop_nothing_is_stored() -> None:
    driver = play(Page(1), OPEN)
    driver.step(Stopped())
    driver.feed([added("a", 2)])
    assert driver.snapshot() == {}


def test_r_08_and_r_09_a_watch_that_ends_within_a_second_without_events_is_reported_as_a_failure() -> None:
    for lasts in (0.0, 0.9):
        driver = play(Page(1), Stream(lasts=lasts))
        assert [t.text for t in driver.failures] == ["the watch ended immediately, without an event"]
        assert isinstance(driver.planned, SendWatch)


def test_r_10_a_chunk_of_all_kinds_ends_at_the_version_of_its_last_event() -> None:
    driver = play(Page(10, [book("foo", 9), book("bar", 8)]), OPEN)
    stranger = b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}}'
    driver.feed([deleted("foo", 60), modified("bar", 55), malformed("x", "57", stranger), added("baz", 32)])
    assert (driver.snapshot(), driver.store.version) == ({"bar": "55", "baz": "32"}, "32")
    assert sync_status(driver.state, driver.now).version == "32"


def test_r_12_list_then_watch_or_one_streaming_list() -> None:
    plain = play(Page(1, [book("a", 1)]), OPEN)
    plain.feed([added("b", 2), modified("b", 3)])
    assert [(type(s), s.version) for s in plain.requests] == [(SendList, "0"), (SendWatch, "1")]
    assert isinstance(plain.requests[0], SendList)
    assert (plain.requests[0].limit, plain.snapshot()) == (500, {"a": "1", "b": "3"})
    streamed = play(Stream([[added("a", 1), end_bookmark(1)]], end=None), settings=STREAMING)
    assert (requests(streamed), streamed.snapshot()) == ([("stream", "")], {"a": "1"})


@pytest.mark.parametrize("failure", [GONE, DOWN, REFUSED, Garbled("half a line"), Closed()])
def test_r_13_after_a_failure_the_next_list_makes_the_store_equal_to_the_server(failure: Any) -> None:
    driver = play(Page(1, [book("a", 1), book("b", 1)]), Stream([[added("c", 3)]], 5.0, failure))
    driver.step(Refreshed())
    driver.respond(Page(9, [book("b", 1), book("c", 7)]))
    assert driver.snapshot() == {"b": "1", "c": "7"}
    assert changes(driver)[-2:] == [("DELETED", "a"), ("MODIFIED", "c")]


@pytest.mark.parametrize("draw", [0.0, 0.5, 1.0])
def test_r_14_refused_connections_are_retried_by_the_backoff_and_success_resets_it(draw: float) -> None:
    driver = play(*[REFUSED] * 8, Page(1), OPEN, draw=draw)
    schedule = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 0.0]
    assert driver.waits() == pytest.approx([wait * (1 + draw) for wait in schedule])


def test_r_15_a_configured_backoff_is_used() -> None:
    patient = Settings(streaming=False, backoff=Backoff(initial=0.01, maximum=0.1, jitter=0.0))
    driver = play(*[DOWN] * 6, settings=patient)
    assert driver.waits() == pytest.approx([0.01, 0.02, 0.04, 0.08, 0.1])
    assert sum(driver.waits()) == pytest.approx(0.25)


def test_r_16_a_busy_server_at_the_start_and_in_the_stream_causes_a_single_wait() -> None:
    driver = play(Page(1), BUSY, Stream([[failed(429, "TooManyRequests")]], 0.0), OPEN)
    assert requests(driver) == [("list", "0"), ("watch", "1"), ("watch", "1"), ("watch", "1")]
    assert driver.waits() == pytest.approx([0.0, 0.8, 1.6])


def test_r_17_a_busy_server_causes_no_relist() -> None:
    driver = play(Page(1), BUSY, BUSY, BUSY, BUSY, OPEN)
    assert [verb for verb, _ in requests(driver)] == ["list"] + ["watch"] * 5


def test_r_18_a_watch_continues_after_an_internal_error_and_relists_after_the_fifth_in_a_row() -> None:
    broken = Stream([[failed(500, "InternalError")]], 0.0)
    driver = play(Page(1), *[broken] * 5, Page(9), OPEN)
    assert requests(driver) == [("list", "0"), *[("watch", "1")] * 5, ("list", "1"), ("watch", "9")]


def test_r_22_a_configured_page_size_applies_to_a_list_at_a_version_too() -> None:
    driver = play(
        Page(9, [book("a", 1)]), GONE, Page(10, [book("a", 1)], "x"), Page(10, [book("b", 1)]),
        settings=Settings(streaming=False, page_size=4),
    )  # fmt: skip
    assert [s.limit for s in driver.requests if isinstance(s, SendList)] == [4, 4, 4]
    assert driver.snapshot() == {"a": "1", "b": "1"}


def test_r_23_a_list_at_a_version_has_no_limit_so_that_the_watch_cache_serves_it() -> None:
    driver = play(Page(10), GONE, Page(11))
    lists = [s for s in driver.requests if isinstance(s, SendList)]
    assert [(s.version, s.limit) for s in lists] == [("0", 500), ("10", 0)]


def test_r_24_a_server_that_pages_at_version_0_is_listed_in_pages_from_then_on() -> None:
    driver = play(Page(10, [], "x"), Page(10), GONE, Page(11))
    lists = [s for s in driver.requests if isinstance(s, SendList)]
    assert [(s.version, s.limit, s.token) for s in lists] == [("0", 500, ""), ("", 500, "x"), ("10", 500, "")]


def test_r_25_the_second_list_requests_the_version_of_the_first() -> None:
    assert requests(play(Page(10), GONE, Page(11))) == [("list", "0"), ("watch", "10"), ("list", "10")]


def test_r_26_a_list_at_an_expired_version_is_immediately_repeated_at_the_latest_version() -> None:
    driver = play(Page(10), GONE, GONE, Page(12))
    assert [v for verb, v in requests(driver) if verb == "list"] == ["0", "10", ""]
    assert driver.waits()[-1] == 0.0


def test_r_27_a_second_page_that_expired_falls_back_to_one_list_at_the_same_version() -> None:
    paged = Settings(streaming=False, page_size=1)
    driver = play(
        Page(10), GONE, Page(11, [book("a", 1)], "x"), GONE, Page(12, [book("b", 2)]), settings=paged
    )
    lists = [s for s in driver.requests if isinstance(s, SendList)]
    assert [(s.version, s.limit, s.token) for s in lists] == [
        ("0", 1, ""), ("10", 1, ""), ("", 1, "x"), ("10", 0, ""),
    ]  # fmt: skip
    assert driver.snapshot() == {"b": "2"}


@pytest.mark.parametrize(
    "status",
    [
        failed(504, "Timeout", causes=(StatusCause(reason="ResourceVersionTooLarge"),)),
        failed(504, "Timeout", causes=(StatusCause(message="Too large resource version"),)),
        failed(504, "Timeout", "Timeout: Too large resource version: 5, current: 3"),
    ],
)
def test_r_28_each_spelling_of_too_large_lists_the_latest_version(status: kp.WatchFailed) -> None:
    driver = play(Page(20), GONE, classify(status.status), Page(30))
    assert [v for verb, v in requests(driver) if verb == "list"] == ["0", "20", ""]


@pytest.mark.parametrize(("least", "seconds"), [(300, (300, 600)), (1, (300, 600)), (1800, (1800, 3600))])
def test_r_29_the_duration_of_a_watch_is_drawn_between_the_minimum_and_its_double(
    least: int, seconds: tuple[int, int]
) -> None:
    driver = play(Page(1), settings=Settings(streaming=False, watch_seconds=least))
    assert isinstance(driver.planned, SendWatch)
    assert driver.planned.seconds == seconds


def test_r_30_each_kind_of_event_moves_the_version() -> None:
    driver = play(Page(10), OPEN)
    for event, version in [
        (added("a", 20), "20"), (modified("a", 30), "30"), (bookmark(40), "40"), (deleted("a", 50), "50"),
    ]:  # fmt: skip
        driver.feed([event])
        assert (sync_status(driver.state, 0.0).version, driver.store.version) == (version, version)


def test_r_31_an_object_that_the_server_cannot_read_is_removed_by_a_new_list() -> None:
    unreadable = failed(500, "StorageReadError")
    driver = play(Page(1, [book("a", 1), book("b", 1)]), Stream([[unreadable]]), Page(9, [book("b", 1)]))
    assert (driver.snapshot(), requests(driver)[-1]) == ({"b": "1"}, ("list", ""))


def test_r_36_after_a_410_the_machine_waits_and_first_requests_the_last_version() -> None:
    at_start = play(Page(5), GONE, GONE, Page(9))
    in_stream = play(Page(5), Stream([[failed(410, "Expired")]]), GONE, Page(9))
    for driver in (at_start, in_stream):
        assert requests(driver) == [("list", "0"), ("watch", "5"), ("list", "5"), ("list", "")]
    assert at_start.waits()[1] == pytest.approx(0.8)


def test_r_37_a_refused_watch_is_retried_later_without_a_list() -> None:
    driver = play(Page(1), REFUSED, OPEN)
    assert (requests(driver), driver.waits()) == (
        [("list", "0"), ("watch", "1"), ("watch", "1")], [0.0, 0.8],
    )  # fmt: skip
    assert [t.source for t in driver.failures] == ["transport"]


def test_r_38_a_watch_that_ended_after_events_is_reopened_immediately_until_the_bucket_is_empty() -> None:
    events = [Stream([[added("a", n)]], 0.0) for n in range(2, 22)]
    driver = play(Page(1), *events)
    assert [verb for verb, _ in requests(driver)] == ["list"] + ["watch"] * 20
    assert driver.waits() == pytest.approx([0.0] * 9 + [1.0] * 11)


def test_r_40_an_object_without_metadata_is_skipped_and_the_list_is_repeated() -> None:
    driver = play(Page(1), OPEN)
    driver.feed([added("a", 2), kp.Malformed(None, ValueError("no"), b"{}", "ADDED"), added("b", 4)])
    assert driver.snapshot() == {"a": "2", "b": "4"}
    assert isinstance(driver.planned, SendList)
    assert driver.planned.version == ""
    assert driver.planned.earliest - driver.now == pytest.approx(0.8)


# Streaming lists


def test_wl_01_and_wl_03_and_wl_09_without_streaming_the_requests_are_a_list_and_a_watch() -> None:
    switched_off = play(Page(1), OPEN, settings=FULL)
    remembered = play(Page(1), OPEN, settings=STREAMING, endpoint=Endpoint(streaming=False))
    for driver in (switched_off, remembered):
        assert requests(driver) == [("list", "0"), ("watch", "1")]
        assert isinstance(driver.requests[0], SendList)
        assert (driver.requests[0].limit, driver.requests[0].match) == (500, "")


def test_wl_02_and_wl_04_and_wl_12_by_default_a_single_request_brings_the_snapshot() -> None:
    driver = Driver(Settings())
    driver.step(Started())
    driver.respond(Stream([[added("a", 3), added("b", 1)], [end_bookmark(7)]], end=None))
    [send] = driver.requests
    assert isinstance(send, SendWatch)
    assert (send.initial, send.match, send.version) == (True, "NotOlderThan", "")
    assert (driver.snapshot(), driver.store.version) == ({"a": "3", "b": "1"}, "7")
    assert sync_status(driver.state, driver.now).synced


def test_wl_05_the_status_reports_how_long_the_end_bookmark_is_awaited() -> None:
    driver = play(Stream([[added("a", 3)]], 0.0, None), settings=STREAMING)
    driver.now += 12.0
    status = sync_status(driver.state, driver.now)
    assert (status.synced, status.silent_for) == (False, 12.0)
    assert status.reason == (
        "a streaming list has delivered 1 events in 12 s, the last event 12 s ago,"
        " and no initial-events-end bookmark"
    )
    driver.feed([end_bookmark(4)])
    assert sync_status(driver.state, driver.now).reason == ""


def test_wl_06_and_wl_08_initial_events_set_no_version_and_no_snapshot_before_the_end_bookmark() -> None:
    driver = play(Stream([[added("a", 3), added("b", 9)]], end=None), settings=STREAMING)
    previous_status = sync_status(driver.state, driver.now)
    assert (previous_status.synced, previous_status.version, driver.snapshot(), driver.changes) == (
        False,
        "",
        {},
        [],
    )
    driver.feed([end_bookmark(7)])
    assert sync_status(driver.state, driver.now).version == "7"


def test_wl_07_a_watch_that_began_at_a_version_records_the_version_of_each_event() -> None:
    driver = play(OPEN, version="5")
    driver.feed([added("a", 6)])
    assert (requests(driver), sync_status(driver.state, 0.0).version) == ([("watch", "5")], "6")


def test_wl_10_a_server_without_streaming_is_asked_only_once() -> None:
    driver = play(OLD_SERVER, Page(3), OPEN, settings=STREAMING)
    assert requests(driver) == [("stream", ""), ("list", "0"), ("watch", "3")]
    assert driver.waits() == [0.0, 0.0]
    assert not driver.state.context.endpoint.streaming


@pytest.mark.parametrize(
    "outcome", [DOWN, Broken("reset"), Garbled("html"), Rejected("bad", 400), Refused("forbidden", 403)]
)
def test_wl_11_any_other_failure_at_the_start_falls_back_to_a_list_once(outcome: Outcome) -> None:
    driver = play(outcome, Page(3), GONE, settings=STREAMING)
    assert requests(driver) == [("stream", ""), ("list", "0"), ("watch", "3")]
    assert isinstance(driver.planned, SendWatch)
    assert driver.planned.initial


def test_wl_13_and_w_18_changes_and_deletions_before_the_end_bookmark_reach_the_new_snapshot() -> None:
    driver = play(
        Stream(
            [[added("a", 1), added("b", 2)], [modified("a", 3), deleted("b", 4), end_bookmark(4)]], end=None
        ),
        settings=STREAMING,
    )
    assert (driver.snapshot(), changes(driver)) == ({"a": "3"}, [("ADDED", "a")])


def test_wl_14_a_busy_server_is_retried_without_a_fallback() -> None:
    driver = play(BUSY, BUSY, BUSY, Stream([[end_bookmark(1)]], end=None), settings=STREAMING)
    assert requests(driver) == [("stream", "")] * 4
    assert driver.waits() == pytest.approx([0.8, 1.6, 3.2])


def test_wl_15_a_stream_that_ended_before_the_end_bookmark_is_discarded() -> None:
    driver = play(
        Stream([[added("ghost", 1), added("a", 2)]]),
        Stream([[added("a", 2), end_bookmark(5)]], end=None),
        settings=STREAMING,
    )
    assert (requests(driver), driver.snapshot()) == ([("stream", ""), ("stream", "")], {"a": "2"})


def test_w_15_a_broken_streaming_list_leaves_no_deleted_object_in_the_store() -> None:
    for end in (Broken("reset"), GONE, DOWN, TimedOut("silence"), Garbled("half")):
        driver = play(Stream([[added("ghost", 1)]], end=end), Page(5, [book("a", 2)]), settings=STREAMING)
        assert driver.snapshot() == {"a": "2"}


def test_wl_16_and_wl_24_after_the_end_bookmark_a_new_watch_requests_no_initial_events() -> None:
    driver = play(Stream([[added("a", 2), end_bookmark(3)], [bookmark(8)]]), OPEN, settings=STREAMING)
    assert requests(driver) == [("stream", ""), ("watch", "8")]
    watch = driver.requests[1]
    assert isinstance(watch, SendWatch)
    assert (watch.initial, watch.match) == (False, "")


def test_wl_17_a_rewatch_that_expired_keeps_the_snapshot_and_streams_from_its_version() -> None:
    driver = play(Stream([[added("a", 2), end_bookmark(3)]]), GONE, settings=STREAMING)
    assert driver.snapshot() == {"a": "2"}
    driver.respond(OPEN)
    assert requests(driver)[-1] == ("stream", "3")
    assert driver.snapshot() == {"a": "2"}


def test_wl_18_an_ordinary_bookmark_does_not_end_the_initial_events() -> None:
    driver = play(Stream([[added("a", 2), bookmark(3)]], end=None), settings=STREAMING)
    assert isinstance(driver.state, Lagging)
    assert not sync_status(driver.state, driver.now).synced


@pytest.mark.parametrize("outcome", [GONE, AHEAD])
def test_wl_19_and_wl_20_a_streaming_list_refused_at_a_version_immediately_requests_the_latest(
    outcome: Outcome,
) -> None:
    driver = play(Stream([[end_bookmark(3)]]), GONE, outcome, OPEN, settings=STREAMING)
    assert requests(driver)[-2:] == [("stream", "3"), ("stream", "")]
    assert driver.waits()[-1] == 0.0


def test_wl_21_and_w_17_a_server_that_never_sends_end_bookmarks_is_only_listed_after_three_times() -> None:
    missing_ends = Stream([[added("a", 2)]], 300.0)
    driver = play(missing_ends, missing_ends, missing_ends, Page(5, [book("a", 2)]), OPEN, settings=STREAMING)
    assert requests(driver) == [*[("stream", "")] * 3, ("list", "0"), ("watch", "5")]
    assert driver.failures[-1].text == "the streaming list ended without its initial-events-end bookmark"
    endpoint = driver.state.context.endpoint
    assert endpoint == Endpoint(streaming=False, missing_ends=3)
    assert requests(play(Page(5), settings=STREAMING, endpoint=endpoint)) == [("list", "0")]


def test_wl_21_a_stream_that_stays_open_without_an_end_bookmark_is_given_up() -> None:
    silent = play(Stream([[added("a", 2)]], 75.0, TimedOut("silence")), settings=STREAMING)
    assert isinstance(silent.planned, SendList)
    lively = play(Stream([[added("a", 2)], [modified("a", 3)]], 4.0, None), settings=STREAMING)
    lively.feed([modified("a", 4)])
    assert isinstance(lively.state, Lagging)
    lively.now += 6.0
    lively.feed([modified("a", 5)])
    assert isinstance(lively.planned, SendList)
    assert not lively.open


def test_wl_21_a_bookmark_after_half_a_minute_of_silence_is_not_followed_by_another_minute() -> None:
    driver = play(Stream([[added("a", 2)]], end=None), settings=STREAMING)
    driver.now += 29.0
    driver.feed([added("b", 3)])
    driver.now += 30.0
    driver.feed([bookmark(4)])
    assert isinstance(driver.planned, SendList)
    assert not driver.open
    assert driver.state.context.endpoint.missing_ends == 1


def test_a_long_streaming_list_may_take_its_time() -> None:
    driver = play(Stream(end=None), settings=STREAMING)
    for n in range(1, 100):
        driver.now += 30.0
        driver.feed([added(f"a{n}", n)])
    assert isinstance(driver.state, Streaming)


def test_wl_22_an_end_bookmark_without_a_version_causes_a_fallback_and_never_syncs() -> None:
    driver = play(Stream([[added("a", 2), end_bookmark("")]]), Page(5, [book("a", 2)]), settings=STREAMING)
    assert requests(driver) == [("stream", ""), ("list", "0")]
    assert driver.store.version == "5"


def test_wl_23_an_unrequested_end_bookmark_is_a_bookmark() -> None:
    driver = play(Page(5, [book("a", 2)]), OPEN)
    driver.feed([added("b", 6), end_bookmark(7), added("c", 8), end_bookmark("")])
    assert (driver.snapshot(), driver.store.version) == ({"a": "2", "b": "6", "c": "8"}, "8")
    assert isinstance(driver.state, Watching)


# Following from a version, without lists


def follow(*responses: Response, version: str = "1") -> Driver:
    return play(*responses, settings=Settings(follow=True), version=version)


def names(driver: Driver) -> list[str]:
    return [event.object.metadata.name for event in driver.delivered if isinstance(event, kp.Added)]


@pytest.mark.parametrize("outcome", [BUSY, REFUSED, DOWN, Broken("no answer"), TimedOut("late")])
def test_rw_03_and_rw_05_a_start_that_failed_is_repeated(outcome: Outcome) -> None:
    driver = follow(outcome, Stream([[added("a", 2)]], end=None))
    assert (requests(driver), names(driver)) == ([("watch", "1")] * 2, ["a"])


def test_rw_04_and_rw_08_an_expired_version_ends_the_watch_and_is_reported() -> None:
    for answer in (GONE, Stream([[failed(410, "Gone")]])):
        driver = follow(answer)
        assert isinstance(driver.abandoned, Expired)
        assert (type(driver.state), driver.planned, driver.open) == (Ended, None, False)


def test_rw_06_and_rw_07_only_newer_events_are_delivered() -> None:
    driver = follow(Stream([[added("a", 1), added("b", 2), added("c", 3)]], end=None), version="2")
    assert names(driver) == ["c"]
    newest = follow(Stream([[added("a", 1)]], end=None), version="2")
    assert (names(newest), newest.open) == ([], True)


@pytest.mark.parametrize("code", [401, 403])
def test_rw_09_and_rw_10_without_permission_the_watch_ends_after_a_single_request(code: int) -> None:
    driver = follow(Refused("no", code))
    assert (len(driver.requests), driver.abandoned) == (1, Refused("no", code))


@pytest.mark.parametrize("code", [504, 500])
def test_rw_11_and_rw_12_after_a_server_error_the_watch_continues_after_its_retry_after(code: int) -> None:
    reason = "Timeout" if code == 504 else "InternalError"
    driver = follow(Stream([[failed(code, reason, retry_after=3)]], 0.0), OPEN)
    assert (driver.waits(), len(driver.requests)) == ([3.0], 2)


def test_rw_13_and_rw_14_the_watch_continues_after_an_unknown_error() -> None:
    for event in (failed(666), malformed("", "", kind="ERROR")):
        driver = follow(Stream([[event]]), OPEN)
        assert (driver.open, requests(driver)) == (True, [("watch", "1")] * 2)


def test_rw_15_after_a_clean_end_the_event_has_been_delivered_once() -> None:
    driver = follow(Stream([[added("a", 2)]]), OPEN)
    assert (requests(driver), names(driver)) == ([("watch", "1"), ("watch", "2")], ["a"])


@pytest.mark.parametrize("versions", [[2, 3, 4], [5, 70, 71], [1002, 1003, 5000]])
def test_rw_16_and_rw_17_and_rw_18_each_event_is_delivered_once_and_in_order(versions: list[int]) -> None:
    driver = follow(*[Stream([[added(f"a{v}", v)]]) for v in versions])
    assert names(driver) == [f"a{v}" for v in versions]


def test_rw_19_and_rw_20_events_that_a_server_repeats_after_a_restart_are_skipped() -> None:
    driver = follow(
        Stream([[added("a", 2), added("b", 3)]]), Stream([[added("a", 2), added("b", 3), added("c", 4)]])
    )
    assert names(driver) == ["a", "b", "c"]


def test_rw_21_several_events_of_a_stream_are_delivered_once_each() -> None:
    driver = follow(
        Stream([[added("a", 2), added("b", 2)]]),
        Stream([[added("b", 2), added("c", 3), added("d", 3)]]),
        Stream([[added("d", 3), added("e", 4)]]),
    )
    assert names(driver) == ["a", "b", "c", "d", "e"]


def test_rw_22_after_a_stop_in_the_middle_of_a_chunk_its_later_events_are_not_read() -> None:
    driver = follow(OPEN)
    driver.step(Stopped())
    driver.feed([added("a", 2), added("b", 3)])
    assert (names(driver), type(driver.state)) == ([], Ended)


def test_rw_23_an_event_without_a_version_ends_the_watch() -> None:
    driver = follow(Stream([[added("a", "")]]))
    assert isinstance(driver.abandoned, Garbled)
    assert type(driver.state) is Ended


# Cases of our own


def test_w_01_and_w_02_one_page_or_three_then_a_watch_at_the_version_of_the_list() -> None:
    single = play(Page(4, [book("a", 1)]), OPEN)
    three = play(Page(4, [book("a", 1)], "x"), Page(4, [book("b", 1)], "y"), Page(4, [book("c", 1)]), OPEN)
    assert (requests(single)[-1], requests(three)[-1]) == (("watch", "4"), ("watch", "4"))
    assert changes(three) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert all(change.initial for change in three.changes)


def test_w_03_a_410_on_page_two_leaves_no_duplicates() -> None:
    driver = play(Page(4, [book("a", 1)], "x"), GONE, Page(6, [book("a", 1), book("b", 5)]))
    assert changes(driver) == [("ADDED", "a"), ("ADDED", "b")]


def test_w_05_and_w_06_and_w_07_events_and_bookmarks_advance_the_version_of_the_next_watch() -> None:
    driver = play(Page(4, [book("a", 1)]), Stream([[modified("a", 6)]]), Stream([[bookmark(9)]]), OPEN)
    assert requests(driver) == [("list", "0"), ("watch", "4"), ("watch", "6"), ("watch", "9")]
    assert changes(driver) == [("ADDED", "a"), ("MODIFIED", "a")]


@pytest.mark.parametrize(
    "answer",
    [
        Stream([[failed(410)]]),
        classify(kp.Status(code=410, reason="Gone")),
        classify(kp.Status(code=0, reason="Expired")),
        Stream([[failed(500, "Expired")]]),
    ],
)
def test_w_08_and_w_09_and_w_10_each_form_of_a_410_relists(answer: Response) -> None:
    driver = play(Page(4, [book("a", 1), book("b", 2)]), answer, Page(9, [book("b", 2)]), OPEN)
    assert requests(driver)[-2:] == [("list", "4"), ("watch", "9")]
    assert changes(driver)[2:] == [("DELETED", "a")]


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (429, "TooManyRequests")])
def test_w_11_after_an_error_in_the_stream_the_watch_continues_after_its_retry_after(
    code: int, reason: str
) -> None:
    driver = play(Page(4), Stream([[failed(code, reason, retry_after=7)]], 0.0), OPEN)
    assert (requests(driver)[-1], driver.waits()[-1]) == (("watch", "4"), 7.0)


@pytest.mark.parametrize("code", [401, 403, 404])
def test_w_12_and_w_13_without_permission_or_kind_requests_are_slow_reported_and_recover(code: int) -> None:
    driver = play(*[Refused("no such thing", code)] * 9, Page(1), OPEN)
    assert driver.waits() == pytest.approx([10.0] * 4 + [12.8, 25.6, 30.0, 30.0, 30.0, 0.0])
    assert driver.failures[0].outcome == Refused("no such thing", code)
    assert driver.open


def test_w_12_while_a_kind_is_missing_the_reason_can_be_read() -> None:
    driver = play(Refused("books is not here", 404))
    status = sync_status(driver.state, driver.now)
    assert status.reason == "a list has been requested, after a failure: books is not here"


def test_w_14_the_stream_of_the_list_continues_as_the_watch() -> None:
    driver = play(Stream([[added("a", 1), end_bookmark(4), modified("a", 5)]], end=None), settings=STREAMING)
    assert (len(driver.requests), driver.open, driver.snapshot()) == (1, True, {"a": "5"})
    assert [(c.type, c.initial) for c in driver.changes] == [("ADDED", True), ("MODIFIED", False)]


def test_w_16_a_server_without_streaming_lists_is_listed() -> None:
    assert requests(play(OLD_SERVER, Page(1), settings=STREAMING)) == [("stream", ""), ("list", "0")]


def test_w_19_waits_grow_if_watches_end_immediately() -> None:
    driver = play(Page(1), *[Stream(lasts=0.1)] * 9)
    # Each watch was open for a tenth of a second.
    assert driver.waits()[1:] == pytest.approx([0.9, 1.7, 3.3, 6.5, 12.9, 25.7, 30.1, 30.1])
    assert [verb for verb, _ in requests(driver)] == ["list"] + ["watch"] * 9


def test_w_20_waits_grow_if_lists_fail() -> None:
    assert play(*[DOWN] * 7).waits() == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6])


def test_a_successful_list_does_not_reset_the_backoff() -> None:
    driver = play(Page(1), GONE, Page(2), GONE, Page(3), GONE, Page(4), GONE)
    assert [w for w in driver.waits() if w] == pytest.approx([0.8, 1.6, 3.2])


def test_w_21_progress_of_a_watch_resets_the_backoff() -> None:
    busy: list[Response] = [Page(1), DOWN, DOWN, DOWN]
    advanced = play(*busy, Stream([[bookmark(5)]], 2.0, DOWN), OPEN)
    assert advanced.waits()[-1] == pytest.approx(2.8)
    lasting = play(*busy, Stream([[bookmark(1)]], 61.0, DOWN), OPEN)
    assert lasting.waits()[-1] == pytest.approx(61.8)
    neither = play(*busy, Stream([[bookmark(1)]], 59.0, DOWN), OPEN)
    assert neither.waits()[-1] == pytest.approx(59.0 + 6.4)


def test_w_22_and_w_23_silence_of_75_seconds_ends_a_watch_unless_events_arrive() -> None:
    driver = play(Page(1), Stream([[added("a", 2)]], 75.0, TimedOut("silence")), OPEN)
    assert all(isinstance(s, SendList) or s.idle == 75.0 for s in driver.requests)
    assert (requests(driver)[-1], driver.open) == (("watch", "2"), True)


def test_a_server_without_bookmarks_is_detected_and_its_silence_is_then_accepted() -> None:
    silence = Stream(lasts=75.0, end=TimedOut("silence"))
    driver = play(Page(1), silence, OPEN)
    watch = driver.requests[-1]
    assert isinstance(watch, SendWatch)
    assert watch.idle == 75.0  # the connection may have been dead
    driver = play(Page(1), silence, silence, Page(1), OPEN)
    watch = driver.requests[-1]
    assert isinstance(watch, SendWatch)
    assert watch.idle is None
    driver.feed([bookmark(2)])
    driver.end(Closed())
    driver.respond(OPEN)
    watch = driver.requests[-1]
    assert isinstance(watch, SendWatch)
    assert watch.idle == 75.0


def test_a_watch_at_a_version_that_a_restored_server_has_not_reached_does_not_hang_forever() -> None:
    driver = play(
        Page(900, [book("a", 800)]), Stream(lasts=75.0, end=TimedOut("silence")),
        Stream(lasts=75.0, end=TimedOut("silence")), AHEAD, Page(50, [book("a", 40)]), OPEN,
    )  # fmt: skip
    assert requests(driver)[-3:] == [("list", "900"), ("list", ""), ("watch", "50")]
    assert driver.failures[-1].source == "version"
    assert driver.changes[-1].went_back


def test_w_24_the_last_sign_of_life_is_exported() -> None:
    driver = play(Page(1), OPEN)
    received_at = driver.now
    driver.now += 30.0
    driver.feed([])
    driver.now += 4.0
    status = sync_status(driver.state, driver.now)
    assert (status.received_at, status.silent_for) == (received_at + 30.0, 4.0)


def test_w_27_an_object_that_does_not_fit_moves_the_version_and_keeps_its_bytes() -> None:
    driver = play(Page(1, [book("a", 1)]), OPEN)
    driver.feed([malformed("a", "6", b'{"type":"MODIFIED","object":{"spec":7}}')])
    entry = driver.store.entry("a")
    assert (driver.open, sync_status(driver.state, 0.0).version) == (True, "6")
    assert entry is not None
    assert entry.raw == b'{"spec":7}'
    driver.feed([malformed("b", "", kind="ADDED")])
    assert not driver.open
    assert isinstance(driver.planned, SendList)


def test_w_29_an_object_that_was_deleted_in_a_gap_is_reported_with_its_last_state() -> None:
    driver = play(Page(4, [book("a", 1, "Moby"), book("b", 2)]), GONE, Page(9, [book("b", 2)]))
    change = driver.changes[-1]
    assert (change.type, change.assumed, change.object.spec.title) == ("DELETED", True, "Moby")


def test_w_30_unchanged_objects_are_not_replayed_after_a_gap_unless_configured() -> None:
    driver = play(Page(4, [book("a", 1), book("b", 2)]), GONE, Page(9, [book("a", 1), book("b", 7)]))
    assert changes(driver)[2:] == [("MODIFIED", "b")]


def test_w_31_a_version_that_decreases_is_accepted_and_flagged() -> None:
    driver = play(Page(9, [book("a", 8)]), OPEN)
    driver.feed([modified("a", 5)])
    assert driver.snapshot() == {"a": "5"}
    assert [t.text for t in driver.failures] == ["version 5 came after 9: the server has gone back in time"]
    assert driver.changes[-1].went_back


# Calls of the program, and clocks


def test_a_pause_keeps_the_version() -> None:
    driver = play(Page(4, [book("a", 1)]), OPEN)
    driver.feed([bookmark(6)])
    driver.step(Paused())
    assert (type(driver.state), driver.open, driver.snapshot()) == (Idle, False, {"a": "1"})
    driver.step(Started())
    driver.respond(OPEN)
    assert requests(driver)[-1] == ("watch", "6")


def test_a_pause_while_a_snapshot_is_built_does_not_show_the_snapshot() -> None:
    driver = play(Page(4, [book("a", 1)], "x"))
    driver.step(Paused())
    driver.step(Started())
    driver.respond(Page(6, [book("b", 2)]))
    assert driver.snapshot() == {"b": "2"}


def test_a_refresh_builds_the_latest_snapshot_beside_the_old_one() -> None:
    driver = play(Page(4, [book("a", 1)]), OPEN)
    driver.step(Refreshed())
    assert (driver.open, driver.snapshot()) == (False, {"a": "1"})
    driver.respond(Page(9, [book("b", 8)], "x"))
    assert (requests(driver)[-1], driver.snapshot()) == (("list", ""), {"a": "1"})


def test_a_clock_that_is_set_back_costs_a_wait_only() -> None:
    driver = play(Page(1), OPEN)
    driver.now -= 86400.0
    driver.end(Closed())
    assert isinstance(driver.state, Opening)
    assert driver.planned is not None
    assert 0.0 < driver.planned.earliest - driver.now <= 10.0


def test_a_retry_after_is_limited_to_an_hour() -> None:
    driver = play(Throttled("come back next year", 429, 3e7))
    assert driver.planned is not None
    assert driver.planned.earliest - driver.now == 3600.0


def test_every_machine_stays_within_its_bucket_if_a_server_ends_watches_cleanly_after_events() -> None:
    driver = play(Page(1), *[Stream([[added("a", n)]], 0.01) for n in range(2, 200)])
    for start in driver.times:
        assert sum(start <= t < start + 60.0 for t in driver.times) <= 71

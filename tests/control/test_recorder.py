"""The recorder: a few Events that report everything, written as a server accepts them, none of them twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.control import CreateEvent, PatchEvent, Recorder
from kubeproto.kinds.core_v1 import ConfigMap, Namespace, ObjectReference
from kubeproto.kinds.events_v1 import Event
from kubeproto.objects import apply_merge_patch, check_dns_subdomain
from kubeproto.wire import (
    Broken,
    Conflicted,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    Unreachable,
)

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
TAKEN: Final = Rejected("already exists", 409)


def config(name: str = "a", *, uid: str = "u", version: str = "1", namespace: str = "n") -> ConfigMap:
    metadata = kp.ObjectMeta(name=name, namespace=namespace, uid=uid, resource_version=version)
    return ConfigMap(metadata=metadata)


class Scene:
    """A recorder, its clocks, and a server that stores Events."""

    def __init__(self) -> None:
        self.recorder = Recorder(Event, controller="example.com/books", instance="books-0")
        self.now = 1000.0
        self.events: dict[str, Any] = {}
        self.requests: list[CreateEvent | PatchEvent] = []

    def record(
        self, regarding: Any = None, *, note: str = "", reason: str = "Shelved", **fields: Any
    ) -> bool:
        wall_time = START + timedelta(seconds=self.now)
        regarding = config() if regarding is None else regarding
        return self.recorder.record(
            regarding, reason=reason, action="Shelve", note=note, now=self.now, wall_time=wall_time, **fields
        )

    def send_next(self) -> CreateEvent | PatchEvent:
        request = self.recorder.next_request(self.now)
        assert request is not None
        self.requests.append(request)
        return request

    def finish(self, request: CreateEvent | PatchEvent, failure: Outcome | None = None) -> None:
        self.recorder.finish(request, failure, self.now)

    def apply(self, request: CreateEvent | PatchEvent) -> None:
        match request:
            case CreateEvent():
                assert request.event.metadata.name not in self.events
                document = msgspec.json.decode(kp.encode(request.event))
                self.events[request.event.metadata.name] = document
            case PatchEvent():
                self.events[request.name] = apply_merge_patch(self.events[request.name], request.patch)

    def flush(self) -> None:
        """Send all due requests, and let each succeed."""
        while (request := self.recorder.next_request(self.now)) is not None:
            self.requests.append(request)
            self.apply(request)
            self.finish(request)

    @property
    def event(self) -> Any:
        """The latest Event on the server."""
        return list(self.events.values())[-1]


def test_a_single_occurrence_is_an_event_without_a_series() -> None:
    scene = Scene()
    assert scene.record(note="on shelf 3")
    request = scene.send_next()
    assert isinstance(request, CreateEvent)
    assert request.namespace == "n"
    assert msgspec.json.decode(kp.encode(request.event)) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": request.event.metadata.name, "namespace": "n"},
        "eventTime": "2026-01-01T00:16:40.000000Z",
        "type": "Normal",
        "reason": "Shelved",
        "action": "Shelve",
        "note": "on shelf 3",
        "regarding": {
            "apiVersion": "v1", "kind": "ConfigMap", "namespace": "n", "name": "a", "uid": "u",
            "resourceVersion": "1",
        },
        "reportingController": "example.com/books",
        "reportingInstance": "books-0",
    }  # fmt: skip


def test_e_01_repeated_occurrences_are_counted_with_the_last_time() -> None:
    scene = Scene()
    for _ in range(3):
        scene.record()
        scene.flush()
        scene.now += 1
    name = next(iter(scene.events))
    assert scene.requests[1:] == [
        PatchEvent("n", name, {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:16:41.000000Z"}}, 2),
        PatchEvent("n", name, {"series": {"count": 3, "lastObservedTime": "2026-01-01T00:16:42.000000Z"}}, 3),
    ]


def test_e_02_a_series_shows_the_newest_note() -> None:
    scene = Scene()
    for note in ("first", "second", "second"):
        scene.record(note=note)
        scene.flush()
    assert [type(request) for request in scene.requests] == [CreateEvent, CreateEvent, PatchEvent]
    assert (scene.event["note"], scene.event["series"]["count"]) == ("second", 3)
    assert len(scene.events) == 2


@pytest.mark.parametrize(("pause", "events"), [(359, 1), (360, 2)])
def test_e_03_a_series_ends_after_six_minutes_without_an_occurrence(pause: float, events: int) -> None:
    scene = Scene()
    scene.record()
    scene.flush()
    scene.now += pause
    scene.record()
    scene.flush()
    assert len(scene.events) == events
    assert ("series" in scene.event) == (events == 1)


def test_e_03_each_occurrence_extends_a_series_by_six_minutes() -> None:
    scene = Scene()
    for _ in range(5):
        scene.record()
        scene.flush()
        scene.now += 300
    assert len(scene.events) == 1


def test_e_03_a_continued_series_does_not_retain_an_older_series() -> None:
    scene = Scene()
    for regarding, wait in ((config("a"), 100), (config("b"), 200), (config("a"), 170)):
        scene.record(regarding)
        scene.flush()
        scene.now += wait
    scene.record(config("b"))
    scene.flush()
    assert len(scene.events) == 3
    assert "series" not in scene.event


@pytest.mark.parametrize("failure", [Refused("gone", 404), Rejected("may not change", 422)])
def test_e_04_an_event_that_cannot_be_patched_is_created_again_with_its_count(failure: Outcome) -> None:
    scene = Scene()
    scene.record()
    scene.flush()
    scene.now += 1
    scene.record()
    scene.finish(scene.send_next(), failure)
    created = scene.send_next()
    assert isinstance(created, CreateEvent)
    assert created.event.metadata.name not in scene.events
    assert created.event.series is not None
    assert created.event.series.count == 2


def test_e_05_another_version_and_another_note_are_the_same_series_and_another_uid_is_not() -> None:
    scene = Scene()
    for version, uid in (("1", "u"), ("2", "u"), ("3", "")):
        scene.record(config(version=version, uid=uid))
        scene.flush()
    assert (len(scene.events), scene.event["series"]["count"]) == (1, 3)
    scene.record(config(uid="another"))
    scene.flush()
    assert (len(scene.events), scene.event["regarding"]["uid"]) == (2, "another")
    assert "series" not in scene.event


@pytest.mark.parametrize(
    "more",
    [
        {"regarding": config("b")},
        {"regarding": config(namespace="m")},
        {"reason": "Lost"},
        {"warning": True},
        {"related": config("c")},
    ],
)
def test_a_difference_in_any_key_field_makes_a_new_event(more: dict[str, Any]) -> None:
    scene = Scene()
    scene.record()
    scene.record(**more)
    scene.flush()
    assert len(scene.events) == 2
    assert not any("series" in event for event in scene.events.values())


def test_e_06_an_object_gets_25_events_immediately_and_then_one_per_300_seconds() -> None:
    scene = Scene()
    assert [scene.record(reason=f"R{n}") for n in range(30)] == [True] * 25 + [False] * 5
    assert scene.record(config("another"))
    scene.now += 299
    assert not scene.record()
    scene.now += 1
    assert [scene.record(), scene.record()] == [True, False]
    assert (scene.recorder.suppressed, len(scene.recorder._sending)) == (7, 0)


def test_e_06_an_object_that_records_often_gets_no_new_burst_because_of_others() -> None:
    scene = Scene()
    for _ in range(25):
        scene.record(config("hot"))
    for number in range(4200):  # more objects than a recorder remembers
        scene.record(config(f"c{number}"))
        assert not scene.record(config("hot"), reason=f"R{number}")


def test_e_06_suppressed_occurrences_are_counted_and_reported_with_the_next() -> None:
    scene = Scene()
    for _ in range(40):
        scene.record()
        scene.flush()
    assert (len(scene.requests), scene.event["series"]["count"]) == (25, 25)
    scene.now += 300
    scene.record()
    scene.flush()
    assert (len(scene.requests), scene.event["series"]["count"]) == (26, 41)


def test_full_buckets_are_released() -> None:
    scene = Scene()
    for n in range(5000):
        scene.now += 1
        scene.record(config(f"c{n}"))
        scene.flush()
    assert len(scene.recorder._buckets) < 4200
    assert len(scene.recorder._series) == 360


def test_an_outage_retains_only_the_maximum_number_of_latest_series() -> None:
    scene = Scene()
    scene.record(config("c0"))
    request = scene.recorder.next_request(scene.now)  # the first request is in flight, and does not return
    assert request is not None
    for n in range(1, 10_000):
        scene.now += 0.001
        scene.record(config(f"c{n}"))
    assert (len(scene.recorder._series), len(scene.recorder._pending)) == (4096, 4095)
    assert len(scene.recorder._buckets) == 4096
    assert scene.recorder.failed == 10_000 - 4096
    scene.recorder.finish(request, None, scene.now)
    last = scene.recorder.next_request(scene.now)
    assert isinstance(last, CreateEvent)
    assert last.event.regarding is not None
    assert last.event.regarding.name == f"c{10_000 - 4095}"


# A single request at a time


def test_occurrences_during_a_request_are_reported_by_a_single_later_request() -> None:
    scene = Scene()
    scene.record()
    request = scene.send_next()
    for _ in range(3):
        scene.record()
    assert (scene.recorder.next_request(scene.now), scene.recorder.next_at(scene.now)) == (None, None)
    scene.apply(request)
    scene.finish(request)
    scene.flush()
    assert (len(scene.requests), scene.event["series"]["count"]) == (2, 4)


def test_occurrences_before_the_first_request_are_a_single_event_with_a_series() -> None:
    scene = Scene()
    scene.record()
    scene.record(note="newest")
    scene.flush()
    assert (len(scene.requests), scene.event["series"]["count"], scene.event["note"]) == (1, 2, "newest")


@pytest.mark.parametrize("failure", [Broken("lost"), TimedOut("late"), ServerFailed("timeout", 504)])
def test_a_create_that_may_have_arrived_is_repeated_and_already_exists_is_success(failure: Outcome) -> None:
    scene = Scene()
    scene.record(note="old")
    first = scene.send_next()
    assert isinstance(first, CreateEvent)
    scene.finish(first, failure)
    assert scene.recorder.next_request(scene.now) is None
    assert scene.recorder.next_at(scene.now) == scene.now + 1
    scene.now += 1
    scene.record(note="new")
    again = scene.send_next()
    assert isinstance(again, CreateEvent)
    assert again.event == first.event
    scene.finish(again, TAKEN)
    newest = scene.send_next()
    assert isinstance(newest, CreateEvent)
    assert (newest.event.note, scene.recorder.sent) == ("new", 1)
    assert newest.event.metadata.name != first.event.metadata.name


def test_a_name_in_use_belongs_to_another_recorder_and_the_next_name_is_tried() -> None:
    scene = Scene()
    scene.record()
    first = scene.send_next()
    scene.finish(first, TAKEN)
    second = scene.send_next()
    assert isinstance(first, CreateEvent)
    assert isinstance(second, CreateEvent)
    assert first.event.metadata.name != second.event.metadata.name


def test_after_a_transient_failure_all_events_wait_and_the_wait_doubles() -> None:
    scene = Scene()
    scene.record()
    scene.record(config("b"))
    scene.finish(scene.send_next(), Unreachable("no route"))
    assert scene.recorder.next_at(scene.now) == scene.now + 1
    scene.now += 1
    other, first = scene.send_next(), scene.send_next()
    scene.finish(other)
    scene.finish(first, Throttled("slow down", 429, 30.0))
    assert scene.recorder.next_at(scene.now) == scene.now + 30
    scene.now += 30
    scene.finish(scene.send_next(), Unreachable("no route"))
    assert scene.recorder.next_at(scene.now) == scene.now + 4


def test_success_resets_the_failures_of_a_series() -> None:
    scene = Scene()
    for _ in range(2):
        scene.record()
        scene.finish(scene.send_next(), Unreachable("no route"))
        assert scene.recorder.next_at(scene.now) == scene.now + 1
        scene.now += 1
        scene.flush()


def test_an_event_is_dropped_after_twelve_retries() -> None:
    scene = Scene()
    scene.record()
    tries = 0
    while (next_time := scene.recorder.next_at(scene.now)) is not None:
        scene.now = next_time
        scene.finish(scene.send_next(), Unreachable("no route"))
        tries += 1
    assert (tries, scene.recorder.failed, len(scene.recorder._series)) == (13, 1, 0)


@pytest.mark.parametrize("failure", [Refused("no", 403), Refused("no namespace", 404), Rejected("no", 422)])
def test_a_permanently_refused_event_is_dropped(failure: Outcome) -> None:
    scene = Scene()
    scene.record()
    scene.finish(scene.send_next(), failure)
    assert (scene.recorder.next_at(scene.now), scene.recorder.failed) == (None, 1)


@pytest.mark.parametrize("failure", [Conflicted("raced", 409), Refused("who?", 401), Broken("lost")])
def test_a_patch_that_failed_temporarily_is_retried(failure: Outcome) -> None:
    scene = Scene()
    scene.record()
    scene.flush()
    scene.record()
    scene.finish(scene.send_next(), failure)
    scene.now += 1
    scene.flush()
    assert (len(scene.events), scene.event["series"]["count"]) == (1, 2)


def test_the_response_for_an_object_that_was_replaced_changes_nothing() -> None:
    scene = Scene()
    scene.record()
    old = scene.send_next()
    scene.record(config(uid="another"))
    new = scene.send_next()
    scene.finish(old, Refused("may not", 403))
    scene.finish(new)
    scene.record(config(uid="another"))
    assert isinstance(scene.send_next(), PatchEvent)


STEPS: Final = ["say", "note", "ask", "ask", "ok", "lost", "arrived", "down", "wait"]


@given(st.lists(st.sampled_from(STEPS), max_size=30))
def test_under_any_failures_the_server_gets_all_events_and_none_twice(story: list[str]) -> None:
    """`lost` requests never arrived, `arrived` ones did although their responses were lost; at the end all
    requests succeed.
    """
    scene, flying, recorded, note = Scene(), list[CreateEvent | PatchEvent](), 0, 0

    def respond(request: CreateEvent | PatchEvent, step: str) -> None:
        used_names = isinstance(request, CreateEvent) and request.event.metadata.name in scene.events
        if step in ("ok", "arrived") and not used_names:
            scene.apply(request)
        answers = {"ok": TAKEN if used_names else None, "down": Unreachable("down")}
        scene.finish(request, answers.get(step, Broken("lost")))

    for step in [*story, "say"]:
        match step:
            case "say" | "note" if recorded < 25:
                note += step == "note"
                recorded += scene.record(note=f"{note}")
            case "ask":
                request = scene.recorder.next_request(scene.now)
                flying += [] if request is None else [request]
            case "wait":
                scene.now += 10
            case _ if flying:
                respond(flying.pop(), step)
            case _:
                pass
        assert len(flying) <= 1
    for request in flying:
        respond(request, "ok")
    while (next_time := scene.recorder.next_at(scene.now)) is not None:
        scene.now = next_time
        respond(scene.send_next(), "ok")
    assert (scene.recorder.failed, scene.event["note"]) == (0, f"{note}")
    assert scene.event.get("series", {"count": 1})["count"] == recorded


# The written Events


def test_names_are_unique_within_a_microsecond_and_valid() -> None:
    scene = Scene()
    names: set[str] = set()
    for n in range(100):
        regarding = config(["a", "x" * 253, "system:node", "a" * 230 + ".-" * 9, "b"][n % 5], uid=f"{n}")
        scene.recorder = scene.recorder if n % 25 else Scene().recorder
        scene.recorder._last_ticket = n
        scene.record(regarding, reason=f"R{n}")
        request = scene.send_next()
        assert isinstance(request, CreateEvent)
        names.add(request.event.metadata.name)
    for name in names:
        check_dns_subdomain(name)
    assert len(names) == 100
    assert {name.partition(".")[0] for name in names} >= {"a", "event", "b"}


def test_events_of_cluster_scoped_objects_are_in_the_default_namespace() -> None:
    scene = Scene()
    scene.record(Namespace(metadata=kp.ObjectMeta(name="n")), related=config())
    request = scene.send_next()
    assert isinstance(request, CreateEvent)
    assert (request.namespace, request.event.metadata.namespace) == ("default", "default")
    assert request.event.related is not None
    assert request.event.related.name == "a"


def test_a_reference_can_name_a_field() -> None:
    scene = Scene()
    for field in ("spec.containers{a}", "spec.containers{b}"):
        scene.record(ObjectReference(api_version="v1", kind="Pod", namespace="n", name="p", field_path=field))
    scene.flush()
    assert [event["regarding"]["fieldPath"] for event in scene.events.values()] == [
        "spec.containers{a}",
        "spec.containers{b}",
    ]


@pytest.mark.parametrize("note", ["x" * 1025, "é" * 600, "日本" * 400])
def test_a_note_is_truncated_to_the_limit_of_a_server(note: str) -> None:
    scene = Scene()
    scene.record(note=note)
    scene.flush()
    truncated_note = scene.event["note"]
    assert truncated_note.endswith("…")
    assert note.startswith(truncated_note[:-1])
    assert 1018 <= len(truncated_note.encode()) <= 1024


def test_a_short_note_is_not_truncated() -> None:
    scene = Scene()
    scene.record(note="é" * 512)
    scene.flush()
    assert scene.event["note"] == "é" * 512


@pytest.mark.parametrize("text", ["", "x" * 129])
def test_invalid_reasons_and_actions_are_refused(text: str) -> None:
    scene = Scene()
    with pytest.raises(ValueError, match="1 to 128 bytes"):
        scene.record(reason=text)
    with pytest.raises(ValueError, match="the instance of an Event"):
        Recorder(Event, controller="c", instance=text)
    with pytest.raises(ValueError, match="qualified name"):
        Recorder(Event, controller="no name", instance="i")
    with pytest.raises(ValueError, match="must have a name"):
        scene.record(ConfigMap())

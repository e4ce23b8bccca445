"""The recorder: few Events that tell all, written as a server takes them, none of them twice."""

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
    """A recorder, its clocks, and a server that keeps Events."""

    def __init__(self) -> None:
        self.recorder = Recorder(Event, controller="example.com/books", instance="books-0")
        self.now = 1000.0
        self.events: dict[str, Any] = {}
        self.requests: list[CreateEvent | PatchEvent] = []

    def say(self, regarding: Any = None, *, note: str = "", reason: str = "Shelved", **more: Any) -> bool:
        at = START + timedelta(seconds=self.now)
        regarding = config() if regarding is None else regarding
        return self.recorder.record(
            regarding, reason=reason, action="Shelve", note=note, now=self.now, wall_time=at, **more
        )

    def ask(self) -> CreateEvent | PatchEvent:
        request = self.recorder.next_request(self.now)
        assert request is not None
        self.requests.append(request)
        return request

    def learn(self, request: CreateEvent | PatchEvent, failure: Outcome | None = None) -> None:
        self.recorder.finish(request, failure, self.now)

    def carry_out(self, request: CreateEvent | PatchEvent) -> None:
        match request:
            case CreateEvent():
                assert request.event.metadata.name not in self.events
                document = msgspec.json.decode(kp.encode(request.event))
                self.events[request.event.metadata.name] = document
            case PatchEvent():
                self.events[request.name] = apply_merge_patch(self.events[request.name], request.patch)

    def settle(self) -> None:
        """All that is to be told now is told, and works."""
        while (request := self.recorder.next_request(self.now)) is not None:
            self.requests.append(request)
            self.carry_out(request)
            self.learn(request)

    @property
    def event(self) -> Any:
        """The latest Event on the server."""
        return list(self.events.values())[-1]


def test_what_happens_once_is_an_event_without_a_series() -> None:
    scene = Scene()
    assert scene.say(note="on shelf 3")
    request = scene.ask()
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


def test_e_01_the_same_again_counts_two_three_and_so_on_with_the_last_time() -> None:
    scene = Scene()
    for _ in range(3):
        scene.say()
        scene.settle()
        scene.now += 1
    name = next(iter(scene.events))
    assert scene.requests[1:] == [
        PatchEvent("n", name, {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:16:41.000000Z"}}, 2),
        PatchEvent("n", name, {"series": {"count": 3, "lastObservedTime": "2026-01-01T00:16:42.000000Z"}}, 3),
    ]


def test_e_02_the_newest_note_is_shown_by_an_event_that_goes_on_counting() -> None:
    scene = Scene()
    for note in ("first", "second", "second"):
        scene.say(note=note)
        scene.settle()
    assert [type(request) for request in scene.requests] == [CreateEvent, CreateEvent, PatchEvent]
    assert (scene.event["note"], scene.event["series"]["count"]) == ("second", 3)
    assert len(scene.events) == 2


@pytest.mark.parametrize(("after", "events"), [(359, 1), (360, 2)])
def test_e_03_a_series_is_forgotten_after_six_minutes_without_a_word(after: float, events: int) -> None:
    scene = Scene()
    scene.say()
    scene.settle()
    scene.now += after
    scene.say()
    scene.settle()
    assert len(scene.events) == events
    assert ("series" in scene.event) == (events == 1)


def test_e_03_each_word_gives_six_more_minutes() -> None:
    scene = Scene()
    for _ in range(5):
        scene.say()
        scene.settle()
        scene.now += 300
    assert len(scene.events) == 1


def test_e_03_a_series_that_goes_on_does_not_keep_an_older_one() -> None:
    scene = Scene()
    for regarding, wait in ((config("a"), 100), (config("b"), 200), (config("a"), 170)):
        scene.say(regarding)
        scene.settle()
        scene.now += wait
    scene.say(config("b"))
    scene.settle()
    assert len(scene.events) == 3
    assert "series" not in scene.event


@pytest.mark.parametrize("failure", [Refused("gone", 404), Rejected("may not change", 422)])
def test_e_04_an_event_that_cannot_be_patched_is_created_anew_and_goes_on_counting(failure: Outcome) -> None:
    scene = Scene()
    scene.say()
    scene.settle()
    scene.now += 1
    scene.say()
    scene.learn(scene.ask(), failure)
    created = scene.ask()
    assert isinstance(created, CreateEvent)
    assert created.event.metadata.name not in scene.events
    assert created.event.series is not None
    assert created.event.series.count == 2


def test_e_05_another_version_and_another_note_are_the_same_series_and_another_uid_is_not() -> None:
    scene = Scene()
    for version, uid in (("1", "u"), ("2", "u"), ("3", "")):
        scene.say(config(version=version, uid=uid))
        scene.settle()
    assert (len(scene.events), scene.event["series"]["count"]) == (1, 3)
    scene.say(config(uid="another"))
    scene.settle()
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
def test_what_differs_is_another_event(more: dict[str, Any]) -> None:
    scene = Scene()
    scene.say()
    scene.say(**more)
    scene.settle()
    assert len(scene.events) == 2
    assert not any("series" in event for event in scene.events.values())


def test_e_06_an_object_gets_25_at_once_and_then_one_in_300_seconds() -> None:
    scene = Scene()
    assert [scene.say(reason=f"R{n}") for n in range(30)] == [True] * 25 + [False] * 5
    assert scene.say(config("another"))
    scene.now += 299
    assert not scene.say()
    scene.now += 1
    assert [scene.say(), scene.say()] == [True, False]
    assert (scene.recorder.suppressed, len(scene.recorder._sending)) == (7, 0)


def test_e_06_what_is_one_too_many_is_counted_and_told_with_the_next() -> None:
    scene = Scene()
    for _ in range(40):
        scene.say()
        scene.settle()
    assert (len(scene.requests), scene.event["series"]["count"]) == (25, 25)
    scene.now += 300
    scene.say()
    scene.settle()
    assert (len(scene.requests), scene.event["series"]["count"]) == (26, 41)


def test_buckets_that_are_full_again_are_not_kept() -> None:
    scene = Scene()
    for n in range(5000):
        scene.now += 1
        scene.say(config(f"c{n}"))
        scene.settle()
    assert len(scene.recorder._buckets) < 4200
    assert len(scene.recorder._series) == 360


def test_an_outage_keeps_so_many_series_and_no_more_and_those_spoken_of_last() -> None:
    scene = Scene()
    scene.say(config("c0"))
    request = scene.recorder.next_request(scene.now)  # one is on its way, and does not come back
    assert request is not None
    for n in range(1, 10_000):
        scene.now += 0.001
        scene.say(config(f"c{n}"))
    assert (len(scene.recorder._series), len(scene.recorder._pending)) == (4096, 4095)
    assert len(scene.recorder._buckets) == 4096
    assert scene.recorder.failed == 10_000 - 4096
    scene.recorder.finish(request, None, scene.now)
    last = scene.recorder.next_request(scene.now)
    assert isinstance(last, CreateEvent)
    assert last.event.regarding is not None
    assert last.event.regarding.name == f"c{10_000 - 4095}"


# One request at a time


def test_what_happens_while_a_request_is_on_its_way_is_told_in_one_after_it() -> None:
    scene = Scene()
    scene.say()
    request = scene.ask()
    for _ in range(3):
        scene.say()
    assert (scene.recorder.next_request(scene.now), scene.recorder.next_at(scene.now)) == (None, None)
    scene.carry_out(request)
    scene.learn(request)
    scene.settle()
    assert (len(scene.requests), scene.event["series"]["count"]) == (2, 4)


def test_what_happens_before_the_first_request_is_one_event_with_a_series() -> None:
    scene = Scene()
    scene.say()
    scene.say(note="newest")
    scene.settle()
    assert (len(scene.requests), scene.event["series"]["count"], scene.event["note"]) == (1, 2, "newest")


@pytest.mark.parametrize("failure", [Broken("lost"), TimedOut("late"), ServerFailed("timeout", 504)])
def test_a_create_that_may_have_arrived_is_sent_as_it_was_and_taken_is_then_success(failure: Outcome) -> None:
    scene = Scene()
    scene.say(note="old")
    first = scene.ask()
    assert isinstance(first, CreateEvent)
    scene.learn(first, failure)
    assert scene.recorder.next_request(scene.now) is None
    assert scene.recorder.next_at(scene.now) == scene.now + 1
    scene.now += 1
    scene.say(note="new")
    again = scene.ask()
    assert isinstance(again, CreateEvent)
    assert again.event == first.event
    scene.learn(again, TAKEN)
    newest = scene.ask()
    assert isinstance(newest, CreateEvent)
    assert (newest.event.note, scene.recorder.sent) == ("new", 1)
    assert newest.event.metadata.name != first.event.metadata.name


def test_a_name_that_is_taken_is_another_recorders_and_the_next_one_is_tried() -> None:
    scene = Scene()
    scene.say()
    first = scene.ask()
    scene.learn(first, TAKEN)
    second = scene.ask()
    assert isinstance(first, CreateEvent)
    assert isinstance(second, CreateEvent)
    assert first.event.metadata.name != second.event.metadata.name


def test_after_a_transient_failure_all_wait_and_the_wait_doubles() -> None:
    scene = Scene()
    scene.say()
    scene.say(config("b"))
    scene.learn(scene.ask(), Unreachable("no route"))
    assert scene.recorder.next_at(scene.now) == scene.now + 1
    scene.now += 1
    other, first = scene.ask(), scene.ask()
    scene.learn(other)
    scene.learn(first, Throttled("slow down", 429, 30.0))
    assert scene.recorder.next_at(scene.now) == scene.now + 30
    scene.now += 30
    scene.learn(scene.ask(), Unreachable("no route"))
    assert scene.recorder.next_at(scene.now) == scene.now + 4


def test_success_forgives_the_failures_of_a_series() -> None:
    scene = Scene()
    for _ in range(2):
        scene.say()
        scene.learn(scene.ask(), Unreachable("no route"))
        assert scene.recorder.next_at(scene.now) == scene.now + 1
        scene.now += 1
        scene.settle()


def test_it_gives_up_after_twelve_retries() -> None:
    scene = Scene()
    scene.say()
    tries = 0
    while (at := scene.recorder.next_at(scene.now)) is not None:
        scene.now = at
        scene.learn(scene.ask(), Unreachable("no route"))
        tries += 1
    assert (tries, scene.recorder.failed, len(scene.recorder._series)) == (13, 1, 0)


@pytest.mark.parametrize("failure", [Refused("no", 403), Refused("no namespace", 404), Rejected("no", 422)])
def test_what_is_refused_for_good_is_dropped(failure: Outcome) -> None:
    scene = Scene()
    scene.say()
    scene.learn(scene.ask(), failure)
    assert (scene.recorder.next_at(scene.now), scene.recorder.failed) == (None, 1)


@pytest.mark.parametrize("failure", [Conflicted("raced", 409), Refused("who?", 401), Broken("lost")])
def test_a_patch_that_failed_for_now_is_retried(failure: Outcome) -> None:
    scene = Scene()
    scene.say()
    scene.settle()
    scene.say()
    scene.learn(scene.ask(), failure)
    scene.now += 1
    scene.settle()
    assert (len(scene.events), scene.event["series"]["count"]) == (1, 2)


def test_the_response_for_an_object_that_was_replaced_changes_nothing() -> None:
    scene = Scene()
    scene.say()
    old = scene.ask()
    scene.say(config(uid="another"))
    new = scene.ask()
    scene.learn(old, Refused("may not", 403))
    scene.learn(new)
    scene.say(config(uid="another"))
    assert isinstance(scene.ask(), PatchEvent)


STEPS: Final = ["say", "note", "ask", "ask", "ok", "lost", "arrived", "down", "wait"]


@given(st.lists(st.sampled_from(STEPS), max_size=30))
def test_whatever_goes_wrong_the_server_learns_all_and_no_event_twice(story: list[str]) -> None:
    """`lost` never arrived, `arrived` did though its response was lost; in the end all goes well."""
    scene, flying, recorded, note = Scene(), list[CreateEvent | PatchEvent](), 0, 0

    def answer(request: CreateEvent | PatchEvent, step: str) -> None:
        used_names = isinstance(request, CreateEvent) and request.event.metadata.name in scene.events
        if step in ("ok", "arrived") and not used_names:
            scene.carry_out(request)
        answers = {"ok": TAKEN if used_names else None, "down": Unreachable("down")}
        scene.learn(request, answers.get(step, Broken("lost")))

    for step in [*story, "say"]:
        match step:
            case "say" | "note" if recorded < 25:
                note += step == "note"
                recorded += scene.say(note=f"{note}")
            case "ask":
                request = scene.recorder.next_request(scene.now)
                flying += [] if request is None else [request]
            case "wait":
                scene.now += 10
            case _ if flying:
                answer(flying.pop(), step)
            case _:
                pass
        assert len(flying) <= 1
    for request in flying:
        answer(request, "ok")
    while (at := scene.recorder.next_at(scene.now)) is not None:
        scene.now = at
        answer(scene.ask(), "ok")
    assert (scene.recorder.failed, scene.event["note"]) == (0, f"{note}")
    assert scene.event.get("series", {"count": 1})["count"] == recorded


# What is written


def test_names_are_unique_in_one_microsecond_and_as_a_server_takes_them() -> None:
    scene = Scene()
    names: set[str] = set()
    for n in range(100):
        regarding = config(["a", "x" * 253, "system:node", "a" * 230 + ".-" * 9, "b"][n % 5], uid=f"{n}")
        scene.recorder = scene.recorder if n % 25 else Scene().recorder
        scene.recorder._last_ticket = n
        scene.say(regarding, reason=f"R{n}")
        request = scene.ask()
        assert isinstance(request, CreateEvent)
        names.add(request.event.metadata.name)
    for name in names:
        check_dns_subdomain(name)
    assert len(names) == 100
    assert {name.partition(".")[0] for name in names} >= {"a", "event", "b"}


def test_what_is_in_no_namespace_is_spoken_of_in_the_default_one() -> None:
    scene = Scene()
    scene.say(Namespace(metadata=kp.ObjectMeta(name="n")), related=config())
    request = scene.ask()
    assert isinstance(request, CreateEvent)
    assert (request.namespace, request.event.metadata.namespace) == ("default", "default")
    assert request.event.related is not None
    assert request.event.related.name == "a"


def test_a_reference_can_name_a_field() -> None:
    scene = Scene()
    for field in ("spec.containers{a}", "spec.containers{b}"):
        scene.say(ObjectReference(api_version="v1", kind="Pod", namespace="n", name="p", field_path=field))
    scene.settle()
    assert [event["regarding"]["fieldPath"] for event in scene.events.values()] == [
        "spec.containers{a}",
        "spec.containers{b}",
    ]


@pytest.mark.parametrize("note", ["x" * 1025, "é" * 600, "日本" * 400])
def test_a_note_is_cut_where_a_server_would_refuse_it(note: str) -> None:
    scene = Scene()
    scene.say(note=note)
    scene.settle()
    cut = scene.event["note"]
    assert cut.endswith("…")
    assert note.startswith(cut[:-1])
    assert 1018 <= len(cut.encode()) <= 1024


def test_a_note_that_fits_is_whole() -> None:
    scene = Scene()
    scene.say(note="é" * 512)
    scene.settle()
    assert scene.event["note"] == "é" * 512


@pytest.mark.parametrize("text", ["", "x" * 129])
def test_words_that_no_server_takes_are_refused(text: str) -> None:
    scene = Scene()
    with pytest.raises(ValueError, match="1 to 128 bytes"):
        scene.say(reason=text)
    with pytest.raises(ValueError, match="the instance of an Event"):
        Recorder(Event, controller="c", instance=text)
    with pytest.raises(ValueError, match="qualified name"):
        Recorder(Event, controller="no name", instance="i")
    with pytest.raises(ValueError, match="must have a name"):
        scene.say(ConfigMap())

"""A chunk is summarized: split where the machine must decide, without loss."""

from __future__ import annotations

import pytest
from driving import Book, Event, added, bookmark, deleted, end_bookmark, modified
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.watching import WatchEvent
from kubeproto.watching.resync import Failed, Received, digest, newer
from kubeproto.wire import Expired, Garbled

GONE: Event = kp.WatchFailed(kp.Status(code=410, reason="Expired", message="too old"))
NAMED = kp.ObjectMeta(name="a", resource_version="6")


def malformed(metadata: kp.ObjectMeta | None, kind: str = "MODIFIED") -> kp.Malformed:
    return kp.Malformed(metadata, ValueError("no"), b"{}", kind)


def summarize(chunk: list[Event]) -> list[Received | Failed]:
    return [event for _, event in digest(chunk)]


@pytest.mark.parametrize(
    ("chunk", "summary"),
    [
        ([], Received(0)),
        ([added("a", 4)], Received(1, "4")),
        ([added("a", 4), added("b", 2)], Received(2, "2")),
        ([added("a", 4), modified("a", 5)], Received(2, "5", live=True)),
        ([deleted("a", 5)], Received(1, "5", live=True)),
        ([bookmark(7)], Received(1, "7", live=True, bookmark=True)),
        ([added("a", 8), bookmark("")], Received(2, "8", live=True, bookmark=True)),
        ([added("a", 4), end_bookmark(7)], Received(2, "7", True, True, True)),
        ([added("a", 4), end_bookmark("")], Received(2, "", True, True, True)),
        ([malformed(NAMED)], Received(1, "6", live=True)),
        ([malformed(NAMED, "DELETED"), added("b", 7)], Received(2, "7", live=True)),
        ([malformed(None)], Received(1, live=True, lost=True)),
        ([malformed(NAMED, "")], Received(1, "6", live=True, lost=True)),
        ([malformed(kp.ObjectMeta(name="a"))], Received(1, live=True, lost=True)),
        ([malformed(kp.ObjectMeta(resource_version="6"))], Received(1, "6", live=True, lost=True)),
        ([added("a", "")], Received(1, lost=True)),
        ([added("a", 4), added("b", "")], Received(2, "4", lost=True)),
        ([kp.Unknown("NEW", b'{"type":"NEW","object":{"metadata":{"resourceVersion":"9"}}}')],
         Received(1, "9", live=True)),
        ([kp.Unknown("NEW", b"{}")], Received(1, live=True)),
        ([kp.Unknown("NEW", b"")], Received(1, live=True)),
    ],
)  # fmt: skip
def test_the_summary_of_a_part(chunk: list[Event], summary: Received) -> None:
    assert digest(chunk) == [(chunk, summary)]


def test_a_bookmark_that_cannot_be_read_loses_no_object() -> None:
    assert summarize([added("a", 4), malformed(NAMED, "BOOKMARK")]) == [Received(2, "6", live=True)]


def test_the_end_bookmark_ends_a_part() -> None:
    chunk = [added("a", 4), end_bookmark(7), added("b", 8), modified("b", 9)]
    assert digest(chunk) == [
        (chunk[:2], Received(2, "7", True, True, True)),
        (chunk[2:], Received(2, "9", live=True)),
    ]


def test_an_error_ends_all_parts() -> None:
    chunk = [added("a", 4), GONE, added("never", 5)]
    [first, second] = digest(chunk)
    assert first == (chunk[:1], Received(1, "4"))
    assert second[0] == [GONE]
    assert isinstance(second[1], Failed)
    assert isinstance(second[1].outcome, Expired)
    assert [type(e) for e in summarize([GONE])] == [Failed]


def test_rw_14_an_error_that_is_not_a_status_is_garbage() -> None:
    [summary] = summarize([malformed(None, "ERROR")])
    assert summary == Failed(Garbled("an ERROR that is not a Status: no"))


EVENTS: list[WatchEvent[Book]] = [
    added("a", 4), modified("a", 5), deleted("a", 6), bookmark(7), end_bookmark(8), malformed(NAMED),
    malformed(None), kp.Unknown("NEW", b"{}"),
]  # fmt: skip


@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=12))
def test_the_parts_are_the_chunk(chunk: list[Event]) -> None:
    parts = digest(chunk)
    assert [event for part, _ in parts for event in part] == chunk
    assert sum(summary.count for _, summary in parts if isinstance(summary, Received)) == len(chunk)


def test_only_newer_objects_and_objects_without_an_order_pass() -> None:
    chunk = [added("a", 9), added("b", 10), added("c", 11), added("d", "x"), end_bookmark(8)]
    assert newer(chunk, "10") == [chunk[2], chunk[3]]
    assert newer(chunk, "") is chunk

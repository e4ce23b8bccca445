"""The pager: a row for each arrow of its diagram, every other pair refused, and the rows of the list."""

from __future__ import annotations

from typing import Any

import pytest
from diagrams import arrows

from kubeproto import LocalProtocolError
from kubeproto.watching import pager
from kubeproto.watching.pager import (
    Abandon,
    Discard,
    Done,
    Failed,
    First,
    Following,
    Listed,
    Lost,
    Plan,
    Ready,
    Replace,
    SendList,
    Stage,
    Started,
    Whole,
)
from kubeproto.wire import Expired, Garbled, Outcome, Throttled

NOW = 5.0
PLAN = Plan(version="7", match="NotOlderThan", limit=2)
FAIL = Plan(version="7", match="NotOlderThan", limit=2, on_expired="fail")
GO_ON = Plan(version="7", match="NotOlderThan", limit=2, on_expired="go on")
GONE = Expired("too old", 410)
OFFER = Expired("too old", 410, token="rest")
BUSY = Throttled("busy", 429)
CIRCLE = Garbled("the server responds with the token of the request")

EMPTY = Garbled("10 consecutive pages have a token for the next page, and no object")
AGAIN = Garbled("the server sends the same page again under another token")
MANY = Garbled("the list continues after 500000 pages")
LONG = "x" * 16_385
LONG_TOKEN = Garbled("the continue token has 16385 characters; the limit is 16384")
LONG_VERSION = Garbled("the version has 16385 characters; the limit is 1024")


def send(**fields: Any) -> SendList:
    return SendList(earliest=NOW, latest=NOW, **fields)


PAGE_1 = send(version="7", match="NotOlderThan", limit=2)
WHOLE = send(version="7", match="NotOlderThan")

Row = tuple[str, pager.State, pager.Event, pager.State, tuple[pager.Action, ...]]

TABLE: list[Row] = [
    ("begins", Ready(PLAN), Started(), First(PLAN), (PAGE_1,)),
    ("one page", First(PLAN), Listed("9"), Done("9"), (Stage(), Replace("9"))),
    (
        "more pages", First(PLAN), Listed("9", "b", 2, "a1"),
        Following(PLAN, "b", "9", first_object="a1"), (Stage(), send(limit=2, token="b")),
    ),
    (
        "still more", Following(PLAN, "b", "9", first_object="a1"), Listed("9", "c", 2, "b1"),
        Following(PLAN, "c", "9", pages=2, first_object="b1"), (Stage(), send(limit=2, token="c")),
    ),
    (
        "the last of some", Following(PLAN, "c", "9"), Listed("9"),
        Done("9", paged=True), (Stage(), Replace("9")),
    ),
    ("a circle", Following(PLAN, "b", "9"), Listed("9", "b"), Lost(CIRCLE), (Abandon(CIRCLE),)),
    (
        "an empty page", Following(PLAN, "b", "9", pages=4, empty_pages=3), Listed("9", "c"),
        Following(PLAN, "c", "9", pages=5, empty_pages=4), (Stage(), send(limit=2, token="c")),
    ),
    (
        "an object after empty pages", Following(PLAN, "b", "9", pages=4, empty_pages=9),
        Listed("9", "c", 1, "x"),
        Following(PLAN, "c", "9", pages=5, first_object="x"), (Stage(), send(limit=2, token="c")),
    ),
    (
        "empty pages without end", Following(PLAN, "b", "9", pages=12, empty_pages=9), Listed("9", "c"),
        Lost(EMPTY), (Abandon(EMPTY),),
    ),
    (
        "the last page may be empty", Following(PLAN, "b", "9", pages=12, empty_pages=9), Listed("9"),
        Done("9", paged=True), (Stage(), Replace("9")),
    ),
    (
        "the same page again", Following(PLAN, "b", "9", first_object="a1"), Listed("9", "c", 2, "a1"),
        Lost(AGAIN), (Abandon(AGAIN),),
    ),
    (
        "pages without end", Following(PLAN, "b", "9", pages=500_000), Listed("9", "c", 2, "b1"),
        Lost(MANY), (Abandon(MANY),),
    ),
    ("a long token", First(PLAN), Listed("9", LONG, 2), Lost(LONG_TOKEN), (Abandon(LONG_TOKEN),)),
    (
        "a long token later", Following(PLAN, "b", "9"), Listed("9", LONG, 2),
        Lost(LONG_TOKEN), (Abandon(LONG_TOKEN),),
    ),
    ("a long version", Whole(FAIL), Listed(LONG), Lost(LONG_VERSION), (Abandon(LONG_VERSION),)),
    (
        "expired", Following(PLAN, "b", "9"), Failed(GONE),
        Whole(FAIL), (Discard(), WHOLE),
    ),
    ("expired, fail", Following(FAIL, "b", "9"), Failed(OFFER), Lost(OFFER), (Abandon(OFFER),)),
    (
        "expired, go on", Following(GO_ON, "b", "9"), Failed(OFFER),
        Following(GO_ON, "rest", "9", consistent=False), (send(limit=2, token="rest"),),
    ),
    (
        "expired, nothing to go on with", Following(GO_ON, "b", "9"), Failed(GONE),
        Whole(FAIL), (Discard(), WHOLE),
    ),
    (
        "the rest", Following(GO_ON, "rest", "9", consistent=False), Listed("12"),
        Done("9", paged=True, consistent=False), (Stage(), Replace("9")),
    ),
    ("whole", Whole(FAIL), Listed("9"), Done("9"), (Stage(), Replace("9"))),
    (
        "whole, but paged", Whole(FAIL), Listed("9", "b", 2),
        Following(FAIL, "b", "9"), (Stage(), send(limit=2, token="b")),
    ),
    ("page 1 expired", First(PLAN), Failed(GONE), Lost(GONE), (Abandon(GONE),)),
    ("page 1 failed", First(PLAN), Failed(BUSY), Lost(BUSY), (Abandon(BUSY),)),
    ("page 2 failed", Following(PLAN, "b", "9"), Failed(BUSY), Lost(BUSY), (Abandon(BUSY),)),
    ("whole failed", Whole(FAIL), Failed(GONE), Lost(GONE), (Abandon(GONE),)),
]  # fmt: skip

STATES: list[pager.State] = [
    Ready(PLAN), First(PLAN), Following(PLAN, "b", "9"), Whole(FAIL), Done("9"), Lost(GONE),
]  # fmt: skip
EVENTS: list[pager.Event] = [Started(), Listed("9"), Failed(BUSY)]


@pytest.mark.parametrize(
    ("state", "event", "next_state", "actions"), [r[1:] for r in TABLE], ids=[r[0] for r in TABLE]
)
def test_each_arrow_of_the_diagram(
    state: pager.State, event: pager.Event, next_state: pager.State, actions: tuple[pager.Action, ...]
) -> None:
    assert pager.step(state, event, NOW) == (next_state, actions)


def test_the_diagram_and_the_table_have_the_same_arrows() -> None:
    rows = {(type(state), type(event), type(next_state)) for _, state, event, next_state, _ in TABLE}
    assert arrows(pager.__doc__) == {(a.__name__, b.__name__, c.__name__) for a, b, c in rows}


def test_every_other_pair_is_refused() -> None:
    pairs = {(type(state), type(event)) for _, state, event, _, _ in TABLE}
    refused = [(s, e) for s in STATES for e in EVENTS if (type(s), type(e)) not in pairs]
    assert len(refused) == len(STATES) * len(EVENTS) - len(pairs)
    for state, event in refused:
        with pytest.raises(LocalProtocolError, match="the pager cannot process"):
            pager.step(state, event, NOW)


Response = tuple[str, str, list[str]] | Outcome  # version, token, items


def play(plan: Plan, *responses: Response) -> tuple[pager.State, list[SendList], list[str]]:
    """Drive a pager against these responses. Return its final state, its requests, and the items of the
    list.
    """
    state: pager.State = Ready(plan)
    events: list[pager.Event] = [
        Listed(a[0], a[1], len(a[2])) if isinstance(a, tuple) else Failed(a) for a in responses
    ]
    pages = [a[2] if isinstance(a, tuple) else [] for a in responses]
    requests: list[SendList] = []
    items: list[str] = []
    for event, page in zip([Started(), *events], [[], *pages], strict=True):
        state, actions = pager.step(state, event, NOW)
        for action in actions:
            match action:
                case SendList():
                    requests.append(action)
                case Stage():
                    items += page
                case Discard():
                    items.clear()
                case _:
                    pass
    return state, requests, items


def test_pg_01_an_empty_list_takes_one_request_and_is_a_list() -> None:
    assert play(Plan(), ("4", "", [])) == (Done("4"), [send(limit=500)], [])


def test_pg_02_a_page_that_is_not_full_completes_the_list() -> None:
    assert play(PLAN, ("9", "", ["a"])) == (Done("9"), [PAGE_1], ["a"])


def test_pg_03_a_full_page_without_a_token_completes_the_list() -> None:
    assert play(PLAN, ("9", "", ["a", "b"])) == (Done("9"), [PAGE_1], ["a", "b"])


def test_pg_04_and_pg_05_pages_are_joined_in_order_at_the_version_of_the_first() -> None:
    two = play(PLAN, ("9", "x", ["a", "b"]), ("9", "", ["c"]))
    assert two == (Done("9", paged=True), [PAGE_1, send(limit=2, token="x")], ["a", "b", "c"])
    state, requests, items = play(PLAN, ("9", "x", ["a", "b"]), ("10", "y", ["c", "d"]), ("11", "", ["e"]))
    assert (state, items, len(requests)) == (Done("9", paged=True), ["a", "b", "c", "d", "e"], 3)


def test_pg_06_an_expired_page_two_without_a_fallback_is_a_failure() -> None:
    state, requests, _ = play(FAIL, ("9", "x", ["a"]), GONE)
    assert (state, len(requests)) == (Lost(GONE), 2)


def test_pg_07_an_expired_page_two_falls_back_to_the_complete_list() -> None:
    state, requests, items = play(PLAN, ("9", "x", ["a"]), GONE, ("12", "", ["b", "c"]))
    assert (state, requests[-1], items) == (Done("12"), WHOLE, ["b", "c"])


def test_pg_08_an_expired_page_one_is_the_callers_failure_even_with_a_fallback() -> None:
    assert play(PLAN, GONE) == (Lost(GONE), [PAGE_1], [])


def test_pg_09_only_page_one_and_the_fallback_have_version_and_match() -> None:
    _, requests, _ = play(PLAN, ("9", "x", ["a"]), ("9", "y", ["b"]), GONE, ("12", "", []))
    assert [(s.version, s.match) for s in requests] == [
        ("7", "NotOlderThan"), ("", ""), ("", ""), ("7", "NotOlderThan"),
    ]  # fmt: skip


def test_pg_10_a_server_that_ignores_the_limit_returns_a_single_page() -> None:
    assert play(PLAN, ("9", "", list("abcdefg")))[2] == list("abcdefg")


def test_pg_14_the_pages_before_a_failure_have_been_delivered() -> None:
    state, _, items = play(FAIL, ("9", "x", ["a", "b"]), GONE)
    assert (state, items) == (Lost(GONE), ["a", "b"])


def test_w_04_the_offered_token_continues_a_list_that_is_marked_as_no_snapshot() -> None:
    state, requests, items = play(GO_ON, ("9", "x", ["a"]), OFFER, ("14", "", ["b"]))
    assert state == Done("9", paged=True, consistent=False)
    assert (requests[-1], items) == (send(limit=2, token="rest"), ["a", "b"])


def test_an_expired_fallback_does_not_fall_back_again() -> None:
    state, requests, _ = play(PLAN, ("9", "x", ["a"]), GONE, ("12", "y", ["b"]), GONE)
    assert (state, len(requests)) == (Lost(GONE), 4)

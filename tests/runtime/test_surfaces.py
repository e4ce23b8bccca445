"""The two clients have the same names and parameters; what differs stands here, with the reason."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import kubeproto_runtime as kr
from kubeproto_runtime import blocking, client, watching, writing

PAIRS: dict[str, tuple[type, type]] = {
    "client": (kr.Client, kr.BlockingClient),
    "verbs": (client.BoundApi, blocking.BlockingApi),
    "subresources": (client.BoundSubresource, blocking.BlockingSubresource),
    "tables": (client.BoundTables, blocking.BlockingTables),
    "entry": (writing.Entry, writing.BlockingEntry),
    "pages": (watching.ListPages, watching.BlockingPages),
    "items": (watching.Items, watching.BlockingItems),
}

# What only one of them has, and why.
NEEDS_WEBSOCKETS = {"upgrade", "exec", "attach", "port_forward"}
ONLY_ASYNC = {"client": {"upgrade"}, "verbs": {"exec", "attach", "port_forward"}}
ONLY_BLOCKING = {
    "client": {"sleep_until"},  # who reads a cache waits by the client's clock, which is not an event loop's
    "verbs": {"reflect"},  # a cache of its own thread; on an event loop `Caches` shares one among many
}
# Parameters that only one of them has: the event loop has a clock of its own, and writes the time of day
# into leases and events, which the blocking client has none of.
PARAMETERS = {("client", "__init__"): ({"wall_clock"}, {"clock", "sleep"})}

WORDS = [("Blocking", ""), ("Bound", ""), ("AsyncGenerator", "Generator"), ("AsyncIterator", "Iterator")]


def names_of(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def parameters_of(cls: type, name: str) -> dict[str, tuple[Any, Any, str]] | None:
    found = inspect.getattr_static(cls, name)
    if isinstance(found, property):
        return None
    given = getattr(cls, name)
    signature = inspect.signature(given)
    return {
        parameter.name: (parameter.kind, parameter.default, plain(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    }


def plain(annotation: Any) -> str:
    text = str(annotation)
    for word, other in WORDS:
        text = re.sub(rf"\b{word}", other, text)
    return text


@pytest.mark.parametrize("pair", PAIRS)
def test_both_clients_have_the_same_names(pair: str) -> None:
    one, other = map(names_of, PAIRS[pair])
    assert one - other == ONLY_ASYNC.get(pair, set())
    assert other - one == ONLY_BLOCKING.get(pair, set())


@pytest.mark.parametrize("pair", PAIRS)
def test_the_same_names_take_the_same_parameters(pair: str) -> None:
    one, other = PAIRS[pair]
    shared = names_of(one) & names_of(other)
    compared = 0
    for name in [*sorted(shared), *(["__init__"] if pair == "client" else [])]:
        mine, theirs = parameters_of(one, name), parameters_of(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is None or theirs is None:
            continue
        only, only_other = PARAMETERS.get((pair, name), (set[str](), set[str]()))
        assert mine.keys() - theirs.keys() == only, name
        assert theirs.keys() - mine.keys() == only_other, name
        for parameter in mine.keys() & theirs.keys() - {"transport"}:
            assert mine[parameter] == theirs[parameter], (name, parameter)
            compared += 1
    assert compared or pair in ("pages", "items")


@pytest.mark.parametrize("pair", PAIRS)
def test_the_same_names_have_the_same_words(pair: str) -> None:
    one, other = PAIRS[pair]
    for name in names_of(one) & names_of(other):
        assert bool(inspect.getdoc(getattr(one, name))) == bool(inspect.getdoc(getattr(other, name))), name


def test_the_blocking_client_says_that_it_lacks_what_needs_websockets() -> None:
    assert ONLY_ASYNC["client"] | ONLY_ASYNC["verbs"] == NEEDS_WEBSOCKETS
    said = " ".join((inspect.getdoc(kr.BlockingClient) or "").split())
    for name in NEEDS_WEBSOCKETS:
        assert f"`{name}`" in said
    connect, blocking = inspect.signature(kr.connect), inspect.signature(kr.connect_blocking)
    assert connect.parameters.keys() == blocking.parameters.keys()

"""Small storms through sockets with fixed seeds, and what they find in a runtime that is made wrong."""

from __future__ import annotations

from typing import Any

import pytest

from .broken import broken_cache
from .sockets import STACKS, Stack, play_sockets

NEEDS = {"asyncio": ("h11",), "trio": ("trio", "h11"), "httpx": ("httpx",)}
thorough = pytest.mark.thorough("seconds of real time for each")


def over(*stacks: Stack) -> list[Any]:
    return [pytest.param(one, id=one.label, marks=pytest.mark.needs(*NEEDS[one.label])) for one in stacks]


@thorough
@pytest.mark.parametrize("stack", over(*STACKS))
def test_a_storm_through_sockets_finds_nothing(stack: Stack) -> None:
    for seed in (1, 2):
        outcome = play_sockets(seed, stack)
        assert outcome.violations == ()
        assert outcome.counts  # how many depends on how bytes are scheduled
        assert outcome.written


@thorough
@pytest.mark.parametrize("stack", over(STACKS[0]))
def test_a_storm_through_sockets_finds_a_cache_that_loses_changes(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_cache(monkeypatch)
    found = [one for seed in range(1, 5) for one in play_sockets(seed, stack, liveness=3.0).violations]
    assert any("the server has" in one for one in found)

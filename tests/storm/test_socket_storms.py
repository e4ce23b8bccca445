"""Small storms through sockets with fixed seeds, and their findings in a runtime with a deliberate defect."""

from __future__ import annotations

from typing import Any

import pytest

from .broken import broken_cache
from .sockets import STACKS, Stack, play_sockets

NEEDS = {"asyncio": ("h11",), "trio": ("trio", "h11"), "httpx": ("httpx",)}
thorough = pytest.mark.thorough("seconds of real time for each")


def over(*stacks: Stack) -> list[Any]:
    return [
        pytest.param(stack, id=stack.label, marks=pytest.mark.needs(*NEEDS[stack.label])) for stack in stacks
    ]


@thorough
@pytest.mark.parametrize("stack", over(*STACKS))
def test_a_storm_through_sockets_finds_nothing(stack: Stack) -> None:
    for seed in (1, 2):
        outcome = play_sockets(seed, stack)
        assert outcome.violations == ()
        assert outcome.counts  # their number depends on the scheduling of bytes
        assert outcome.written


@thorough
@pytest.mark.parametrize("stack", over(STACKS[0]))
def test_a_storm_through_sockets_detects_a_cache_that_loses_changes(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_cache(monkeypatch)
    findings = [
        finding for seed in range(1, 5) for finding in play_sockets(seed, stack, liveness=3.0).violations
    ]
    assert any("the server has" in finding for finding in findings)

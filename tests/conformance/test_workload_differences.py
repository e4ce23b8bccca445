"""Random requests about the kinds that controllers act upon are answered the same by both servers."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from conformance.client import fresh_namespace
from conformance.comparing import Ask, Difference, Side
from conformance.servers import Server
from conformance.test_differences import beside
from conformance.workloads import asks, without_controllers

LENGTH: Final = 40
EXAMPLES: Final = 75


def compare(left: Side, right: Side, ask: Ask) -> None:
    """Send a request to both; `Difference` unless they agree but for what controllers write."""
    shown: list[str] = []
    for side in left, right:
        answer = side.respond(ask)
        named = without_controllers(answer.json)
        shown.append(
            f"{answer.status}\n{json.dumps(named, indent=1, sort_keys=True)}".replace(
                side.client.namespace, "<ns>"
            )
        )
    if shown[0] != shown[1]:
        raise Difference(f"{ask}\n--- simulated\n{shown[0]}\n--- real\n{shown[1]}")


@pytest.mark.kubernetes("1.36")
@pytest.mark.parametrize("number", [1])
def test_three_thousand_requests_about_workloads_are_answered_the_same(
    server: Server, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    done: list[Ask] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES, database=None, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.data_too_large, HealthCheck.large_base_example],
    )  # fmt: skip
    @given(st.lists(asks(), min_size=LENGTH, max_size=LENGTH))
    def same(sequence: list[Any]) -> None:
        real = fresh_namespace(server)
        left, right = Side(beside(real)), Side(real)
        for ask in sequence:
            compare(left, right, ask)
            done.append(ask)

    same()
    with capsys.disabled():
        sys.stdout.write(f"\n{len(done)} requests about workloads were answered the same\n")
    assert len(done) >= LENGTH * EXAMPLES

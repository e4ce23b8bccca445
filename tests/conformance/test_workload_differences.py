"""Random requests about the kinds that controllers manage get the same responses from both servers."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from conformance.client import fresh_namespace
from conformance.comparing import ComparedServer, Difference, RequestTemplate
from conformance.servers import Server
from conformance.test_differences import simulated_twin
from conformance.workloads import draw_template, without_controllers

LENGTH: Final = 40
EXAMPLES: Final = 75


def compare(first: ComparedServer, second: ComparedServer, template: RequestTemplate) -> None:
    """Send a request to both servers. Raise `Difference` unless they agree, except for fields of
    controllers.
    """
    bodies: list[str] = []
    for side in first, second:
        answer = side.respond(template)
        normalized = without_controllers(answer.json)
        bodies.append(
            f"{answer.status}\n{json.dumps(normalized, indent=1, sort_keys=True)}".replace(
                side.client.namespace, "<ns>"
            )
        )
    if bodies[0] != bodies[1]:
        raise Difference(f"{template}\n--- simulated\n{bodies[0]}\n--- real\n{bodies[1]}")


@pytest.mark.kubernetes("1.36")
@pytest.mark.parametrize("number", [1])
def test_three_thousand_requests_about_workloads_are_answered_the_same(
    server: Server, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    sent_templates: list[RequestTemplate] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES, database=None, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.data_too_large, HealthCheck.large_base_example],
    )  # fmt: skip
    @given(st.lists(draw_template(), min_size=LENGTH, max_size=LENGTH))
    def same(sequence: list[Any]) -> None:
        real = fresh_namespace(server)
        simulated, real_side = ComparedServer(simulated_twin(real)), ComparedServer(real)
        for template in sequence:
            compare(simulated, real_side, template)
            sent_templates.append(template)

    same()
    with capsys.disabled():
        sys.stdout.write(f"\n{len(sent_templates)} requests about workloads were answered the same\n")
    assert len(sent_templates) >= LENGTH * EXAMPLES

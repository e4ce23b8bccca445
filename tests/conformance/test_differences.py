"""Random sequences of requests go to the simulated server and to a real server, and get the same
responses.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import pytest
from asked_release import RELEASE
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

import kubeproto_sim as sim
from conformance.client import Client, fresh_namespace
from conformance.comparing import ComparedServer, RequestTemplate, compare
from conformance.kinds import BAR, BAZ, FOO
from conformance.sequences import draw_template
from conformance.servers import Server, Simulated

LENGTH: Final = 40
EXAMPLES: Final = 250


def simulated_twin(real: Client) -> Client:
    """Return a client of a simulated server whose namespace is prepared like the real one."""
    if not real.server.real:
        pytest.fail("this test needs a real server: make real ARGS=tests/conformance/…", pytrace=False)
    cluster = sim.Cluster(crds=[FOO, BAR, BAZ], version=100, kubernetes=RELEASE)
    twin = Client(Simulated(cluster), real.namespace)
    cluster.namespace(real.namespace)
    bundle = real.wait_for(real.configmaps, "kube-root-ca.crt", lambda _: True)
    manager = bundle["metadata"]["managedFields"][0]["manager"]
    meta = {
        "name": "kube-root-ca.crt",
        "namespace": real.namespace,
        "annotations": bundle["metadata"]["annotations"],
    }
    cluster.put(bundle | {"metadata": meta}, manager=manager)
    return twin


@pytest.mark.kubernetes("1.36")
@pytest.mark.parametrize("number", [1])
def test_ten_thousand_requests_are_answered_the_same(
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
        sys.stdout.write(f"\n{len(sent_templates)} requests were answered the same\n")
    assert len(sent_templates) >= LENGTH * EXAMPLES

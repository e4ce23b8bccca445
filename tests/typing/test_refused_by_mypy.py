"""mypy refuses verbs that a kind does not have.

The ignored error is half of each test: mypy reports an unused ignore, which fails the gate.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from refused import BOOKS, CONFIG_MAPS, DEPLOYMENTS, SLIM_PODS, check_refusal

import kubeproto as kp
from kubeproto.kinds.apps_v1 import DaemonSet
from kubeproto.kinds.core_v1 import ConfigMap, Pod, Service, ServiceAccount

REFUSED: list[Callable[[], object]] = [
    lambda: DEPLOYMENTS.log("a"),  # type: ignore[misc]
    lambda: DEPLOYMENTS.follow_log("a"),  # type: ignore[misc]
    lambda: DEPLOYMENTS.exec("a", ["ls"]),  # type: ignore[misc]
    lambda: DEPLOYMENTS.attach("a"),  # type: ignore[misc]
    lambda: DEPLOYMENTS.port_forward("a", [80]),  # type: ignore[misc]
    lambda: DEPLOYMENTS.evict("a"),  # type: ignore[misc]
    lambda: DEPLOYMENTS.bind("a", "n"),  # type: ignore[misc]
    lambda: DEPLOYMENTS.create_token("a"),  # type: ignore[misc]
    lambda: DEPLOYMENTS.approval,  # type: ignore[misc]
    lambda: DEPLOYMENTS.resize,  # type: ignore[misc]
    lambda: DEPLOYMENTS.ephemeral_containers,  # type: ignore[misc]
    lambda: CONFIG_MAPS.finalize(ConfigMap()),  # type: ignore[misc]
    lambda: CONFIG_MAPS.status,  # type: ignore[misc]
    lambda: CONFIG_MAPS.scale,  # type: ignore[misc]
    lambda: kp.Api(DaemonSet).scale,  # type: ignore[misc]
    lambda: kp.Api(ServiceAccount).log("a"),  # type: ignore[misc]
    lambda: kp.Api(Pod).create_token("a"),  # type: ignore[misc]
    lambda: kp.Api(kp.Metadata[Service]).log("a"),  # type: ignore[misc]
    lambda: kp.Api(kp.Metadata[ConfigMap]).status,  # type: ignore[misc]
    lambda: BOOKS.log("a"),  # type: ignore[misc]
]


@pytest.mark.parametrize("ask", REFUSED, ids=range(len(REFUSED)))
def test_mypy_refuses_a_verb_that_a_kind_lacks(ask: Callable[[], object]) -> None:
    check_refusal(ask)


def test_mypy_refuses_verbs_that_a_slim_class_does_not_declare() -> None:
    log: object = SLIM_PODS.log("a")  # type: ignore[misc]
    assert log == kp.Api(Pod).log("a")


def for_any_kind(api: kp.Api[kp.KubeObject]) -> object:
    """Code for any kind declares no capabilities and uses subresources by name."""
    return api.status  # type: ignore[misc]

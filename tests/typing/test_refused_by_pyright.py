"""pyright refuses verbs that a kind does not have; mypy's comments would confuse it.

The ignored error is half of each test: pyright reports an unused ignore, which fails the gate.
"""

# A refused expression has no type, to which the strict level would object as well.
# pyright: basic, reportUnnecessaryTypeIgnoreComment=true
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable

import pytest
from refused import BOOKS, CONFIG_MAPS, DEPLOYMENTS, SLIM_PODS, check_refusal

import kubeproto as kp
from kubeproto.kinds.apps_v1 import DaemonSet
from kubeproto.kinds.core_v1 import ConfigMap, Pod, Service, ServiceAccount

REFUSED: list[Callable[[], object]] = [
    lambda: DEPLOYMENTS.log("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.follow_log("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.exec("a", ["ls"]),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.attach("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.port_forward("a", [80]),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.evict("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.bind("a", "n"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.create_token("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.approval,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.resize,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: DEPLOYMENTS.ephemeral_containers,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: CONFIG_MAPS.finalize(ConfigMap()),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: CONFIG_MAPS.status,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: CONFIG_MAPS.scale,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: kp.Api(DaemonSet).scale,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: kp.Api(ServiceAccount).log("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: kp.Api(Pod).create_token("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: kp.Api(kp.Metadata[Service]).log("a"),  # pyright: ignore[reportAttributeAccessIssue]
    lambda: kp.Api(kp.Metadata[ConfigMap]).status,  # pyright: ignore[reportAttributeAccessIssue]
    lambda: BOOKS.log("a"),  # pyright: ignore[reportAttributeAccessIssue]
]


@pytest.mark.parametrize("ask", REFUSED, ids=range(len(REFUSED)))
def test_pyright_refuses_a_verb_that_a_kind_lacks(ask: Callable[[], object]) -> None:
    check_refusal(ask)


def test_pyright_refuses_verbs_that_a_slim_class_does_not_declare() -> None:
    log: object = SLIM_PODS.log("a")  # pyright: ignore[reportAttributeAccessIssue]
    assert log == kp.Api(Pod).log("a")


def for_any_kind(api: kp.Api[kp.KubeObject]) -> object:
    """Code for any kind declares no capabilities and uses subresources by name."""
    return api.status  # pyright: ignore[reportAttributeAccessIssue]

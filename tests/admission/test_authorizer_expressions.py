"""Expressions about a write may ask the authorizer, with the results of a real server."""

from __future__ import annotations

import anyio
import pytest
from authorizer_cases import BAD_ACCOUNT, BAD_ACCOUNT_ERROR, ROLES, VALUES, policy, refusal_of

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Client


def refusal(expression: str, value: str) -> str:
    """Return how the user robot is refused to create a ConfigMap."""
    robot = sim.User("robot", groups=("robots",))
    cluster = sim.Cluster(authorization="RBAC", populated=True)
    for document in (*ROLES, *policy(expression, value, "it has the value")):
        cluster.put(document)
    cluster.settle()

    async def main() -> str:
        client = Client(cluster.transport(robot), namespace="default")
        return await refusal_of(client.api(kp.Dynamic, resource=ConfigMap.resource))

    return anyio.run(main)


@pytest.mark.needs("cel_expr_python")
@pytest.mark.parametrize("expression", VALUES)
def test_an_expression_has_the_value_of_a_real_server(expression: str) -> None:
    assert refusal(expression, VALUES[expression]) == "it has the value"
    assert refusal(expression, "another") == ""


@pytest.mark.needs("cel_expr_python")
def test_an_invalid_service_account_is_an_error() -> None:
    assert refusal(BAD_ACCOUNT, "").endswith(BAD_ACCOUNT_ERROR)


@pytest.mark.needs("cel_expr_python")
@pytest.mark.parametrize(
    "expression",
    ["authorizer.check('get').reason()", "authorizer.group('a').allowed()", "authorizer.error()"],
)
def test_a_function_on_the_result_of_another_one_refuses_the_write(expression: str) -> None:
    assert "no such overload" in refusal(f"string({expression})", "")


@pytest.mark.needs("cel_expr_python")
def test_a_cluster_that_allows_everything_allows_every_check() -> None:
    cluster = sim.Cluster()
    expression = "string(authorizer.group('any').resource('thing').check('use').allowed())"
    for document in policy(expression, "true", "allowed"):
        cluster.put(document)

    async def main() -> None:
        client = Client(cluster.transport(), namespace="default")
        assert await refusal_of(client.api(kp.Dynamic, resource=ConfigMap.resource)) == "allowed"

    anyio.run(main)

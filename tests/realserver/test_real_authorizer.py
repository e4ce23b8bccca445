"""Expressions that ask the authorizer have the values on a real server that the tests expect."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from authorizer_cases import BAD_ACCOUNT, BAD_ACCOUNT_ERROR, ROLES, VALUES, policy, refusal_of

import kubeproto as kp
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client
from realserver import RealServer

_WITHIN = 60.0


async def apply(client: Client, items: list[dict[str, Any]]) -> None:
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    await client.apply_manifests(manifests, field_manager="test")


async def wait_for_refusal(api: Any, text: str) -> bool:
    """Return whether a ConfigMap is refused with a text; a server applies a policy with a delay."""
    with anyio.move_on_after(_WITHIN):
        while text not in await refusal_of(api):
            await anyio.sleep(0.05)
        return True
    return False


@pytest.mark.kubernetes("1.36")
def test_expressions_have_these_values_on_a_real_server(real_server: RealServer) -> None:
    async def main() -> None:
        async with (
            HttpxTransport(real_server.connection) as transport,
            HttpxTransport(real_server.connection_for("robot")) as robot,
        ):
            client = Client(transport, namespace="default")
            api = Client(robot, namespace="default").api(kp.Dynamic, resource=ConfigMap.resource)
            await apply(client, ROLES)
            wrong: list[str] = []
            for number, expression in enumerate(VALUES):
                text = f"{number}: it has the value"
                await apply(client, policy(expression, VALUES[expression], text))
                if not await wait_for_refusal(api, text):
                    wrong.append(expression)
            await apply(client, policy(BAD_ACCOUNT, "", "it has the value"))
            if not await wait_for_refusal(api, BAD_ACCOUNT_ERROR):
                wrong.append(BAD_ACCOUNT)
            for kind in ("Policy", "PolicyBinding"):
                name = f"ValidatingAdmission{kind}"
                plural = name.lower() + "s" if kind.endswith("g") else "validatingadmissionpolicies"
                resource = kp.Resource("admissionregistration.k8s.io", "v1", name, plural, namespaced=False)
                await client.api(kp.Dynamic, resource=resource).delete("asks")
            assert wrong == []

    anyio.run(main)

"""Leases that a real server stores, and a candidate that leads after each of them."""

from __future__ import annotations

import json
from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client, LeaderElector
from realserver import RealServer

LEASES: Final = kp.Resource("coordination.k8s.io", "v1", "Lease", "leases")
MAX: Final = 2**31 - 1
REFUSED: Final[list[dict[str, Any]]] = [
    {"leaseTransitions": -MAX - 1},
    {"leaseTransitions": -1},
    {"leaseTransitions": MAX + 1},
    {"leaseDurationSeconds": 0},
    {"leaseDurationSeconds": -5},
    {"leaseDurationSeconds": MAX + 1},
    {"renewTime": "2020-01-01T00:00:00Z"},
    {"renewTime": "-0001-01-01T00:00:00.000000Z"},
]
STORED: Final[list[dict[str, Any]]] = [
    {},
    {"holderIdentity": ""},
    {"holderIdentity": None, "leaseDurationSeconds": MAX},
    {"holderIdentity": "other", "leaseTransitions": MAX},
    {"holderIdentity": "o" * 1000},
    {"holderIdentity": "other\0"},
    {"holderIdentity": "other", "leaseDurationSeconds": 1},
    {"holderIdentity": "other", "renewTime": "0001-01-01T00:00:00.000000Z"},
    {"holderIdentity": "other", "renewTime": "0000-01-01T00:00:00.000000Z"},
    {"holderIdentity": "other", "acquireTime": "0001-01-01T00:00:00.000000+14:00"},
    {"holderIdentity": "other", "renewTime": "9999-12-31T23:59:59.999999Z"},
    {"holderIdentity": "other", "renewTime": "9999-12-31T23:59:59.999999-12:00"},
    {"holderIdentity": "me", "acquireTime": "9999-12-31T23:59:59.999999-12:00"},
]


def lease(name: str, spec: dict[str, Any]) -> kp.Dynamic:
    document = {
        "apiVersion": LEASES.api_version, "kind": "Lease", "metadata": {"name": name}, "spec": spec,
    }  # fmt: skip
    return kp.decode(json.dumps(document).encode(), kp.Dynamic)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_candidate_leads_after_each_lease_that_a_real_server_stores(
    real_server: RealServer, backend: str
) -> None:
    async def main() -> None:
        async with HttpxTransport(real_server.connection) as transport:
            client = Client(transport, namespace="default")
            api = client.api(kp.Dynamic, resource=LEASES)
            for number, spec in enumerate(REFUSED):
                with pytest.raises(kp.ApiError):
                    await api.create(lease(f"{backend}-refused-{number}", spec))
            led: list[str] = []

            async def lead(name: str) -> None:
                elector = LeaderElector(
                    client, name=name, identity="me", lease_duration=3, renew_deadline=2, retry_period=0.5
                )

                async def work() -> None:
                    led.append(name)
                    await anyio.sleep(1)  # it renews the lease

                await elector.run(work)

            async with anyio.create_task_group() as tasks:
                for number, spec in enumerate(STORED):
                    name = f"{backend}-stored-{number}"
                    await api.create(lease(name, spec))
                    tasks.start_soon(lead, name)
            assert len(led) == len(STORED)
            for name in led:
                released = await api.get(name)
                assert released["spec"]["holderIdentity"] == ""
                await api.delete(name)

    anyio.run(main, backend=backend)

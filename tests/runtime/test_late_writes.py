"""A write that has waited for its token does not leave once the lease of its operator has expired."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Config, Connection, Identity, Oidc
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Client, LeaseLost, Operator
from kubeproto_runtime.credentials import AuthorizedTransport
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated

ISSUER: Final = "https://id.example.com"
SLOW: Final = 40.0  # seconds that the identity provider takes; a lease lasts 15


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def on(backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            with anyio.fail_after(3600):
                await body(client)

    run(main, backend=backend)


class Reply:
    headers: kp.Headers = (("Content-Type", "application/json"),)

    def __init__(self, value: dict[str, str]) -> None:
        self.status = 200
        self._pieces = [json.dumps(value).encode()]

    def __aiter__(self) -> Reply:
        return self

    async def __anext__(self) -> bytes:
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop()


class SlowProvider:
    """An identity provider that gives out a token after a while."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **_: Any) -> AsyncGenerator[Reply]:
        if request.method == "GET":
            yield Reply({"token_endpoint": f"{ISSUER}/token"})
            return
        await anyio.sleep(SLOW)
        yield Reply({"id_token": self.token(600.0)})

    def token(self, life: float) -> str:
        claims = json.dumps({"exp": self._now() + life}).encode()
        return f"e30.{urlsafe_b64encode(claims).decode().rstrip('=')}.x"


def with_tokens(client: SimulatedClient) -> Client:
    """A client of the same cluster whose token has expired."""

    def now() -> float:
        return client.wall_clock().timestamp()

    provider = SlowProvider(now)

    @asynccontextmanager
    async def opener(connection: Connection) -> AsyncGenerator[Any]:
        yield provider if connection.server.startswith(ISSUER) else client.transport

    oidc = Oidc(issuer=ISSUER, client_id="books", refresh_token="r", id_token=provider.token(-5.0))
    config = Config(connection=Connection(server="https://sim"), identity=Identity(oidc=oidc))
    return Client(AuthorizedTransport(config, opener, clock=now), wall_clock=client.wall_clock)


def test_a_write_that_waited_for_a_token_is_not_sent_after_the_lease(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        faults, mine = sim.Faults(client.cluster), with_tokens(client)
        async with simulated(client.cluster, faults=faults) as alone:
            refused: list[tuple[float, str]] = []

            async def work() -> None:
                await anyio.sleep(2)
                with anyio.CancelScope(shield=True):
                    try:
                        await mine.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="late")))
                    except LeaseLost as error:
                        refused.append((anyio.current_time(), str(error)))

            operator = Operator(election=LeaderElector(alone, name="books", identity="me"))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, work)
                await anyio.sleep(1)
                faults.script += [sim.RefuseConnection()] * 1000
                await anyio.sleep(60)
                tasks.cancel_scope.cancel()
            assert client.cluster.get(ConfigMap, "late") is None
            [(at, said)] = refused
            assert round(at) == 2 + SLOW
            assert "POST /api/v1/namespaces/default/configmaps was not sent" in said

    on(backend, body)


def test_a_write_that_waited_for_a_token_is_sent_while_the_lease_is_held(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        mine = with_tokens(client)

        async def work() -> None:
            await anyio.sleep(2)
            await mine.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="late")))

        operator = Operator(election=LeaderElector(client, name="books", identity="me"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, work)
            await anyio.sleep(60)
            assert client.cluster.get(ConfigMap, "late") is not None
            tasks.cancel_scope.cancel()

    on(backend, body)

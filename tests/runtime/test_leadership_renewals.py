"""A lease is kept while a slow credential plugin renews a token, and runs with a deadline do not end it.

Time is virtual, so the plugin is a function that takes as long as it says.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import anyio
import pytest
from credential_rig import SERVER, credential

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Config, Connection, Identity, Plugin, credentials as c
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.wire import header
from kubeproto_runtime import Action, Client, Context, Controller, requeue
from kubeproto_runtime.credentials import AuthorizedTransport
from kubeproto_runtime.operator import LeaderElector, Operator
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated

PLUGINS = "kubeproto_runtime.credentials._authorized_transport.run_plugin"
LIFE = 600.0  # seconds that a token is valid


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


# An hour with thousands of requests.
ONE_LOOP = pytest.mark.parametrize(
    "backend", ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other loop"))]
)


class Guarded:
    """A cluster that takes no token after its time, and a plugin that takes `seconds` for each."""

    def __init__(self, client: SimulatedClient, seconds: float) -> None:
        self.client, self.seconds = client, seconds
        self.runs: list[float] = []
        self.refused = 0

    async def plugin(self, task: c.RunPlugin) -> c.Event:
        self.runs.append(anyio.current_time())
        await anyio.sleep(self.seconds)
        expires = datetime.fromtimestamp(anyio.current_time() + LIFE, UTC)
        said = credential(token=str(int(expires.timestamp())), expirationTimestamp=f"{expires:%FT%TZ}")
        return c.PluginExited(0, said.encode())

    @asynccontextmanager
    async def open(self, connection: Connection) -> AsyncGenerator[Any]:
        yield self

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **limits: Any) -> AsyncGenerator[kp.IncomingResponse]:
        token = header(request.headers, "authorization").removeprefix("Bearer ")
        self.refused += int(token) <= anyio.current_time()
        async with self.client.transport.send(request, **limits) as incoming:
            yield incoming


def guarded(
    backend: Backend,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    body: Callable[[Client, Guarded], Awaitable[None]],
) -> None:
    """Run a body with a client whose tokens come from the plugin."""

    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            guard = Guarded(client, seconds)
            monkeypatch.setattr(PLUGINS, guard.plugin)
            identity = Identity(plugin=Plugin(command="login"))
            config = Config(connection=Connection(server=SERVER), identity=identity)
            async with AuthorizedTransport(config, guard.open, clock=anyio.current_time) as transport:
                await body(Client(transport, wall_clock=client.wall_clock), guard)

    run(main, backend=backend)


@ONE_LOOP
def test_a_lease_is_kept_through_each_renewal_of_a_token_that_is_still_valid(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(client: Client, guard: Guarded) -> None:
        terms: list[float] = []

        async def work() -> None:
            terms.append(anyio.current_time())
            await anyio.sleep_forever()

        elector = LeaderElector(client, name="books", identity="me")  # it renews within ten seconds
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(elector.run, work)
            await anyio.sleep(3600)
            assert (len(terms), elector.is_leader, guard.refused) == (1, True, 0)
            assert len(guard.runs) >= 6
            tasks.cancel_scope.cancel()

    guarded(backend, monkeypatch, 12.0, body)


@ONE_LOOP
def test_runs_that_time_out_while_a_plugin_works_do_not_begin_it_again_and_again(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(client: Client, guard: Guarded) -> None:
        ended: list[float] = []

        async def reconcile(subject: ConfigMap, ctx: Context[None]) -> Action:
            await client.api(ConfigMap).get("a")
            ended.append(anyio.current_time())
            return requeue(after=1)

        await client.create(ConfigMap(metadata=kp.ObjectMeta(name="a")))
        operator = Operator()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                operator.run, Controller(client, ConfigMap, timeout=5, namespace="default").run(reconcile)
            )
            await anyio.sleep(3600)
            operator.stop()
        assert max(later - before for before, later in pairwise(ended)) < 2
        assert guard.refused == 0
        assert 6 <= len(guard.runs) <= 8

    guarded(backend, monkeypatch, 8.0, body)

"""An operator that is stopped while its server is dead ends within its grace and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Literal, TypeAlias, TypeVar

import anyio
import pytest
import sniffio

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease, LeaseSpec
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Client, Context, Controller, Operator
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated

T = TypeVar("T")

GRACE: Final = 3.0
# The lease is released after the grace, and nobody waits longer than this for it.
RELEASE: Final = 5.0

Failure: TypeAlias = Literal["is silent", "refuses", "is cut"]
FAILURES: Final[tuple[Failure, ...]] = ("is silent", "refuses", "is cut")


class FailingTransport:
    """A transport whose server fails: requests that are open and later ones then end as `failure` says."""

    def __init__(
        self, inner: kp.Transport, failure: Failure, *, fails_at: Callable[[kp.RawRequest], bool]
    ) -> None:
        self.inner, self.fails_at = inner, fails_at
        self.failure: Failure = failure
        self.dead = False
        self.open = 0
        self.asked: list[tuple[float, kp.RawRequest]] = []
        self._scopes: set[anyio.CancelScope] = set()

    def fail(self) -> None:
        self.dead = True
        for scope in self._scopes:
            scope.cancel()

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[FailingResponse]:
        self.asked.append((anyio.current_time(), request))
        self.open += 1
        try:
            if self.fails_at(request):
                self.fail()
            end = min(anyio.current_time() + limit for limit in (timeout, idle, float("inf")) if limit)
            async with AsyncExitStack() as stack:
                incoming = await self.alive(
                    lambda: stack.enter_async_context(self.inner.send(request, timeout=timeout, idle=idle)),
                    end,
                )
                yield FailingResponse(self, incoming, idle)
        finally:
            self.open -= 1

    async def alive(self, act: Callable[[], Awaitable[T]], end: float) -> T:
        """Return what comes of it, unless the server is dead or fails meanwhile."""
        if not self.dead:
            with anyio.CancelScope() as scope:
                self._scopes.add(scope)
                try:
                    return await act()
                finally:
                    self._scopes.discard(scope)
        match self.failure:
            case "is silent":
                await anyio.sleep_until(end)
                raise kp.DeadlineExceeded("no byte came in time")
            case "refuses":
                await anyio.lowlevel.checkpoint()
                raise kp.ConnectError("the connection was refused")
            case "is cut":
                await anyio.lowlevel.checkpoint()
                raise kp.TransportError("the connection was reset")


class FailingResponse:
    """A response whose body ends, or falls silent, when the server fails."""

    def __init__(self, server: FailingTransport, incoming: kp.IncomingResponse, idle: float | None) -> None:
        self.status, self.headers = incoming.status, incoming.headers
        self._server, self._body, self._idle = server, aiter(incoming), idle

    def __aiter__(self) -> FailingResponse:
        return self

    async def __anext__(self) -> bytes:
        end = float("inf") if self._idle is None else anyio.current_time() + self._idle
        return await self._server.alive(lambda: anext(self._body), end)


def never(request: kp.RawRequest) -> bool:
    return False


def a_list(request: kp.RawRequest) -> bool:
    return request.method == "GET" and "configmaps" in request.target


def a_release(request: kp.RawRequest) -> bool:
    return request.method == "PUT" and b'"holderIdentity":""' in request.body.replace(b" ", b"")


class Scenario:
    """One operator, and how far it has come when its server fails."""

    def __init__(
        self, client: SimulatedClient, failure: Failure, fails_at: Callable[[kp.RawRequest], bool]
    ) -> None:
        self.cluster = client.cluster
        self.server = FailingTransport(client.transport, failure, fails_at=fails_at)
        self.client = Client(self.server, wall_clock=client.wall_clock, rng=client.random)
        self.leading = LeaderElector(self.client, name="books", identity="me")
        self.begun: list[str] = []
        self.ended: list[float] = []
        self.works = False  # whether runs take as long as they may
        self.left = float("inf")

    async def reconcile(self, subject: ConfigMap, ctx: Context[None]) -> None:
        self.begun.append(ctx.name)
        try:
            while self.works:
                await anyio.sleep(1)
                await self.client.api(ConfigMap).merge_patch(ctx.name, {"data": {"at": "x"}})
        finally:
            self.ended.append(anyio.current_time())

    async def run(self, operator: Operator) -> None:
        await operator.run(Controller(self.client, ConfigMap, concurrency=5).run(self.reconcile))
        self.left = anyio.current_time()


Phase: TypeAlias = Literal[
    "listing", "streaming", "leading", "standing by", "reconciling", "giving the lease back"
]
# Whether the operator stands for a lease, at which request the server fails, and the longest end.
PHASES: Final[dict[Phase, tuple[bool, Callable[[kp.RawRequest], bool], float]]] = {
    "listing": (False, a_list, 0.0),
    "streaming": (False, never, 0.0),
    "leading": (True, never, RELEASE),
    "standing by": (True, never, RELEASE),
    "reconciling": (True, never, GRACE + RELEASE),
    "giving the lease back": (True, a_release, RELEASE),
}


def tasks_alive() -> int:
    if sniffio.current_async_library() == "asyncio":
        return len(asyncio.all_tasks())
    import trio

    return trio.lowlevel.current_statistics().tasks_living


@pytest.mark.parametrize("waited", [1.0, 70.0])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_operator_ends_in_each_phase_although_its_server_is_dead(
    backend: Backend, phase: Phase, failure: Failure, waited: float
) -> None:
    elected, fails_at, longest = PHASES[phase]

    async def main() -> None:
        stopped = 0.0
        async with simulated(sim.Cluster()) as client:
            for number in range(3):
                await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name=f"c{number}")))
            if phase == "standing by":
                spec = LeaseSpec(holder_identity="other", lease_duration_seconds=3600)
                client.cluster.put(Lease(metadata=kp.ObjectMeta(name="books"), spec=spec))
            scenario = Scenario(client, failure, fails_at)
            scenario.works = phase == "reconciling"
            transport = scenario.client.transport
            operator = Operator(election=scenario.leading if elected else None, grace=GRACE)
            before = tasks_alive()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scenario.run, operator)
                await anyio.sleep(5.5)
                reached(phase, scenario)
                if fails_at is never:
                    scenario.server.fail()
                await anyio.sleep(waited)
                stopped = anyio.current_time()
                operator.stop()
            assert scenario.left - stopped <= longest
            assert len(scenario.ended) == len(scenario.begun)
            assert max(scenario.ended, default=0.0) <= stopped + GRACE
            assert scenario.server.open == 0
            assert tasks_alive() == before
            assert scenario.client.transport is transport
            asked = len(scenario.server.asked)
            await anyio.sleep(600)
            assert len(scenario.server.asked) == asked

    run(main, backend=backend)


def reached(phase: Phase, scenario: Scenario) -> None:
    """Look whether the operator has come as far as the test says."""
    begun = 0 if phase in ("listing", "standing by") else 3
    assert len(scenario.begun) == begun
    assert len(scenario.ended) == (0 if phase == "reconciling" else begun)
    assert scenario.server.dead == (phase == "listing")
    assert scenario.leading.is_leader == (phase in ("leading", "reconciling", "giving the lease back"))

"""The transports of the simulator also keep the contract, and their faults raise the errors of real
transports.

They have no sockets, so the byte scripts of the suite do not apply to them. The parts on which a client
relies are tested here: on the transport alone, behind faults that never occur, and inside the runtime's
wrappers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final

import anyio
import pytest
from contract_transports import AsyncAdapter
from msgspec.structs import replace

import kubeproto as kp
from kubeproto.config import Config, Connection, Identity
from kubeproto_runtime.blocking import BlockingAuthorizedTransport
from kubeproto_runtime.credentials import AuthorizedTransport
from kubeproto_sim import Cluster, Cut, Fault, Faults, HalfOpen, LoseResponse, RefuseConnection, Throttle

SHELF: Final = kp.RawRequest(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    (("Content-Type", "application/json"),),
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"shelf"}}',
)
READ: Final = kp.RawRequest("GET", "/api/v1/namespaces/default/configmaps/shelf")
WATCH: Final = kp.RawRequest("GET", "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0")

Make = Callable[[Cluster, tuple[Fault, ...]], Any]


def plain(cluster: Cluster, script: tuple[Fault, ...]) -> Any:
    return cluster.transport() if not script else Faults(cluster, script=script).transport()


def faulty(cluster: Cluster, script: tuple[Fault, ...]) -> Any:
    return Faults(cluster, script=script).transport()


def blocking(cluster: Cluster, script: tuple[Fault, ...]) -> Any:
    return AsyncAdapter(Faults(cluster, script=script).blocking_transport())


def authorized(cluster: Cluster, script: tuple[Fault, ...]) -> Any:
    """Wrap the transport with empty credentials."""

    @asynccontextmanager
    async def opened(_: Connection) -> AsyncGenerator[Any]:
        yield faulty(cluster, script)

    return AuthorizedTransport(
        Config(connection=Connection(server="http://sim"), identity=Identity()), opened
    )


def blocking_authorized(cluster: Cluster, script: tuple[Fault, ...]) -> Any:
    """Wrap the blocking transport with empty credentials."""

    def opened(_: Connection) -> Any:
        return nullcontext(Faults(cluster, script=script).blocking_transport())

    config = Config(connection=Connection(server="http://sim"), identity=Identity())
    return AsyncAdapter(BlockingAuthorizedTransport(config, opened))


MAKERS: Final = (plain, faulty, blocking, authorized, blocking_authorized)


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    parameter: Make = request.param
    return parameter


async def read(transport: Any, request: kp.RawRequest, **limits: Any) -> tuple[int, bytes]:
    async with transport.send(request, **limits) as incoming:
        return incoming.status, b"".join([chunk async for chunk in incoming])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_simulated_transport_carries_requests_and_their_bodies(make: Make, backend: str) -> None:
    async def main() -> None:
        transport = make(Cluster(), ())
        status, body = await read(transport, SHELF, timeout=60.0, idle=30.0)
        assert (status, b'"name":"shelf"' in body) == (201, True)
        assert await read(transport, READ) == (200, body)

    anyio.run(main, backend=backend)


def test_a_simulated_transport_checks_a_request_before_it_is_sent(make: Make) -> None:
    def too_late() -> None:
        raise InterruptedError

    async def main() -> None:
        cluster = Cluster()
        with pytest.raises(InterruptedError):
            await read(make(cluster, ()), replace(SHELF, check=too_late))
        assert (await read(make(cluster, ()), READ))[0] == 404

    anyio.run(main)


def test_faults_that_do_not_occur_change_no_byte() -> None:
    async def main() -> None:
        answers = [
            [await read(make(cluster, ()), request) for request in (SHELF, READ, SHELF)]
            for make in MAKERS
            for cluster in [Cluster()]
        ]
        assert all(answer == answers[0] for answer in answers)

    anyio.run(main)


def test_a_simulated_watch_that_falls_silent_times_out(make: Make) -> None:
    async def main() -> None:
        for limits in ({"idle": 5.0}, {"timeout": 5.0}):
            with pytest.raises(kp.DeadlineExceeded):
                await read(make(Cluster(), ()), WATCH, **limits)

    anyio.run(main)


@pytest.mark.parametrize(
    ("fault", "raw_request", "raised"),
    [
        (RefuseConnection(), READ, kp.ConnectError),
        (LoseResponse(), SHELF, kp.TransportError),
        (Cut(20), READ, kp.TransportError),
        (HalfOpen(20), READ, kp.DeadlineExceeded),
    ],
    ids=str,
)
def test_a_simulated_failure_raises_the_error_of_a_real_transport(
    make: Make, fault: Fault, raw_request: kp.RawRequest, raised: type[Exception]
) -> None:
    async def main() -> None:
        cluster = Cluster()
        if raw_request is READ:
            await read(cluster.transport(), SHELF)
        with pytest.raises(raised):
            await read(make(cluster, (fault,)), raw_request, idle=5.0)

    anyio.run(main)


def test_a_refusal_by_a_fault_is_a_response(make: Make) -> None:
    async def main() -> None:
        status, body = await read(make(Cluster(), (Throttle(2),)), READ)
        assert (status, b"Too many requests" in body) == (429, True)

    anyio.run(main)


def test_an_error_of_the_caller_closes_a_simulated_watch_and_propagates(make: Make) -> None:
    async def main() -> None:
        cluster = Cluster()
        with pytest.raises(ZeroDivisionError):
            await _err_inside(make(cluster, ()), cluster)
        assert cluster.watches == []

    anyio.run(main)


async def _err_inside(transport: Any, cluster: Cluster) -> None:
    async with transport.send(WATCH) as incoming:
        assert incoming.status == 200
        assert len(cluster.watches) == 1
        raise ZeroDivisionError

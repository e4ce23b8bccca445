"""Wherever a request is cancelled, no socket or task remains open, and the next request succeeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
import pytest
from contract_cancelling import cancelled_at
from contract_certificates import Certificates, context
from contract_scripts import HELLO, chunk, chunked, proxying, response_bytes
from contract_server import Gate, Peer, Server
from contract_transports import (
    Rig,
    connection_to,
    fetch,
    get,
    living_tasks,
    post,
    rigs,
    until,
    wait_until_idle,
)

from kubeproto import RawRequest, Transport
from kubeproto.config import Connection

Serve = Callable[..., Server]

# No request has more waits. Without the bound a defect of the suite would loop forever.
MANY: Final = 400

WORK: Final = {"get": get("/sized"), "post": post(b"x" * 300_000, "/sized"), "watch": get("/watch")}


@pytest.fixture(params=rigs(is_async=True))
def rig(request: pytest.FixtureRequest) -> Rig:
    """Each transport that can be cancelled."""
    parameter: object = request.param
    assert isinstance(parameter, Rig)
    return parameter


async def library(peer: Peer) -> None:
    """Send a response in several writes, so that the client waits several times."""
    while True:
        request = await peer.request()
        if request.target == "/sized":
            data = response_bytes()
            await peer.send(data[:30])
            await peer.send(data[30:])
            continue
        await peer.send(chunked(end=False))
        for _ in range(3):
            await peer.send(chunk(HELLO))
        await peer.send(chunk(b""))


async def cancel_once(transport: Transport, request: RawRequest, number: int, server: Server) -> bool:
    """Cancel a request at this wait, then check that the transport still works. Return False if the request
    has fewer waits.
    """

    async def work() -> None:
        await fetch(transport, request, timeout=60.0, idle=60.0)

    tasks = living_tasks()
    reached = await cancelled_at(number, work)
    await until(lambda: living_tasks() <= tasks)
    # A single cancellation must not affect later requests.
    assert (await fetch(transport, get("/sized"))).body == HELLO
    # The transport may keep a connection for the next request. The server may not have received the close of
    # a failed connection yet.
    await until(lambda: server.open_connections <= 1)
    return reached


def at_every_wait(rig: Rig, connection: Connection, request: RawRequest, server: Server) -> int:
    """Cancel at each wait in turn, each time on a new transport. Return the number of waits."""
    for number in range(MANY):

        async def once(transport: Transport, number: int = number) -> bool:
            return await cancel_once(transport, request, number, server)

        if not rig.run(connection, once):
            return number
        server.wait_until_idle()
    raise AssertionError("the request never got through")


@pytest.mark.parametrize("case", WORK)
def test_a_request_on_a_new_connection_is_cancelled_at_every_wait(rig: Rig, serve: Serve, case: str) -> None:
    server = serve(library)
    assert at_every_wait(rig, connection_to(server), WORK[case], server) > 2


def test_a_request_over_tls_is_cancelled_at_every_wait(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(library, context(certificates.server))
    assert at_every_wait(rig, connection_to(server, ca=certificates.trusted), WORK["watch"], server) > 3


def test_a_request_through_a_tunnel_is_cancelled_at_every_wait(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server, proxy = serve(library, context(certificates.server)), serve(proxying())
    connection = connection_to(server, ca=certificates.trusted, proxy=f"http://localhost:{proxy.port}")
    assert at_every_wait(rig, connection, WORK["get"], server) > 4


@pytest.mark.parametrize("case", WORK)
def test_a_request_on_a_pooled_connection_is_cancelled_at_every_wait(
    rig: Rig, serve: Serve, case: str
) -> None:
    server = serve(library)

    async def each(transport: Transport) -> int:
        await fetch(transport, get("/sized"))
        for number in range(MANY):
            if not await cancel_once(transport, WORK[case], number, server):
                return number
        raise AssertionError("the request never got through")

    assert rig.run(connection_to(server), each) > 0


def test_a_watch_that_is_cancelled_in_silence_closes_its_connection(
    rig: Rig, serve: Serve, gate: Gate
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(chunked(HELLO, end=False))
        await peer.wait_closed()

    server = serve(script)

    async def watch(transport: Transport) -> None:
        pieces: list[bytes] = []

        async def read() -> None:
            async with transport.send(get()) as incoming:
                async for chunk in incoming:
                    pieces.append(chunk)

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await until(lambda: bool(pieces))
            group.cancel_scope.cancel()
        await wait_until_idle(server)

    rig.run(connection_to(server), watch)
    assert server.connections == 1


def test_waiting_for_a_slow_head_can_be_cancelled(rig: Rig, serve: Serve, gate: Gate) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await gate.wait()

    server = serve(script)

    async def ask(transport: Transport) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(fetch, transport, get())
            await until(lambda: gate.reached)
            group.cancel_scope.cancel()
        gate.open()
        await wait_until_idle(server)

    rig.run(connection_to(server), ask)

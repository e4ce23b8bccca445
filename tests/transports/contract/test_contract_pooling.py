"""Connections are used again when they can be, and never when they must not be."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import pytest
from contract_scripts import HELLO, chunked, in_turn, responding, response_bytes, sending
from contract_server import Gate, Peer, Script, Server
from contract_transports import Rig, connection_to, fetch, fetch_once, get, post, wait_until_idle
from msgspec.structs import replace

import kubeproto as kp
from kubeproto import DeadlineExceeded, RawRequest, Transport, TransportError
from kubeproto.config import Connection
from kubeproto.wire import Retry, RetryPolicy, Safety, classify

Serve = Callable[..., Server]

SHORT: Final = 0.02


def test_a_connection_is_reused_for_ten_requests(rig: Rig, serve: Serve) -> None:
    server = serve(responding(response_bytes(), chunked(HELLO), response_bytes(b"")))

    async def send_five_pairs(transport: Transport) -> None:
        for _ in range(5):
            await fetch(transport, get())
            await fetch(transport, post())

    rig.run(connection_to(server), send_five_pairs)
    assert [request.connection for request in server.requests] == [0] * 10


@pytest.mark.parametrize(
    "data",
    [
        response_bytes(HELLO, ("Connection", "close")),
        response_bytes(length=False).replace(b"HTTP/1.1", b"HTTP/1.0"),
        response_bytes(HELLO).replace(b"HTTP/1.1", b"HTTP/1.0"),
    ],
    ids=["Connection: close", "HTTP 1.0", "HTTP 1.0 with a length"],
)
def test_a_connection_that_the_server_will_close_is_not_reused(rig: Rig, serve: Serve, data: bytes) -> None:
    server = serve(sending(data, then="close"))

    async def twice(transport: Transport) -> list[bytes]:
        return [(await fetch(transport, get())).body for _ in range(2)]

    assert rig.run(connection_to(server), twice) == [HELLO, HELLO]
    assert server.connections == 2


class TooLate(Exception):
    """An error of a check before sending."""


def too_late() -> None:
    raise TooLate


def test_a_request_whose_check_fails_is_not_sent(rig: Rig, serve: Serve) -> None:
    server = serve(responding(response_bytes()))

    async def four(transport: Transport) -> None:
        for _ in range(2):
            with pytest.raises(TooLate):
                await fetch(transport, replace(post(), check=too_late))
            await fetch(transport, get())

    rig.run(connection_to(server), four)
    assert [request.method for request in server.requests] == ["GET", "GET"]


def test_a_request_is_checked_when_it_has_a_connection(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(kp.ConnectError):
        fetch_once(rig, Connection(server=f"http://127.0.0.1:{port}"), replace(post(), check=too_late))


def test_two_concurrent_exchanges_have_two_connections(rig: Rig, serve: Serve) -> None:
    server = serve(responding(response_bytes()))

    async def nested(transport: Transport) -> None:
        async with transport.send(get()):
            await fetch(transport, get())

    rig.run(connection_to(server), nested)
    assert [request.connection for request in server.requests] == [0, 1]


def test_an_unread_response_immediately_closes_its_connection(rig: Rig, serve: Serve) -> None:
    server = serve(responding(chunked(HELLO, end=False)))

    async def leave(transport: Transport) -> None:
        async with transport.send(get()) as incoming:
            async for _ in incoming:
                break
        await wait_until_idle(server)  # while the transport is open
        await fetch_head(transport)
        await wait_until_idle(server)

    rig.run(connection_to(server), leave)
    assert server.connections == 2


async def fetch_head(transport: Transport) -> int:
    async with transport.send(get()) as incoming:
        return incoming.status


def test_an_error_of_the_caller_propagates_and_closes_the_connection(rig: Rig, serve: Serve) -> None:
    server = serve(responding(chunked(HELLO, end=False)))

    async def stumble(transport: Transport) -> None:
        async with transport.send(get()) as incoming:
            async for _ in incoming:
                raise ZeroDivisionError

    async def fail(transport: Transport) -> None:
        with pytest.raises(ZeroDivisionError):
            await stumble(transport)
        await wait_until_idle(server)

    rig.run(connection_to(server), fail)


def test_rq_33_after_a_timeout_the_connection_is_not_reused(rig: Rig, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response_bytes())
        if peer.number == 0:
            await peer.request()
            await peer.wait_closed()

    server = serve(script)

    async def thrice(transport: Transport) -> bytes:
        await fetch(transport, get("/1"))
        with pytest.raises(DeadlineExceeded):
            await fetch(transport, get("/2"), timeout=SHORT)
        return (await fetch(transport, get("/3"))).body

    assert rig.run(connection_to(server), thrice) == HELLO
    # If the time had expired before the second request was sent, the server has not received it.
    connections = {request.target: request.connection for request in server.requests}
    assert connections | {"/2": 0} == {"/1": 0, "/2": 0, "/3": 1}


def test_rq_22_the_body_of_each_retried_response_is_read_and_closed_once(rig: Rig, serve: Serve) -> None:
    busy = response_bytes(HELLO, ("Retry-After", "1"), status="429 Too Many Requests")
    server = serve(
        responding(
            busy, chunked(HELLO, headers=(("Retry-After", "1"),)).replace(b"200 OK", b"503 X"), busy, BOOK
        )
    )
    request = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "ConfigMap", "configmaps")).get("a")

    async def persevere(transport: Transport) -> list[float]:
        waits: list[float] = []
        while True:
            response = await fetch(transport, request)
            try:
                request.parse(response.status, response.headers, response.body)
            except kp.ApiError as error:
                decision = RetryPolicy().decide(Safety.READ, classify(error), len(waits) + 1, 0.0, jitter=0.0)
                assert isinstance(decision, Retry)
                waits.append(decision.at)
            else:
                return waits

    assert rig.run(connection_to(server), persevere) == [1.0, 1.0, 1.0]
    # An unread response would have closed its connection; an open response would still occupy it.
    assert [received.connection for received in server.requests] == [0, 0, 0, 0]


BOOK: Final = response_bytes(b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}')


def close_after_response(farewell: str) -> Script:
    """Respond once, read the second request, and close with this farewell."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response_bytes())
        await peer.request()
        await (peer.close() if farewell == "close" else peer.reset())

    return script


@pytest.mark.parametrize("farewell", ["close", "reset"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_rq_23_a_get_on_a_stale_connection_is_sent_again(
    rig: Rig, serve: Serve, method: str, farewell: str
) -> None:
    other = response_bytes(b"" if method == "HEAD" else HELLO)
    server = serve(in_turn(close_after_response(farewell), responding(other)))

    async def twice(transport: Transport) -> int:
        await fetch(transport, get("/1"))
        return (await fetch(transport, RawRequest(method, "/2"))).status

    assert rig.run(connection_to(server), twice) == 200
    assert [(request.target, request.connection) for request in server.requests] == [
        ("/1", 0),
        ("/2", 0),
        ("/2", 1),
    ]


@pytest.mark.parametrize("farewell", ["close", "reset"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_rq_23_a_write_on_a_stale_connection_is_not_sent_again(
    rig: Rig, serve: Serve, method: str, farewell: str
) -> None:
    server = serve(in_turn(close_after_response(farewell), responding(response_bytes())))

    async def twice(transport: Transport) -> None:
        await fetch(transport, get("/1"))
        with pytest.raises(TransportError):
            await fetch(transport, RawRequest(method, "/2", (), b"{}"))

    rig.run(connection_to(server), twice)
    assert [request.target for request in server.requests] == ["/1", "/2"]


def test_there_is_no_third_attempt(rig: Rig, serve: Serve) -> None:
    server = serve(in_turn(close_after_response("close"), sending(b"", then="close")))

    async def twice(transport: Transport) -> None:
        await fetch(transport, get("/1"))
        with pytest.raises(TransportError):
            await fetch(transport, get("/2"))

    rig.run(connection_to(server), twice)
    assert [request.target for request in server.requests] == ["/1", "/2", "/2"]


def test_a_get_on_a_fresh_connection_is_not_sent_twice(rig: Rig, serve: Serve) -> None:
    server = serve(sending(b"", then="close"))

    async def once(transport: Transport) -> None:
        with pytest.raises(TransportError):
            await fetch(transport, get())

    rig.run(connection_to(server), once)
    assert len(server.requests) == 1


def test_a_request_with_an_incomplete_response_is_not_sent_again(rig: Rig, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response_bytes())
        await peer.request()
        await peer.send(response_bytes()[:-3])
        await peer.close()

    server = serve(script)

    async def twice(transport: Transport) -> None:
        await fetch(transport, get())
        with pytest.raises(TransportError):
            await fetch(transport, get())

    rig.run(connection_to(server), twice)
    assert len(server.requests) == 2


@pytest.mark.parametrize("farewell", ["close", "reset", "408"])
@pytest.mark.parametrize("raw_request", [get("/2"), post(target="/2")], ids=["GET", "POST"])
def test_a_connection_that_was_closed_while_idle_is_not_used(
    rig: Rig, serve: Serve, gate: Gate, raw_request: RawRequest, farewell: str
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response_bytes())
        if peer.number:
            return
        await gate.wait()
        if farewell == "408":
            await peer.send(response_bytes(b"", status="408 Request Timeout"))
        await (peer.reset() if farewell == "reset" else peer.close())

    server = serve(script)

    async def twice(transport: Transport) -> bytes:
        await fetch(transport, get("/1"))
        gate.open()
        # The server's end closes before its script ends, so the client has received the close.
        await wait_until_idle(server)
        return (await fetch(transport, raw_request)).body

    assert rig.run(connection_to(server), twice) == HELLO
    assert [(request.target, request.connection) for request in server.requests] == [("/1", 0), ("/2", 1)]

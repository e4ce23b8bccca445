"""Each failure of a connection is reported by its own error: never connected, a lost connection, or a
timeout.
"""

from __future__ import annotations

import socket
import traceback
from collections.abc import Callable
from typing import Final

import pytest
from contract_scripts import HELLO, chunk, chunked, response_bytes, sending
from contract_secrets import SECRET, secret_variables
from contract_server import Gate, Peer, Script, Server
from contract_transports import Rig, connection_to, fetch_once, get, post

from kubeproto import ConnectError, DeadlineExceeded, KubeprotoError, RawRequest, Transport, TransportError
from kubeproto.config import Connection

Serve = Callable[..., Server]

# LONG is reached only by a defect. SHORT keeps a test quick that waits for it.
LONG: Final = 60.0
SHORT: Final = 0.02

HEAD: Final = response_bytes(length=False, body=b"")[:-2]  # without the empty line

STAGES: Final = {
    "before the first byte": b"",
    "in the head": HEAD[:20],
    "between two headers": HEAD,
    "after the head": response_bytes(HELLO)[: -len(HELLO)],
    "in the body": response_bytes(HELLO)[:-3],
    "in the size of a chunk": chunked(HELLO, end=False) + b"a",
    "in a chunk": chunked(HELLO, end=False) + b"ff\r\nabc",
    "between chunks": chunked(HELLO, end=False),
    "in the last chunk": chunked(HELLO)[:-2],
}


def test_a_port_without_a_listener_is_a_connect_error(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectError):
        fetch_once(rig, Connection(server=f"http://127.0.0.1:{port}"))


def test_an_unknown_host_is_a_connect_error(rig: Rig) -> None:
    with pytest.raises(ConnectError):
        fetch_once(rig, Connection(server="http://kubernetes.invalid"))


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_connection_is_lost(rig: Rig, serve: Serve, stage: str, end: str) -> None:
    server = serve(sending(STAGES[stage], then=end))
    with pytest.raises(TransportError) as raised:
        fetch_once(rig, server)
    # The request was sent, so the error is not a ConnectError, and no timeout was set.
    assert type(raised.value) is TransportError
    assert len(server.requests) == 1


@pytest.mark.parametrize("end", ["close", "reset"])
def test_data_before_a_lost_connection_is_returned(rig: Rig, serve: Serve, gate: Gate, end: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(chunked(HELLO, end=False))
        await gate.wait()
        await (peer.close() if end == "close" else peer.reset())

    pieces: list[bytes] = []

    async def watch(transport: Transport) -> None:
        async with transport.send(get()) as incoming:
            async for chunk in incoming:
                pieces.append(chunk)
                gate.open()

    with pytest.raises(TransportError):
        rig.run(connection_to(serve(script)), watch)
    assert pieces == [HELLO]


@pytest.mark.parametrize("stage", STAGES)
def test_a_server_that_falls_silent_times_out(rig: Rig, serve: Serve, stage: str) -> None:
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, serve(sending(STAGES[stage])), timeout=SHORT)


def flood(head: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head)
        while True:
            await peer.send(chunk(HELLO))

    return script


def test_a_body_that_never_ends_times_out(rig: Rig, serve: Serve) -> None:
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, serve(flood(chunked(end=False))), timeout=SHORT, idle=LONG)


@pytest.mark.parametrize("stage", ["after the head", "in the body", "in a chunk", "between chunks"])
def test_a_half_open_peer_times_out(rig: Rig, serve: Serve, stage: str) -> None:
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, serve(sending(STAGES[stage])), idle=SHORT)


@pytest.mark.parametrize("stage", ["before the first byte", "in the head"])
def test_a_server_that_is_silent_from_the_start_times_out(rig: Rig, serve: Serve, stage: str) -> None:
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, serve(sending(STAGES[stage])), idle=SHORT)


def test_a_deadline_that_is_not_reached_changes_nothing(rig: Rig, serve: Serve) -> None:
    assert fetch_once(rig, serve(sending(chunked(HELLO))), timeout=LONG, idle=LONG).body == HELLO


def respond_early(*, drained: bool) -> Script:
    async def script(peer: Peer) -> None:
        await peer.head()
        refusal = response_bytes(b"too large", ("Connection", "close"), status="413 Request Entity Too Large")
        await peer.send(refusal)
        if drained:
            await peer.wait_closed()
        else:
            await peer.close()

    return script


def test_a_response_before_the_body_was_read_is_a_response(rig: Rig, serve: Serve) -> None:
    response = fetch_once(rig, serve(respond_early(drained=True)), post(b"x" * 8_000_000), timeout=LONG)
    assert (response.status, response.body) == (413, b"too large")


def test_a_response_to_an_unread_small_body_is_a_response(rig: Rig, serve: Serve) -> None:
    # The kernel of the server responds to the unread body with a reset, which may overtake the response.
    try:
        response = fetch_once(rig, serve(respond_early(drained=False)), post(b"{}"))
    except TransportError:
        return
    assert response.status == 413


FATES: Final = {
    "cut before": sending(b"", then="close"),
    "cut within": sending(STAGES["in the body"], then="close"),
    "silent before": sending(b""),
    "silent within": sending(STAGES["in the body"]),
    "garbage": sending(HEAD + b"Set-Cookie hunter2\r\n\r\n"),
    "more garbage": sending(b"hunter2\r\n\r\n"),
}


@pytest.mark.parametrize("fate", FATES)
def test_no_error_contains_a_secret(rig: Rig, serve: Serve, fate: str) -> None:
    request = RawRequest("GET", f"/api?private={SECRET}", (("Authorization", f"Bearer {SECRET}"),))
    with pytest.raises(KubeprotoError) as raised:
        fetch_once(rig, serve(FATES[fate]), request, timeout=LONG if "silent" not in fate else SHORT)
    assert "GET /api" in str(raised.value)
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert list(secret_variables(raised.value)) == []

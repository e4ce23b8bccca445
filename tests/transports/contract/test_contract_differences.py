"""The transports differ as the table states, and in nothing else."""

from __future__ import annotations

from collections.abc import Callable

from contract_differences import DIFFERENCES, DOTS, INTERIM, PIECES, UNREAD, table
from contract_scripts import HELLO, chunked, responding, response_bytes
from contract_server import Gate, Peer, Server
from contract_transports import Rig, fetch_once, get, post

from kubeproto import KubeprotoError, RawRequest

Serve = Callable[..., Server]


def outcome(
    rig: Rig, server: Server, request: RawRequest, good: Callable[[bytes], str], timeout: float | None = None
) -> str:
    """Return the result in the words of the table: the value of `good` for a response, or the error."""
    try:
        return good(fetch_once(rig, server, request, timeout=timeout).body)
    except KubeprotoError as error:
        return f"`{type(error).__name__}`"


def test_short_chunks_are_returned_as_the_table_states(rig: Rig, serve: Serve) -> None:
    server = serve(responding(chunked(*[HELLO] * 20)))
    count = len(fetch_once(rig, server).pieces)
    assert {1: "one piece", 20: "twenty pieces"}[count] == PIECES.of(rig.label)


def test_unusual_targets_are_treated_as_the_table_states(rig: Rig, serve: Serve) -> None:
    for target in ("/a/../b", '/a?b="c"'):
        server = serve(responding(response_bytes()))
        result = outcome(rig, server, get(target), lambda _: "goes out as it is")
        assert result == DOTS.of(rig.label)
        assert [request.target for request in server.requests] in ([], [target])


def test_many_interim_responses_are_treated_as_the_table_states(rig: Rig, serve: Serve) -> None:
    server = serve(responding(b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + response_bytes()))
    assert outcome(rig, server, get(), lambda _: "are passed over") == INTERIM.of(rig.label)


def test_an_unread_request_body_is_treated_as_the_table_states(rig: Rig, serve: Serve, gate: Gate) -> None:
    async def script(peer: Peer) -> None:
        await peer.head()
        peer.transport.pause_reading()
        await peer.send(response_bytes())
        await gate.wait()
        peer.transport.resume_reading()

    expected = UNREAD.of(rig.label)
    # Nothing limits the time for reading the response.
    timeout = 0.3 if "Deadline" in expected else 60.0
    result = outcome(
        rig, serve(script), post(b"x" * 30_000_000), lambda _: "the response is read", timeout=timeout
    )
    gate.open()
    assert result == expected


def test_the_table_has_only_differences() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + sum(len(set(row[1:])) > 1 for row in DIFFERENCES)
    assert {line.count("|") for line in lines} == {6}

"""Hostile servers that drip, flood and lie: every transport stops in time, and limits its memory."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from contract_certificates import Certificates, context
from contract_scripts import HELLO, chunk, chunked, dripping, flooding, response_bytes, sending
from contract_server import Peer, Script, Server
from contract_transports import Rig, connection_to, fetch_once

from kubeproto import DeadlineExceeded, RemoteProtocolError

Serve = Callable[..., Server]

IDLE: Final = 0.15
LONG: Final = 60.0
HEAD: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"


def drip_slowly(front: bytes, data: bytes) -> Script:
    """Send these bytes, and then some bytes each 20 ms: such a server consumes the client's time."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(front)
        for _ in range(250):
            await asyncio.sleep(0.02)
            await peer.send(data)
        # A client that ignores its deadline meets a lost connection.
        await peer.close()

    return script


def flood(front: bytes, data: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(front)
        while True:
            await peer.send(data)

    return script


DRIPS: Final = {
    "the head": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
    "the size of a chunk": (HEAD + b"\r\n5;", b"a"),
    "trailers": (HEAD + b"\r\n0\r\nX-Slow: ", b"a"),
}


@pytest.mark.parametrize("limit", ["idle", "timeout"])
@pytest.mark.parametrize("case", DRIPS)
def test_single_bytes_do_not_extend_a_deadline(rig: Rig, serve: Serve, case: str, limit: str) -> None:
    server = serve(drip_slowly(*DRIPS[case]))
    idle, timeout = (IDLE, None) if limit == "idle" else (None, IDLE)
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, server, idle=idle, timeout=timeout)


def test_single_tls_records_do_not_extend_a_deadline(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(drip_slowly(*DRIPS["the head"]), context(certificates.server))
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, connection_to(server, ca=certificates.trusted), idle=IDLE)


def test_a_body_sent_byte_by_byte_times_out(rig: Rig, serve: Serve) -> None:
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, serve(drip_slowly(HEAD + b"\r\n", chunk(b"a"))), timeout=IDLE, idle=LONG)


FLOODS: Final = {
    "interim responses": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "interim responses with headers": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "a header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"a" * 1000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-Many: a\r\n" * 100),
    "the size of a chunk": (HEAD + b"\r\n", b"0" * 1000),
    "an extension of a chunk": (HEAD + b"\r\n1;", b"a" * 1000),
    "trailers": (HEAD + b"\r\n0\r\n", b"X-Many: a\r\n" * 100),
}


@pytest.mark.parametrize("case", FLOODS)
def test_endless_data_without_a_body_is_refused(rig: Rig, serve: Serve, case: str) -> None:
    with pytest.raises(RemoteProtocolError):
        fetch_once(rig, serve(flood(*FLOODS[case])), timeout=LONG)


LONG_HEAD: Final = response_bytes(HELLO, ("X-Long", "a" * 66_000))


@pytest.mark.parametrize("delivery", ["whole", "in pieces"])
def test_a_head_of_66_kb_is_refused_however_it_is_split(rig: Rig, serve: Serve, delivery: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        if delivery == "whole":
            await peer.send(LONG_HEAD)
        else:
            for start in range(0, len(LONG_HEAD), 1000):
                await peer.send(LONG_HEAD[start : start + 1000])
                await asyncio.sleep(0)

    with pytest.raises(RemoteProtocolError):
        fetch_once(rig, serve(script), timeout=LONG)


@pytest.mark.parametrize("delivery", ["whole", "byte by byte"])
@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\n\r\n", b"\r\n\n", b"\n\n"])
def test_a_head_ends_where_h11_ends_it(rig: Rig, serve: Serve, end: bytes, delivery: str) -> None:
    # A chunk of the body contains bytes that a reader would take for the usual end of the head.
    data = HEAD.rstrip(b"\r\n") + end + chunk(b"{}\r\n\r\n") + chunk(HELLO) + b"0\r\n\r\n"
    script = sending(data) if delivery == "whole" else dripping(data)
    assert fetch_once(rig, serve(script), timeout=LONG).body == b"{}\r\n\r\n" + HELLO


def test_eight_interim_responses_are_skipped(rig: Rig, serve: Serve) -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\n" * 8 + chunked(HELLO)
    assert fetch_once(rig, serve(sending(data)), timeout=LONG).body == HELLO


# A gzip member whose content is a thousand times larger.
BOMB: Final = gzip.compress(bytes(1 << 20))

CHILD_SCRIPT: Final = """
import sys
sys.path[:0] = {path!r}
from contract_clients import SMALL, with_client, get_moby
from contract_transports import ALL_RIGS, fetch_once
from kubeproto import KubeprotoError
from kubeproto.config import Connection
rig = next(rig for rig in ALL_RIGS if rig.label == {label!r})
print("ready", flush=True)
for request in sys.stdin.readline().split():
    complete, _, port = request.rpartition(":")
    server = Connection(server="http://localhost:" + port)
    try:
        if complete:
            with_client(rig, server, get_moby, limits=SMALL)
        else:
            fetch_once(rig, server, timeout=60.0)
    except KubeprotoError as error:
        print(type(error).__name__, flush=True)
    else:
        print("complete", flush=True)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs procfs")
def test_no_flood_takes_memory(rig: Rig, serve: Serve) -> None:
    code = CHILD_SCRIPT.format(path=[*sys.path], label=rig.label)
    servers = [serve(flood(*arguments)) for arguments in FLOODS.values()]
    bodies = {
        "Forbidden": serve(flooding("403 Forbidden", b"no", b"x" * 65_536)),
        "ResponseTooLarge": serve(flooding("200 OK", b"{", b" " * 65_536)),
        "RemoteProtocolError": serve(sending(response_bytes(BOMB * 200, ("Content-Encoding", "gzip")))),
    }
    requests = [
        *(f"{server.port}" for server in servers),
        *(f"complete:{server.port}" for server in bodies.values()),
    ]
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        initial_peak = _peak(child.pid)
        child.stdin.write(" ".join(requests) + "\n")
        child.stdin.flush()
        outcomes = [child.stdout.readline().strip() for _ in requests]
        assert child.stdout.readline() == "done\n"
        grown = _peak(child.pid) - initial_peak
        child.stdin.write("\n")
    assert outcomes == ["RemoteProtocolError"] * len(servers) + [*bodies]
    # The limit allows for imports and for opening a connection; a flood would need gigabytes.
    assert grown < 64 << 20


def _peak(pid: int) -> int:
    """Return the peak memory of a process as the kernel counts it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))

"""What reaches a program of a busy watch: through a socket, a transport and the decoder, to a loop.

The server is a process of its own and writes one chunk an event. The baseline is lightkube's own client;
beside it stands a plain socket whose chunks are cut out by hand and read by `json.loads`.
"""

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal

import trio

import kubeproto as kp
from benchmarks._live_server import Address, live_server
from benchmarks._measure import Contest, Probe, late
from benchmarks._rows import EVENTS_PER_SECOND, Goal, Row, Setting
from benchmarks._stopwatch import Stopwatch
from benchmarks.rows.decode import Book
from kubeproto import Api, BlockingTransport, Transport
from kubeproto.config import Connection
from kubeproto.kinds.core_v1 import Pod
from kubeproto_asyncio import AsyncioTransport
from kubeproto_httpx import BlockingHttpxTransport, HttpxTransport
from kubeproto_trio import TrioTransport

SEED: Final = 7
Kind = Literal["pods", "crs"]
Watch = Callable[[Connection, Any], int]
"""Watches once, over a new connection, and counts the events that it reached."""


async def over(transport: Transport, api: Api[Any]) -> int:
    """Watch until the server ends it."""
    request, count = api.watch(), 0
    async with transport.send(request, idle=60) as incoming:
        decoder = request.open(incoming.status, incoming.headers)
        async for chunk in incoming:
            for _ in decoder.feed(chunk):
                count += 1
    return count + len(decoder.finish())


def over_blocking(transport: BlockingTransport, api: Api[Any]) -> int:
    """The same, in a thread."""
    request, count = api.watch(), 0
    with transport.send(request, idle=60) as incoming:
        decoder = request.open(incoming.status, incoming.headers)
        for chunk in incoming:
            for _ in decoder.feed(chunk):
                count += 1
    return count + len(decoder.finish())


def on_trio(connection: Connection, api: Any) -> int:
    async def main() -> int:
        async with TrioTransport(connection) as transport:
            return await over(transport, api)

    return trio.run(main)


def on_asyncio(make: type[AsyncioTransport] | type[HttpxTransport], connection: Connection, api: Any) -> int:
    async def main() -> int:
        async with make(connection) as transport:
            return await over(transport, api)

    return asyncio.run(main())


def blocking(connection: Connection, api: Any) -> int:
    with BlockingHttpxTransport(connection) as transport:
        return over_blocking(transport, api)


def by_hand(address: Address) -> int:
    """What a program does that knows nothing but HTTP and JSON."""
    host, port = address.url.rpartition("/")[2].split(":")
    with socket.create_connection((host, int(port))) as plain:
        secure = ssl.create_default_context(cadata=address.ca).wrap_socket if address.ca else None
        with secure(plain, server_hostname=host) if secure else plain as line, line.makefile("rb") as file:
            line.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            while file.readline() != b"\r\n":
                pass
            count = 0
            while size := int(file.readline(), 16):
                json.loads(file.read(size))
                file.readline()
                count += 1
            return count


def contest(setting: Setting, kind: Kind, watch: Watch, *, tls: bool) -> Contest:
    """Ours against lightkube, a plain socket in the same rounds; events a second."""
    events = setting.size(10_000, quick=2_000) if kind == "pods" else setting.size(60_000, quick=10_000)
    address = setting.keep(live_server(kind, events, SEED, tls=tls))
    connection = Connection(server=address.url, ca=address.ca.encode())
    api: Api[Any] = kp.Api(Pod, namespace="default") if kind == "pods" else kp.Api(Book, namespace="default")

    def lightkube() -> Probe:
        options = {"kind": kind, "events": events, "url": address.url}
        peer = setting.keep(setting.peers.start("lightkube", "benchmarks.peers.lightkube_live", options))
        return lambda: events / peer.round(events)

    return Contest(
        ours=rate(partial(watch, connection, api), events),
        baseline=late(lightkube),
        peers={"a plain socket and json.loads": rate(partial(by_hand, address), events)},
    )


def rate(run: Callable[[], int], events: int) -> Probe:
    """A probe of events a second, for a run that meets every event."""
    if (met := run()) != events:
        raise ValueError(f"a run met {met} events, not {events}: its speed would mean nothing")
    stopwatch = Stopwatch(run, clock=time.perf_counter)
    return lambda: events / stopwatch()


WATCHES: Final[dict[str, Watch]] = {
    "trio": on_trio,
    "asyncio": partial(on_asyncio, AsyncioTransport),
    "httpx": partial(on_asyncio, HttpxTransport),
    "httpx_sync": blocking,
}

# How many times faster than lightkube, on pods and on custom resources.
GOALS: Final[dict[str, dict[Kind, float]]] = {
    "trio": {"pods": 5, "crs": 4},
    "asyncio": {"pods": 5, "crs": 4},
    "httpx": {"pods": 2.5, "crs": 1.2},
    "httpx_sync": {"pods": 2.5, "crs": 1.2},
}
KINDS: Final[tuple[Kind, ...]] = ("pods", "crs")


def _row(name: str, kind: Kind, *, tls: bool) -> Row:
    what = "pods" if kind == "pods" else "custom resources"
    return Row(
        f"live.{kind}.{name}{'.tls' if tls else ''}",
        EVENTS_PER_SECOND,
        partial(contest, kind=kind, watch=WATCHES[name], tls=tls),
        says=f"a watch of {what} through {name}{' over TLS' if tls else ''}",
        against="lightkube",
        goal=Goal(at_least=GOALS[name][kind]),
    )


ROWS: Final = tuple(_row(name, kind, tls=tls) for kind in KINDS for name in WATCHES for tls in (False, True))

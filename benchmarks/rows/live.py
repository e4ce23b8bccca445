"""A busy watch from a socket through transport and decoder to a loop.

The server is a separate process and writes a chunk for each event. The baseline is lightkube's own
client; another contender is a plain socket whose chunks are parsed by hand and read by `json.loads`.
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
from benchmarks._contenders import FunctionProbe, Peer, kubeconfig, omitted_peer, share
from benchmarks._live_server import Address, live_server
from benchmarks._measure import Contest, Probe
from benchmarks._readers import Book
from benchmarks._rows import EVENTS_PER_SECOND, Goal, Row, Setting
from kubeproto import Api, BlockingTransport, Transport
from kubeproto.config import Connection
from kubeproto.kinds.core_v1 import Pod
from kubeproto_asyncio import AsyncioTransport
from kubeproto_httpx import BlockingHttpxTransport, HttpxTransport
from kubeproto_trio import TrioTransport

SEED: Final = 7
CONNECTIONS: Final = 100
Kind = Literal["pods", "crs"]
# Number of events of a watch, also in a quick run; a hundred connections share MORE times as many.
COUNTS: Final[dict[Kind, tuple[int, int]]] = {"pods": (5_000, 1_000), "crs": (20_000, 4_000)}
MORE: Final = 2
Watch = Callable[[Connection, Any], int]
"""Watches once, over a new connection, and counts the events that it reached."""


async def count_watch_events(transport: Transport, api: Api[Any]) -> int:
    """Count the events of a watch until the server ends it."""
    request, count = api.watch(), 0
    async with transport.send(request, idle=60) as incoming:
        decoder = request.open(incoming.status, incoming.headers)
        async for chunk in incoming:
            for _ in decoder.feed(chunk):
                count += 1
    return count + len(decoder.finish())


def watch_over_blocking(transport: BlockingTransport, api: Api[Any]) -> int:
    """Watch in a thread until the server ends it."""
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
            return await count_watch_events(transport, api)

    return trio.run(main)


def on_asyncio(make: type[AsyncioTransport] | type[HttpxTransport], connection: Connection, api: Any) -> int:
    async def main() -> int:
        async with make(connection) as transport:
            return await count_watch_events(transport, api)

    return asyncio.run(main())


def blocking(connection: Connection, api: Any) -> int:
    with BlockingHttpxTransport(connection) as transport:
        return watch_over_blocking(transport, api)


def watch_by_socket(address: Address) -> int:
    """Watch with only HTTP and JSON."""
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


# Contenders besides lightkube in the rows of asyncio: the other clients have no watch of such kinds.
OTHERS: Final[dict[Kind, dict[str, str]]] = {
    "pods": {
        "client-go": "client_go",
        "kube-rs": "kube_rs",
        "kubernetes": "kubernetes",
        "pykube-ng": "pykube_ng",
    },
    "crs": {"client-go": "client_go", "kube-rs": "kube_rs", "pykube-ng": "pykube_ng"},
}


SLOWLY: Final = ("kubernetes", "pykube_ng")  # a quick run measures them only without TLS


def contest(
    setting: Setting, kind: Kind, watch: Watch, *, tls: bool, gzip: bool = False, everybody: bool = False
) -> Contest:
    """Compare kubeproto with lightkube and a plain socket in the same rounds, in events per second."""
    events = setting.size(*COUNTS[kind])
    address = setting.enter_context(live_server(kind, events, SEED, tls=tls, gzip=gzip))
    connection = Connection(server=address.url, ca=address.ca.encode())
    api: Api[Any] = kp.Api(Pod, namespace="default") if kind == "pods" else kp.Api(Book, namespace="default")
    file = setting.enter_context(kubeconfig(address.url, address.ca))
    names = {"lightkube": "lightkube", **(OTHERS[kind] if everybody else {})}

    def figure(met: int, reply: Any) -> float:
        return met / float(reply["seconds"])

    rivals: dict[str, Probe] = {}
    for label, name in names.items():
        if setting.quick and tls and name in SLOWLY:
            rivals[label] = omitted_peer
            continue
        some = share(name, events)  # a client that needs fewer ends its watch early
        rivals[label] = Peer(
            setting, name, "live", some, partial(figure, some),
            kind=kind, events=some, url=address.url, ca=address.ca, kubeconfig=str(file),
        )  # fmt: skip
    if not gzip:
        rivals["a plain socket and json.loads"] = rate(partial(watch_by_socket, address), events)
    return Contest(
        ours=rate(partial(watch, connection, api), events), baseline=rivals.pop("lightkube"), peers=rivals
    )


def connections(setting: Setting, kind: Kind) -> Contest:
    """Compare a hundred concurrent watches with a single watch of the same number of events."""
    events = setting.size(*(MORE * count for count in COUNTS[kind]))
    server = setting.enter_context(live_server(kind, events, SEED, tls=False))
    many = setting.enter_context(live_server(kind, events // CONNECTIONS, SEED, tls=False))
    api: Api[Any] = kp.Api(Pod, namespace="default") if kind == "pods" else kp.Api(Book, namespace="default")

    def all_at_once() -> int:
        async def main() -> int:
            async with AsyncioTransport(Connection(server=many.url)) as transport:
                return sum(
                    await asyncio.gather(*(count_watch_events(transport, api) for _ in range(CONNECTIONS)))
                )

        return asyncio.run(main())

    alone = partial(on_asyncio, AsyncioTransport, Connection(server=server.url), api)
    return Contest(ours=rate(all_at_once, events), baseline=rate(alone, events))


def rate(run: Callable[[], int], events: int) -> FunctionProbe:
    """Return a probe of events a second for a run that receives every event."""
    return FunctionProbe(run, events, lambda seconds: events / seconds, clock=time.perf_counter)


WATCHES: Final[dict[str, Watch]] = {
    "trio": on_trio,
    "asyncio": partial(on_asyncio, AsyncioTransport),
    "httpx": partial(on_asyncio, HttpxTransport),
    "httpx_sync": blocking,
}

# Goals: the factor over lightkube, on pods and on custom resources.
GOALS: Final[dict[str, dict[Kind, float]]] = {
    "trio": {"pods": 5, "crs": 4},
    "asyncio": {"pods": 5, "crs": 4},
    "httpx": {"pods": 2.5, "crs": 1.2},
    "httpx_sync": {"pods": 2.5, "crs": 1.2},
}
KINDS: Final[tuple[Kind, ...]] = ("pods", "crs")


def _row(name: str, kind: Kind, *, tls: bool) -> Row:
    objects = "pods" if kind == "pods" else "custom resources"
    return Row(
        f"live.{kind}.{name}{'.tls' if tls else ''}",
        EVENTS_PER_SECOND,
        partial(contest, kind=kind, watch=WATCHES[name], tls=tls, everybody=name == "asyncio"),
        summary=f"a watch of {objects} through {name}{' over TLS' if tls else ''}, one chunk an event",
        against="lightkube",
        goal=Goal(at_least=GOALS[name][kind]),
        limit=f"limits.{kind}.socket",
    )


def _detail_rows(kind: Kind) -> tuple[Row, ...]:
    objects = "pods" if kind == "pods" else "custom resources"
    return (
        Row(
            f"live.{kind}.asyncio.gzip", EVENTS_PER_SECOND,
            partial(contest, kind=kind, watch=WATCHES["asyncio"], tls=False, gzip=True),
            summary=f"a watch of {objects} through asyncio, compressed, flushed after each event",
            against="lightkube",
        ),
        Row(
            f"live.{kind}.asyncio.connections", EVENTS_PER_SECOND, partial(connections, kind=kind),
            summary=f"{CONNECTIONS} watches of {objects} at once through asyncio",
            against="one watch of as many events",
        ),
    )  # fmt: skip


ROWS: Final = (
    *(_row(name, kind, tls=tls) for kind in KINDS for name in WATCHES for tls in (False, True)),
    *_detail_rows("pods"),
    *_detail_rows("crs"),
)

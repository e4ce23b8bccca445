"""The simulated API server in this process: writes, deliveries to watches, and many objects.

Each write is a request that is routed, decoded, checked, stored and recorded in managedFields.
"""

import gc
import tracemalloc
from typing import Final

import msgspec

import kubeproto_sim as sim
from benchmarks._measure import Contest, Further
from benchmarks._rows import EVENTS_PER_SECOND, SECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Stopwatch
from kubeproto.wire import RawRequest

CONFIGMAPS: Final = "/api/v1/namespaces/default/configmaps"
HEADERS: Final = (("Content-Type", "application/json"), ("User-Agent", "bench/1.0"))
WATCHERS: Final = 100
BURST: Final = 20


def config_map(number: int, version: int, size: int = 1) -> bytes:
    """Return a ConfigMap as a client writes it."""
    name, data = f"a{number:06}", {"version": str(version), "text": "x" * size}
    return msgspec.json.encode({"metadata": {"name": name, "labels": {"app": "bench"}}, "data": data})


def creation_requests(count: int, size: int = 1) -> list[RawRequest]:
    """Return requests that create objects."""
    return [RawRequest("POST", CONFIGMAPS, HEADERS, config_map(number, 0, size)) for number in range(count)]


def replacement_requests(count: int, version: int) -> list[RawRequest]:
    """Return requests that replace the objects of `creation_requests`."""
    return [
        RawRequest("PUT", f"{CONFIGMAPS}/a{number:06}", HEADERS, config_map(number, version))
        for number in range(count)
    ]


def cluster() -> sim.Cluster:
    """Return a cluster without a log, since a log of a million requests is not measured."""
    new_cluster = sim.Cluster()
    new_cluster.keeps_log = False
    return new_cluster


def send(to: sim.Cluster, requests: list[RawRequest]) -> None:
    """Send requests that must succeed."""
    for request in requests:
        if to.respond(request).status >= 300:
            raise ValueError(f"{request} was refused: the figure would mean nothing")


def writes(setting: Setting) -> Contest:
    """Measure equal numbers of creations and replacements."""
    count = setting.size(5_000, quick=1_000)
    created, replaced = creation_requests(count), replacement_requests(count, 1)

    def run() -> None:
        fresh = cluster()
        send(fresh, created)
        send(fresh, replaced)

    stopwatch = Stopwatch(run)
    return Contest(ours=lambda: 2 * count / stopwatch())


def deliveries(setting: Setting) -> Contest:
    """Measure a hundred watches that are read after every twentieth write, writes included."""
    count = setting.size(2_000, quick=400)
    created = creation_requests(count)

    def run() -> None:
        fresh = cluster()
        target = f"{CONFIGMAPS}?watch=true&resourceVersion={fresh.version}"
        streams = [fresh.respond(RawRequest("GET", target)).body for _ in range(WATCHERS)]
        lines = 0
        for start in range(0, count, BURST):
            send(fresh, created[start : start + BURST])
            for stream in streams:
                if isinstance(stream, bytes):
                    raise TypeError("a watch was answered with a whole body")
                lines += stream.take().count(b"\n")
        if lines != count * WATCHERS:
            raise ValueError(f"{lines} events came, not {count * WATCHERS}: the figure would mean nothing")

    stopwatch = Stopwatch(run)
    return Contest(ours=lambda: count * WATCHERS / stopwatch())


def load(setting: Setting) -> Contest:
    """Measure the creation of a hundred thousand objects with 1 KB of text, fewer in a quick run."""
    count = setting.size(100_000, quick=10_000)
    created = creation_requests(count, size=1_000)

    def run() -> None:
        send(cluster(), created)

    stopwatch = Stopwatch(run)
    return Contest(ours=lambda: stopwatch() * 100_000 / count, also=lambda: memory(count))


def memory(count: int) -> Further:
    """Measure the memory of an object besides its JSON."""
    some = creation_requests(min(count, 10_000), size=1_000)
    clusters = cluster()
    gc.collect()
    tracemalloc.start()
    try:
        send(clusters, some)
        gc.collect()
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    answer = clusters.respond(RawRequest("GET", CONFIGMAPS)).body
    if not isinstance(answer, bytes):
        raise TypeError("a list was answered with a stream")
    return {"bytes an object": {"beyond its JSON": (allocated - len(answer)) / len(some)}}


ROWS: Final = (
    Row(
        "sim.writes",
        EVENTS_PER_SECOND,
        writes,
        summary="ConfigMaps created and replaced through whole requests",
        goal=Goal(at_least=20_000, of="ours"),
    ),
    Row(
        "sim.deliveries",
        EVENTS_PER_SECOND,
        deliveries,
        summary="events that 100 watchers take, the writes included",
        goal=Goal(at_least=500_000, of="ours"),
    ),
    Row(
        "sim.load",
        SECONDS,
        load,
        summary="100,000 objects of 1.3 KB created through whole requests",
        goal=Goal(at_most=10.0, of="ours", summary="and at most 4 KB each beyond their JSON"),
    ),
)

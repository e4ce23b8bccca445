"""Growth of a cache of metadata to a million objects: `python -m benchmarks.growth` writes the plot.

Each point is a separate process: a server that generates objects while it streams them, and a cache. The
cost of generating is measured and subtracted; seconds are CPU seconds. Memory is the growth of the process.
"""

import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import msgspec

import kubeproto as kp
from benchmarks._cached import metadata_of
from benchmarks._data import pods
from benchmarks._pins import PROJECT
from kubeproto.kinds.core_v1 import Pod
from kubeproto.wire import Headers, RawRequest
from kubeproto_runtime import Caches, Client

POINTS: Final = (100_000, 250_000, 500_000, 750_000, 1_000_000)
TARGET: Final = Path(__file__).parent / "results" / "cache-growth.svg"
_BATCH: Final = 64
_END: Final = (
    b'{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'
    b'{"resourceVersion":"900000000","annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class Point(msgspec.Struct, frozen=True):
    """The cost of this many objects."""

    objects: int
    seconds: float
    megabytes: float


class Stream:
    """A streaming list of `count` objects, 64 at a time, generated from a single object."""

    status = 200
    headers: Headers = (("Content-Type", "application/json"),)

    def __init__(self, count: int) -> None:
        self.count = count
        self.making = 0.0
        metadata = json.loads(metadata_of(pods(1))[0])["metadata"]
        text = metadata_of(pods(1))[0].replace(b"%", b"%%")
        for field, prefix_length in (("name", -7), ("uid", -7), ("resourceVersion", 1)):
            old = metadata[field]
            text = text.replace(
                b'"%b":"%b"' % (field.encode(), old.encode()),
                b'"%b":"%b%%07d"' % (field.encode(), old[:prefix_length].encode()),
                1,
            )
        self._line = b'{"type":"ADDED","object":%b}\n' % text

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = self._line
        for start in range(0, self.count, _BATCH):
            started = time.thread_time()
            chunk = b"".join([line % (n, n, n) for n in range(start, min(start + _BATCH, self.count))])
            self.making += time.thread_time() - started
            yield chunk
        yield _END


class Server:
    """A transport that responds to the first watch with the stream."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Stream]:
        yield self.stream


def memory_growth(baseline: int) -> int:
    """Return the growth of memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 - baseline


async def measure(count: int) -> Point:
    """Fill a cache with `count` objects."""
    stream = Stream(count)
    baseline = memory_growth(0)
    started = time.thread_time()
    async with Caches(Client(Server(stream))) as caches:
        cache = caches.cache(kp.Metadata[Pod])
        await cache.wait_synced()
        took = time.thread_time() - started - stream.making
        if len(cache) != count:
            raise ValueError(f"{len(cache)} objects have come, not {count}")
        return Point(count, round(took, 2), round(memory_growth(baseline) / 1e6, 1))


def point(count: int) -> Point:
    """Measure a point in a separate process."""
    command = [sys.executable, "-m", "benchmarks.growth", str(count)]
    output = subprocess.run(command, check=True, capture_output=True, cwd=PROJECT).stdout
    return msgspec.json.decode(output, type=Point)


def plot(points: Sequence[Point]) -> str:
    """Return the plot of both lines over the number of objects."""
    most = points[-1]
    lines = (("megabytes", most.megabytes, "#2563eb", "MB"), ("seconds", most.seconds, "#dc2626", "s"))
    elements: list[str] = []
    for row, (field, top, colour, unit) in enumerate(lines):
        base = 220 + row * 210
        spots = [(60 + 560 * p.objects / most.objects, base - 170 * getattr(p, field) / top) for p in points]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in [(60.0, float(base)), *spots])
        elements.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        elements.append(f'<path d="M60 {base - 175}V{base}H630" fill="none" stroke="#888"/>')
        for (x, y), p in zip(spots, points, strict=True):
            elements.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>')
            label = f"{getattr(p, field):g} {unit}"
            elements.append(f'<text x="{x:.0f}" y="{y - 8:.0f}" text-anchor="end">{label}</text>')
            elements.append(f'<text x="{x:.0f}" y="{base + 15}" text-anchor="middle">{p.objects:,}</text>')
    body = "\n".join(elements)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="680" height="460" font-family="sans-serif"'
        ' font-size="11">\n<rect width="680" height="460" fill="white"/>\n'
        '<text x="60" y="25" font-size="14">A cache of the metadata of pods: memory, and processor seconds'
        f" to fill it</text>\n{body}\n</svg>\n"
    )


def table(points: Sequence[Point]) -> str:
    """Return the figures as a table."""
    head = "| objects | seconds | MB | µs an object | KB an object |\n|--:|--:|--:|--:|--:|\n"
    return head + "".join(
        f"| {p.objects:,} | {p.seconds:g} | {p.megabytes:g} | {p.seconds / p.objects * 1e6:.1f}"
        f" | {p.megabytes / p.objects * 1e3:.2f} |\n"
        for p in points
    )


def main(arguments: Sequence[str]) -> None:
    if arguments:
        print(msgspec.json.encode(anyio.run(measure, int(arguments[0]))).decode())
        return
    points: list[Point] = []
    for count in POINTS:
        points.append(point(count))
        print(points[-1], flush=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(plot(points))
    TARGET.with_suffix(".md").write_text(table(points))
    print(table(points))


if __name__ == "__main__":
    main(sys.argv[1:])

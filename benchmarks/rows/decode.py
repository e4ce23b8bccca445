"""What it costs to read a watch, beside `json.loads` of each of its lines.

The rows to come, each a call of `watch` with what it reads: `decode.pods.metadata`, `decode.pods.view`,
`decode.pods.copy`, `decode.pods.strict`, `decode.pods.typed`, `decode.crs.lazy`, `decode.crs.typed`; and of
`page`: `list.pods.parse`, `list.pods.feed`.

Ours gets 64 KiB segments that are cut without regard to lines, and has to reach every event with a plain
loop. The baseline and lightkube get the lines already cut, which costs them nothing.
lightkube gets no bookmarks.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final, Literal

from benchmarks._data import books, list_page, pods, segments, watch_lines
from benchmarks._measure import Contest, Probe, late
from benchmarks._rows import Row, Setting
from benchmarks._stopwatch import Stopwatch

SEED: Final = 7
Kind = Literal["pods", "crs"]
Read = Callable[[Sequence[bytes]], int]
"""Reads the segments of a stream or a body, and counts the events or objects that it reached."""


def json_lines(lines: Sequence[bytes]) -> int:
    """The baseline of a watch: everybody's `json.loads`, a line at a time."""
    events = 0
    for line in lines:
        json.loads(line)
        events += 1
    return events


def json_page(body: bytes) -> int:
    """The baseline of a list: one `json.loads`, and a look at each item."""
    objects = 0
    for _ in json.loads(body)["items"]:
        objects += 1
    return objects


def watch(setting: Setting, kind: Kind, ours: Read) -> Contest:
    """Ours against `json.loads` a line, lightkube in the same rounds; objects a second, bookmarks aside."""
    count = setting.size(2_000, quick=400) if kind == "pods" else setting.size(20_000, quick=4_000)
    stream = watch_lines(pods(count, SEED) if kind == "pods" else books(count, SEED))
    pieces, lines = segments(stream), stream.splitlines()
    events = len(lines)

    def lightkube() -> Probe:
        options = {"kind": kind, "objects": count, "seed": SEED}
        peer = setting.keep(setting.peers.start("lightkube", "benchmarks.peers.lightkube_decode", options))
        return lambda: count / peer.round(count)

    return Contest(
        ours=rate(lambda: ours(pieces), count, events),
        baseline=rate(lambda: json_lines(lines), count, events),
        peers={"lightkube": late(lightkube)},
    )


def page(setting: Setting, ours: Read, *, cut: bool) -> Contest:
    """Ours against `json.loads` of a list of pods, whole or `cut` into segments; objects a second."""
    count = setting.size(10_000, quick=2_000)
    body = list_page(pods(count, SEED))
    pieces = segments(body) if cut else [body]
    return Contest(
        ours=rate(lambda: ours(pieces), count, count),
        baseline=rate(lambda: json_page(body), count, count),
    )


def rate(run: Callable[[], int], objects: int, events: int) -> Probe:
    """A probe of objects a second, for a run that meets every event: one that misses some is refused."""
    if (met := run()) != events:
        raise ValueError(f"a run met {met} events, not {events}: its speed would mean nothing")
    stopwatch = Stopwatch(run)
    return lambda: objects / stopwatch()


ROWS: Final[tuple[Row, ...]] = ()

"""What it costs to read a watch, beside `json.loads` a line, and a list, beside that of its body.

Ours gets 64 KiB segments that are cut without regard to lines, and has to reach every event with a plain
loop. The baseline and lightkube get the lines already cut, which costs them nothing.
lightkube gets no bookmarks.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Raw

import kubeproto as kp
from benchmarks._data import books, list_page, pods, segments, watch_lines
from benchmarks._measure import Contest, Probe, late
from benchmarks._rows import OBJECTS_PER_SECOND, Goal, Row, Setting
from benchmarks._stopwatch import Stopwatch
from kubeproto.kinds.core_v1 import Pod
from kubeproto.objects import encode
from kubeproto.watching import ListDecoder, WatchDecoder, read_page

SEED: Final = 7
Kind = Literal["pods", "crs"]
Read = Callable[[Sequence[bytes]], int]
"""Reads the segments of a stream or a body, and counts the events or objects that it reached."""


def json_lines(lines: Sequence[bytes]) -> int:
    """The baseline of a watch: everybody's `json.loads`, a line at a time."""
    count = 0
    for line in lines:
        json.loads(line)
        count += 1
    return count


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
    met = len(lines)

    def lightkube() -> Probe:
        options = {"kind": kind, "objects": count, "seed": SEED}
        peer = setting.keep(setting.peers.start("lightkube", "benchmarks.peers.lightkube_decode", options))
        return lambda: count / peer.round(count)

    return Contest(
        ours=rate(lambda: ours(pieces), count, met),
        baseline=rate(lambda: json_lines(lines), count, met),
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


class BookSpec(kp.Fields):
    title: str
    authors: list[str] = []
    pages: int | None = None


class BookStatus(kp.Fields):
    copies: int | None = None
    observed_generation: int | None = None
    phase: str | None = None


class Book(kp.Object[BookSpec, BookStatus], group="example.technosophos.com", version="v1"):
    """The custom resource that `benchmarks._data.books` makes."""


class RawPod(kp.KubeObject, version="v1", kind="Pod"):
    """A pod whose every byte is parsed and whose metadata is typed; the rest stays JSON."""

    spec: Raw
    status: Raw


def events(kind: type[kp.KubeObject], *, strict: bool = False) -> Read:
    """Read a watch and reach each event."""

    def read(pieces: Sequence[bytes]) -> int:
        decoder = WatchDecoder(kind, strict=strict)
        count = 0
        for piece in pieces:
            for _ in decoder.feed(piece):
                count += 1
        return count + len(decoder.finish())

    return read


def copies(pieces: Sequence[bytes]) -> int:
    """Read a watch and copy each object's own bytes out, as a store keeps them."""
    decoder = WatchDecoder(Pod)
    count = 0
    for piece in pieces:
        for event in decoder.feed(piece):
            if isinstance(event, kp.Added | kp.Modified | kp.Deleted):
                encode(event.object)
            count += 1
    return count + len(decoder.finish())


def parsed(pieces: Sequence[bytes]) -> int:
    """Read a page at once."""
    count = 0
    for _ in read_page(pieces[0], Pod):
        count += 1
    return count


def fed(pieces: Sequence[bytes]) -> int:
    """Read a page as it arrives."""
    decoder = ListDecoder(Pod)
    count = 0
    for piece in pieces:
        for _ in decoder.feed(piece):
            count += 1
    return count + len(decoder.finish())


def _watch_row(name: str, kind: Kind, read: Read, at_least: float, says: str) -> Row:
    return Row(
        name,
        OBJECTS_PER_SECOND,
        lambda setting: watch(setting, kind, read),
        says=says,
        against="json.loads a line",
        goal=Goal(at_least=at_least),
    )


def _page_row(name: str, read: Read, at_least: float, says: str, *, cut: bool) -> Row:
    return Row(
        name,
        OBJECTS_PER_SECOND,
        lambda setting: page(setting, read, cut=cut),
        says=says,
        against="json.loads of the page",
        goal=Goal(at_least=at_least),
    )


ROWS: Final = (
    _watch_row("decode.pods.metadata", "pods", events(kp.Metadata[Pod]), 20, "pods, metadata only"),
    _watch_row("decode.pods.view", "pods", events(Pod), 20, "pods, the rest a view into the segment"),
    _watch_row("decode.pods.copy", "pods", copies, 10, "pods, the bytes of each copied out"),
    _watch_row("decode.pods.strict", "pods", events(RawPod, strict=True), 5, "pods, every byte parsed"),
    _watch_row("decode.pods.typed", "pods", events(Pod, strict=True), 3, "pods, every field typed"),
    _watch_row("decode.crs.lazy", "crs", events(Book), 7, "custom resources of 660 B"),
    _watch_row("decode.crs.typed", "crs", events(Book, strict=True), 4, "custom resources, typed"),
    _page_row("list.pods.parse", parsed, 20, "10,000 pods in one body", cut=False),
    _page_row("list.pods.feed", fed, 15, "the same, as it arrives", cut=True),
)

"""What it costs to read a watch, beside `json.loads` a line, and a list, beside that of its body.

Ours gets 64 KiB segments that are cut without regard to lines, and has to reach every event with a plain
loop. The baseline and lightkube get the lines already cut, which costs them nothing.
lightkube gets no bookmarks.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

import kubeproto as kp
from benchmarks._contenders import Ours, Peer, peers
from benchmarks._data import books, list_page, pods, segments, watch_lines
from benchmarks._measure import Contest, Further, Probe
from benchmarks._rows import OBJECTS_PER_SECOND, Goal, Row, Setting
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


# What decodes a watch in Python. cloudcoil, kr8s, pykube-ng and the official clients make a dict first.
PYTHON: Final = {
    name: name
    for name in ("cloudcoil", "kr8s", "kubernetes", "kubernetes_asyncio", "kubesdk", "lightkube", "pykube_ng")
}


def watch(setting: Setting, kind: Kind, ours: Read, *, everybody: bool = False) -> Contest:
    """Ours against `json.loads` a line, lightkube or `everybody` in the same rounds; bookmarks aside."""
    count = setting.size(2_000, quick=400) if kind == "pods" else setting.size(20_000, quick=4_000)
    stream = watch_lines(pods(count, SEED) if kind == "pods" else books(count, SEED))
    pieces, lines = segments(stream), stream.splitlines()
    met = len(lines)

    def figure(answer: Any) -> float:
        return count / float(answer["seconds"])

    names = PYTHON if everybody else {"lightkube": "lightkube"}
    if kind == "crs":  # it types only kinds that stand in its models
        names = {label: name for label, name in names.items() if name != "kubesdk"}
    rivals = peers(setting, names, "decode", count, figure, kind=kind, objects=count, seed=SEED)
    if everybody:
        rivals |= compiled(setting, kind, count, figure)
    return Contest(
        ours=rate(lambda: ours(pieces), count, met),
        baseline=rate(lambda: json_lines(lines), count, met),
        peers=rivals,
    )


def compiled(setting: Setting, kind: Kind, count: int, figure: Callable[[Any], float]) -> dict[str, Probe]:
    """The peers in Go and Rust, which read the stream from a file: every field typed."""
    folder = Path(setting.keep(tempfile.TemporaryDirectory()))
    file = folder / "watch.json"
    file.write_bytes(watch_lines(pods(count, SEED) if kind == "pods" else books(count, SEED), bookmarks=0))
    made = peers(setting, {"kube-rs": "kube_rs"}, "decode", count, figure, kind=kind, file=str(file))
    if kind == "pods":
        for label, encoding in (("client-go, JSON", "json"), ("client-go, protobuf", "protobuf")):
            made[label] = Peer(setting, "client_go", "decode", count, figure, kind=encoding, file=str(file))
    return made


def touched(setting: Setting, kind: Kind, read: Callable[[Sequence[bytes], int], int]) -> Further:
    """Objects a second when 0, 10 or 100 of 100 objects are used: their labels, spec and status are read."""
    count = setting.size(2_000, quick=400) if kind == "pods" else setting.size(20_000, quick=4_000)
    stream = watch_lines(pods(count, SEED) if kind == "pods" else books(count, SEED))
    pieces, lines = segments(stream), stream.splitlines()
    base = rate(lambda: json_lines(lines), count, len(lines))()
    figures = {
        f"{share} %": rate(partial(read, pieces, share), count, len(lines))() for share in (0, 10, 100)
    }
    return {
        "objects/s when so many are touched": figures,
        "times json.loads when so many are touched": {name: one / base for name, one in figures.items()},
    }


def page(setting: Setting, ours: Read, *, cut: bool, everybody: bool = False) -> Contest:
    """Ours against `json.loads` of a list of pods, whole or `cut` into segments; objects a second."""
    count = setting.size(10_000, quick=2_000)
    body = list_page(pods(count, SEED))
    pieces = segments(body) if cut else [body]
    rivals: dict[str, Probe] = {}
    if everybody:
        folder = Path(setting.keep(tempfile.TemporaryDirectory()))
        (folder / "list.json").write_bytes(body)
        asked = (("client-go, JSON", "client_go", "json"), ("client-go, protobuf", "client_go", "protobuf"))
        for label, name, encoding in (*asked, ("kube-rs", "kube_rs", "json")):
            rivals[label] = Peer(
                setting, name, "list", count, lambda told: count / float(told["seconds"]),
                kind=encoding, file=str(folder / "list.json"),
            )  # fmt: skip
    return Contest(
        ours=rate(lambda: ours(pieces), count, count),
        baseline=rate(lambda: json_page(body), count, count),
        peers=rivals,
    )


def rate(run: Callable[[], int], objects: int, events: int) -> Ours:
    """A probe of objects a second, for a run that meets every event: one that misses some is refused."""
    return Ours(run, events, lambda seconds: objects / seconds)


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


def using(kind: type[kp.KubeObject]) -> Callable[[Sequence[bytes], int], int]:
    """Read a watch and use a share of its objects, in hundredths."""

    def read(pieces: Sequence[bytes], share: int) -> int:
        decoder: WatchDecoder[Any] = WatchDecoder(kind)
        count = due = 0
        for piece in pieces:
            for event in decoder.feed(piece):
                count += 1
                due += share
                if due >= 100 and isinstance(event, kp.Added | kp.Modified | kp.Deleted):
                    due -= 100
                    use(event.object)
        return count + len(decoder.finish())

    return read


def use(obj: Any) -> None:
    """Read what a program reads of an object: its labels, and its own parts where it has them."""
    _ = obj.metadata.labels
    for name in ("spec", "status"):
        getattr(obj, name, None)


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


def _watch_row(
    name: str, kind: Kind, read: Read, at_least: float, says: str, *, use: Any = None, everybody: bool = False
) -> Row:
    def make(setting: Setting) -> Contest:
        contest = watch(setting, kind, read, everybody=everybody)
        if use is None:
            return contest
        return msgspec.structs.replace(contest, also=lambda: touched(setting, kind, using(use)))

    return Row(
        name,
        OBJECTS_PER_SECOND,
        make,
        says=says,
        against="json.loads a line",
        goal=Goal(at_least=at_least),
        limit=f"limits.{kind}.msgspec",
    )


def _page_row(name: str, read: Read, at_least: float, says: str, *, cut: bool) -> Row:
    return Row(
        name,
        OBJECTS_PER_SECOND,
        lambda setting: page(setting, read, cut=cut, everybody=not cut),
        says=says,
        against="json.loads of the page",
        goal=Goal(at_least=at_least),
        limit="limits.pods.msgspec",
    )


ROWS: Final = (
    _watch_row(
        "decode.pods.metadata", "pods", events(kp.Metadata[Pod]), 20,
        "pods: metadata only, each part of it typed when it is read; the rest is skipped",
        use=kp.Metadata[Pod],
    ),
    _watch_row(
        "decode.pods.view", "pods", events(Pod), 20,
        "pods: name, namespace, uid and version are read, the rest is a view into the segment", use=Pod,
    ),
    _watch_row("decode.pods.copy", "pods", copies, 10, "pods, the bytes of each copied out and checked"),
    _watch_row(
        "decode.pods.strict", "pods", events(RawPod, strict=True), 5,
        "pods: every byte is parsed, spec and status stay JSON",
    ),
    _watch_row(
        "decode.pods.typed", "pods", events(Pod, strict=True), 3,
        "pods: every field of spec and status typed and checked, by everybody but kr8s and pykube-ng (dicts)"
        " and kubesdk (lazily)",
        everybody=True,
    ),
    _watch_row(
        "decode.crs.lazy", "crs", events(Book), 7,
        "custom resources of 660 B: every byte is looked at, name, namespace, uid and version are read",
        use=Book,
    ),
    _watch_row(
        "decode.crs.typed", "crs", events(Book, strict=True), 4,
        "custom resources, typed and checked; cloudcoil and kube-rs type them too, the others make dicts",
        everybody=True,
    ),
    _page_row("list.pods.parse", parsed, 20, "10,000 pods in one body", cut=False),
    _page_row("list.pods.feed", fed, 15, "the same, as it arrives", cut=True),
)  # fmt: skip

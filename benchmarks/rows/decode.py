"""The cost of reading a watch, compared with `json.loads` of each line, and a list, compared with its body.

kubeproto gets 64 KiB segments that are split without regard to lines, and must reach every event with a plain
loop. The baseline and lightkube get complete lines, so they have no cost of splitting. lightkube gets no
bookmarks.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

import kubeproto as kp
from benchmarks._contenders import FunctionProbe, Peer, omitted_peer, peers, share
from benchmarks._data import Kind, list_page, objects_of, pods, segments, watch_lines
from benchmarks._measure import Contest, Further, Probe
from benchmarks._readers import (
    Book,
    RawBook,
    RawConfigMap,
    RawPod,
    Read,
    copy_objects,
    events,
    feed_page,
    parse_page,
    use_share,
)
from benchmarks._rows import OBJECTS_PER_SECOND, Goal, Row, Setting
from kubeproto.kinds.core_v1 import ConfigMap, Pod

SEED: Final = 7
# Number of objects in a stream, also in a quick run.
COUNTS: Final[dict[Kind, tuple[int, int]]] = {
    "pods": (2_000, 400), "crs": (20_000, 4_000), "configmaps": (6_000, 1_200),
}  # fmt: skip


def json_lines(lines: Sequence[bytes]) -> int:
    """Return the baseline of a watch: `json.loads` of each line."""
    count = 0
    for line in lines:
        json.loads(line)
        count += 1
    return count


def json_page(body: bytes) -> int:
    """Return the baseline of a list: a `json.loads`, and a loop over the items."""
    objects = 0
    for _ in json.loads(body)["items"]:
        objects += 1
    return objects


# Clients that decode a watch in Python. cloudcoil, kr8s, pykube-ng and the official clients make a dict
# first.
PYTHON: Final = {
    name: name
    for name in ("cloudcoil", "kr8s", "kubernetes", "kubernetes_asyncio", "kubesdk", "lightkube", "pykube_ng")
}


QUICKLY: Final = ("lightkube",)  # clients that read other kinds than pods in a quick run too
RivalSet = Literal["nobody", "lightkube", "everybody"]
RIVALS: Final[dict[RivalSet, dict[str, str]]] = {
    "nobody": {}, "lightkube": {"lightkube": "lightkube"}, "everybody": PYTHON,
}  # fmt: skip


def stream(
    setting: Setting, kind: Kind, *, managed: bool = True, bookmarks: float = 0.02
) -> tuple[int, bytes]:
    """Return the number of objects of a row, and their watch."""
    count = setting.size(*COUNTS[kind])
    return count, watch_lines(objects_of(kind, count, SEED, managed=managed), bookmarks=bookmarks)


def watch(
    setting: Setting, kind: Kind, ours: Read, *, managed: bool = True, beside: RivalSet = "lightkube"
) -> Contest:
    """Compare kubeproto with `json.loads` of each line, and with others in the same rounds."""
    count, text = stream(setting, kind, managed=managed)
    pieces, lines = segments(text), text.splitlines()
    met = len(lines)

    def figure(met: int, answer: Any) -> float:
        return met / float(answer["seconds"])

    names = RIVALS[beside]
    if kind == "crs":  # it types only kinds of its models
        names = {label: name for label, name in names.items() if name != "kubesdk"}
    rivals: dict[str, Probe] = {}
    for label, name in names.items():
        if setting.quick and kind != "pods" and name not in QUICKLY:
            rivals[label] = omitted_peer
            continue
        some = share(name, count)
        rivals[label] = Peer(
            setting, name, "decode", some, partial(figure, some),
            kind=kind, objects=some, seed=SEED, managed=managed,
        )  # fmt: skip
    if beside == "everybody":
        rivals |= compiled(setting, kind, count, partial(figure, count), managed=managed)
    return Contest(
        ours=rate(lambda: ours(pieces), count, met),
        baseline=rate(lambda: json_lines(lines), count, met),
        peers=rivals,
    )


def compiled(
    setting: Setting, kind: Kind, count: int, figure: Callable[[Any], float], *, managed: bool
) -> dict[str, Probe]:
    """Return the peers in Go and Rust, which read the stream from a file and type every field."""
    folder = Path(setting.enter_context(tempfile.TemporaryDirectory()))
    file = folder / "watch.json"
    file.write_bytes(stream(setting, kind, managed=managed, bookmarks=0)[1])
    probes = peers(setting, {"kube-rs": "kube_rs"}, "decode", count, figure, kind=kind, file=str(file))
    if kind != "crs":
        for label, encoding in (("client-go, JSON", "json"), ("client-go, protobuf", "protobuf")):
            probes[label] = Peer(setting, "client_go", "decode", count, figure, kind=encoding, file=str(file))
    return probes


def used_parts(setting: Setting, kind: Kind, read: Callable[[Sequence[bytes], int], int]) -> Further:
    """Measure the objects a second when 0, 10 or 100 of 100 objects are used: their labels and main parts."""
    count, text = stream(setting, kind)
    pieces, lines = segments(text), text.splitlines()
    base = rate(lambda: json_lines(lines), count, len(lines))()
    figures = {
        f"{share} %": rate(partial(read, pieces, share), count, len(lines))() for share in (0, 10, 100)
    }
    return {
        "objects/s when so many are touched": figures,
        "times json.loads when so many are touched": {
            name: figure / base for name, figure in figures.items()
        },
    }


def page(setting: Setting, ours: Read, *, in_pieces: bool, everybody: bool = False) -> Contest:
    """Compare kubeproto with `json.loads` of a list of pods, complete or in segments."""
    count = setting.size(10_000, quick=2_000)
    body = list_page(pods(count, SEED))
    pieces = segments(body) if in_pieces else [body]
    rivals: dict[str, Probe] = {}
    if everybody:
        folder = Path(setting.enter_context(tempfile.TemporaryDirectory()))
        (folder / "list.json").write_bytes(body)
        variants = (
            ("client-go, JSON", "client_go", "json"),
            ("client-go, protobuf", "client_go", "protobuf"),
        )
        for label, name, encoding in (*variants, ("kube-rs", "kube_rs", "json")):
            rivals[label] = Peer(
                setting, name, "list", count, lambda reply: count / float(reply["seconds"]),
                kind=encoding, file=str(folder / "list.json"),
            )  # fmt: skip
    return Contest(
        ours=rate(lambda: ours(pieces), count, count),
        baseline=rate(lambda: json_page(body), count, count),
        peers=rivals,
    )


def rate(run: Callable[[], int], objects: int, events: int) -> FunctionProbe:
    """Return a probe of objects a second for a run that receives every event."""
    return FunctionProbe(run, events, lambda seconds: objects / seconds)


class Depth(msgspec.Struct, frozen=True):
    """How deeply objects are read: a reader for each kind, and the parts that are then used."""

    summary: str
    reads: Mapping[Kind, Read]
    used_classes: Mapping[Kind, type[kp.KubeObject]] = {}  # the parts that are used after lazy reading
    names: Mapping[Kind, str] = {}
    everybody: bool = False


_SIZES: Final[dict[Kind, tuple[str, str]]] = {  # with managed fields, and without
    "pods": ("pods of 5.8 KB", "pods of 4.2 KB, without managed fields"),
    "crs": ("custom resources of 660 B", "custom resources of 450 B, without managed fields"),
    "configmaps": ("ConfigMaps of 1.5 KB", "ConfigMaps of 1.3 KB, without managed fields"),
}
CLASSES: Final[dict[Kind, type[kp.KubeObject]]] = {"pods": Pod, "crs": Book, "configmaps": ConfigMap}
METADATA: Final[dict[Kind, type[kp.KubeObject]]] = {
    "pods": kp.Metadata[Pod], "crs": kp.Metadata[Book], "configmaps": kp.Metadata[ConfigMap],
}  # fmt: skip
RAW: Final[dict[Kind, type[kp.KubeObject]]] = {"pods": RawPod, "crs": RawBook, "configmaps": RawConfigMap}
KINDS: Final[tuple[Kind, ...]] = ("pods", "crs", "configmaps")


def objects_read(kind: Kind, *, managed: bool) -> str:
    """Return the description of the objects of a row."""
    return _SIZES[kind][0 if managed else 1]


DEPTHS: Final = {
    "metadata": Depth(
        "metadata only, each part of it typed when it is read; the rest is skipped",
        {kind: events(METADATA[kind]) for kind in KINDS}, METADATA,
    ),
    "view": Depth(
        "name, namespace, uid and version are read, the rest when it is used",
        {kind: events(CLASSES[kind]) for kind in KINDS}, CLASSES, {"crs": "lazy"},
    ),
    "copy": Depth(
        "the bytes of each copied out and checked", {kind: copy_objects(CLASSES[kind]) for kind in KINDS}
    ),
    "strict": Depth(
        "every byte is parsed, spec, status and data stay JSON",
        {kind: events(RAW[kind], strict=True) for kind in KINDS},
    ),
    "typed": Depth(
        "every field typed and checked; kr8s and pykube-ng make dicts, kubesdk types what is read, and of"
        " custom resources all but cloudcoil and kube-rs make dicts",
        {kind: events(CLASSES[kind], strict=True) for kind in KINDS},
        everybody=True,
    ),
}  # fmt: skip
# Most bytes of objects in Go's field order are skipped, so no parser is the limit.
SKIPPING: Final = ("metadata", "view")
GOALS: Final = {
    "decode.pods.metadata": 20.0,
    "decode.pods.view": 20.0,
    "decode.pods.copy": 10.0,
    "decode.pods.strict": 5.0,
    "decode.pods.typed": 3.0,
    "decode.crs.lazy": 7.0,
    "decode.crs.typed": 4.0,
}


def _watch_row(kind: Kind, depth_name: str, *, managed: bool) -> Row:
    depth, without = DEPTHS[depth_name], "" if managed else "unmanaged."
    name = f"decode.{kind}.{without}{depth.names.get(kind, depth_name)}"
    beside: RivalSet = "everybody" if depth.everybody else "lightkube" if managed else "nobody"

    def make(setting: Setting) -> Contest:
        rivals: RivalSet = "nobody" if setting.quick and not managed else beside
        contest = watch(setting, kind, depth.reads[kind], managed=managed, beside=rivals)
        if not managed or kind not in depth.used_classes:
            return contest
        return msgspec.structs.replace(
            contest, also=lambda: used_parts(setting, kind, use_share(depth.used_classes[kind]))
        )

    return Row(
        name,
        OBJECTS_PER_SECOND,
        make,
        summary=f"{objects_read(kind, managed=managed)}: {depth.summary}",
        against="json.loads a line",
        goal=Goal(at_least=GOALS[name]) if name in GOALS else None,
        limit=f"limits.{kind}.{without}{'memchr' if depth_name in SKIPPING and kind != 'crs' else 'msgspec'}",
    )


def _page_row(name: str, read: Read, at_least: float, summary: str, *, in_pieces: bool) -> Row:
    return Row(
        name,
        OBJECTS_PER_SECOND,
        lambda setting: page(setting, read, in_pieces=in_pieces, everybody=not in_pieces),
        summary=summary,
        against="json.loads of the page",
        goal=Goal(at_least=at_least),
        limit="limits.pods.msgspec",
    )


ROWS: Final = (
    *(
        _watch_row(kind, depth_name, managed=managed)
        for kind in KINDS
        for depth_name in DEPTHS
        for managed in (True, False)
    ),
    _page_row("list.pods.parse", parse_page, 20, "10,000 pods in one body", in_pieces=False),
    _page_row("list.pods.feed", feed_page, 15, "the same, as it arrives", in_pieces=True),
)

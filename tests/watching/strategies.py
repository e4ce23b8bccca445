"""Objects as servers write them, and as nobody should: shuffled, padded, full of what looks like a mark."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, Literal

from hypothesis import strategies as st

import kubeproto as kp

Draw = Callable[[st.SearchStrategy[Any]], Any]
Order = Literal["server", "sorted", "shuffled"]


class WidgetSpec(kp.Fields):
    title: str = ""
    template: dict[str, Any] = {}
    sizes: list[int] = []


class WidgetStatus(kp.Fields):
    phase: str | None = None
    conditions: list[dict[str, Any]] = []


class Widget(kp.Object[WidgetSpec, WidgetStatus], group="x.io", version="v1"):
    """A kind with a spec and a status."""


class Settings(kp.KubeObject, group="", version="v1", kind="ConfigMap", plural="configmaps"):
    """A kind of data alone."""

    data: dict[str, str] | None = None


class Realm(kp.Object[WidgetSpec, None], group="x.io", version="v1", namespaced=False):
    """A kind without namespaces, whose status nobody here reads."""


WIDGETS: Final = kp.Resource("x.io", "v1", "Widget", "widgets")
REALMS: Final = kp.Resource("x.io", "v1", "Realm", "realms", namespaced=False)

# What the front reader looks for, and what could make it look in the wrong place.
MARKS: Final = (
    ',"labels":{',
    ',"managedFields":[',
    '},"spec":',
    '}]}},"spec":{',
    '{"type":"ADDED","object":{"metadata":{"name":"forged"',
    '"}}}',
    '\\",\\"labels\\":{',
    "\\",
    '"',
)
# Keys that mean something elsewhere.
KEYS: Final = (
    "labels", "managedFields", "spec", "metadata", "name", "items", "object", "type", "-spec",
    "-labels", "a:b", "",
)  # fmt: skip

texts: Final[st.SearchStrategy[str]] = st.one_of(
    st.sampled_from(MARKS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(("größe-日本", "\U0001f980", "\x00\x1f", "\u2028\u0085", "x" * 70)),
)
json_values: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | texts, inner, max_size=3)
    ),
    max_leaves=8,
)
json_objects: Final[st.SearchStrategy[dict[str, Any]]] = st.dictionaries(
    st.sampled_from(KEYS) | texts, json_values, max_size=3
)

_managed: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {"manager": texts, "operation": st.just("Apply"), "fieldsV1": json_objects},
    optional={"subresource": texts, "time": st.just("2026-01-31T09:30:00Z")},
)
_owners: Final[dict[Any, Any]] = {"apiVersion": texts, "kind": texts, "name": texts, "uid": texts}
_metadata: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {
        "name": st.sampled_from(("a", "b.c", "größe")),
        "uid": st.just("60d80433-3682-4810-aa4b-84fb9698b320"),
        "resourceVersion": st.integers(1, 10**12).map(str),
    },
    optional={
        "generation": st.integers(0, 9),
        "creationTimestamp": st.just("2026-11-21T01:40:52Z"),
        "deletionTimestamp": st.just("2026-11-21T01:40:53Z"),
        "labels": st.dictionaries(texts, texts, max_size=2),
        "annotations": st.dictionaries(texts, texts, max_size=2),
        "ownerReferences": st.lists(st.fixed_dictionaries(_owners), max_size=2),
        "finalizers": st.lists(texts, max_size=2),
        "managedFields": st.lists(_managed, max_size=2),
        "unheardOf": json_values,
    },
)
_spec: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {},
    optional={
        "title": texts,
        "template": st.fixed_dictionaries({"metadata": _metadata, "spec": json_objects}),
        "sizes": st.lists(st.integers(-5, 5), max_size=3),
        "unheardOf": json_values,
    },
)
_status: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {}, optional={"phase": texts, "conditions": st.lists(json_objects, max_size=2)}
)


@st.composite
def objects(draw: Draw, kind: type[kp.KubeObject], *, whole: bool = False) -> dict[str, Any]:
    """An object that fits its kind; `whole`: its identity is complete."""
    metadata = draw(_metadata)
    if kind is not Realm:
        metadata["namespace"] = draw(st.sampled_from(("n", "kube-system")))
    if not whole:
        for gone in draw(st.sets(st.sampled_from(("uid", "resourceVersion", "namespace")), max_size=1)):
            metadata.pop(gone, None)
    obj: dict[str, Any] = {
        "kind": kind.resource.kind,
        "apiVersion": kind.resource.api_version,
        "metadata": metadata,
    }
    if kind is Settings:
        obj["data"] = draw(st.dictionaries(texts, texts, max_size=2))
    else:
        obj["spec"] = draw(_spec)
        if draw(st.booleans()):
            obj["status"] = draw(_status)
    if not whole:
        obj |= {f"x{key}": value for key, value in draw(json_objects).items()}
    return obj


_SERVER_ORDER: Final = (
    "kind", "apiVersion", "metadata", "name", "namespace", "uid", "resourceVersion", "generation",
    "creationTimestamp", "labels", "annotations", "ownerReferences", "finalizers", "managedFields",
    "spec", "status",
)  # fmt: skip


def _rank(key: str) -> tuple[int, str]:
    return (_SERVER_ORDER.index(key), "") if key in _SERVER_ORDER else (len(_SERVER_ORDER), key)


def written(draw: Draw, value: Any, order: Order, *, blanks: bool = False) -> str:
    """A JSON value as text, its keys in this order at every level."""
    gap = st.sampled_from(("", "", " ", "\t", " \r")) if blanks else st.just("")
    match value:
        case dict():
            keys: list[str] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if order == "shuffled":
                keys = draw(st.permutations(keys))
            else:
                keys = sorted(keys, key=_rank if order == "server" else None)
            members = ((key, written(draw, value[key], order, blanks=blanks)) for key in keys)
            pairs = (f"{draw(gap)}{_text(draw, key)}{draw(gap)}:{draw(gap)}{part}" for key, part in members)
            return f"{{{','.join(pairs)}{draw(gap)}}}"
        case list():
            parts = (written(draw, part, order, blanks=blanks) for part in value)  # pyright: ignore[reportUnknownVariableType]
            return f"[{f'{draw(gap)},'.join(parts)}{draw(gap)}]"
        case str():
            return _text(draw, value)
        case _:
            return json.dumps(value)


def _text(draw: Draw, text: str) -> str:
    return json.dumps(text, ensure_ascii=text.isascii() or draw(st.booleans()))


@st.composite
def lines(draw: Draw, kind: type[kp.KubeObject]) -> bytes:
    """A line of a watch with any object of this kind, in any order, short or long."""
    obj = draw(objects(kind))
    if draw(st.booleans()):
        pad = draw(st.sampled_from(("x", '"', "\\", "},"))) * 3_000
        part = obj["data"] if kind is Settings else obj["spec"]
        part["pad"] = pad
    order: Order = draw(st.sampled_from(("server", "sorted", "shuffled")))
    event = {"type": draw(st.sampled_from(("ADDED", "MODIFIED", "DELETED"))), "object": obj}
    if draw(st.booleans()):
        event["extra"] = draw(json_values)
    if draw(st.booleans()):
        event = dict(reversed(event.items()))
    blanks = draw(st.booleans())
    members = (f'"{key}":{written(draw, value, order, blanks=blanks)}' for key, value in event.items())
    return ("{" + ",".join(members) + "}").encode()


@st.composite
def cuts(draw: Draw, data: bytes) -> list[bytes]:
    """The data in pieces, cut anywhere."""
    ends = sorted({*draw(st.lists(st.integers(0, len(data)), max_size=8)), len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@st.composite
def mangled(draw: Draw, data: bytes) -> bytes:
    """The data with some bytes changed, cut out, doubled or put in. Line ends stay where they are."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(changed)))
        upto = min(len(changed), at + draw(st.integers(0, 12)))
        if b"\n" in changed[at:upto]:
            continue
        match draw(st.sampled_from(("cut", "double", "put"))):
            case "cut":
                del changed[at:upto]
            case "double":
                changed[at:at] = changed[at:upto]
            case _:
                piece = st.sampled_from(
                    (b'"', b"{", b"}", b"]", b",", b"\\", b"\x00", b"\xff", b"null", b":")
                )
                changed[at:upto] = draw(piece | st.binary(max_size=3).filter(lambda new: b"\n" not in new))
    return bytes(changed)

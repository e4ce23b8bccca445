"""Objects as servers write them, and in unusual forms: shuffled, padded, full of bytes that look like an
identity prefix.
"""

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
    """A kind without namespaces, whose status is never read."""


WIDGETS: Final = kp.Resource("x.io", "v1", "Widget", "widgets")
REALMS: Final = kp.Resource("x.io", "v1", "Realm", "realms", namespaced=False)

# The bytes for which the prefix reader searches, and strings that could mislead it.
PREFIX_LIKE: Final = (
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
# Keys that have a meaning elsewhere.
KEYS: Final = (
    "labels", "managedFields", "spec", "metadata", "name", "items", "object", "type", "-spec",
    "-labels", "a:b", "",
)  # fmt: skip

texts: Final[st.SearchStrategy[str]] = st.one_of(
    st.sampled_from(PREFIX_LIKE),
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
def objects(draw: Draw, kind: type[kp.KubeObject], *, complete: bool = False) -> dict[str, Any]:
    """Draw an object that fits its kind. With `complete` it has a complete identity."""
    metadata = draw(_metadata)
    if kind is not Realm:
        metadata["namespace"] = draw(st.sampled_from(("n", "kube-system")))
    if not complete:
        for removed_key in draw(
            st.sets(st.sampled_from(("uid", "resourceVersion", "namespace")), max_size=1)
        ):
            metadata.pop(removed_key, None)
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
    if not complete:
        obj |= {f"x{key}": value for key, value in draw(json_objects).items()}
    return obj


_SERVER_ORDER: Final = (
    "kind", "apiVersion", "metadata", "name", "namespace", "uid", "resourceVersion", "generation",
    "creationTimestamp", "labels", "annotations", "ownerReferences", "finalizers", "managedFields",
    "spec", "status",
)  # fmt: skip


def _rank(key: str) -> tuple[int, str]:
    return (_SERVER_ORDER.index(key), "") if key in _SERVER_ORDER else (len(_SERVER_ORDER), key)


def write_json(draw: Draw, value: Any, order: Order, *, spaces: bool = False) -> str:
    """Return a JSON value as text, with its keys in this order at every level."""
    gap = st.sampled_from(("", "", " ", "\t", " \r")) if spaces else st.just("")
    match value:
        case dict():
            keys: list[str] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if order == "shuffled":
                keys = draw(st.permutations(keys))
            else:
                keys = sorted(keys, key=_rank if order == "server" else None)
            members = ((key, write_json(draw, value[key], order, spaces=spaces)) for key in keys)
            pairs = (f"{draw(gap)}{_text(draw, key)}{draw(gap)}:{draw(gap)}{part}" for key, part in members)
            return f"{{{','.join(pairs)}{draw(gap)}}}"
        case list():
            parts = (write_json(draw, part, order, spaces=spaces) for part in value)  # pyright: ignore[reportUnknownVariableType]
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
    spaces = draw(st.booleans())
    members = (f'"{key}":{write_json(draw, value, order, spaces=spaces)}' for key, value in event.items())
    return ("{" + ",".join(members) + "}").encode()


@st.composite
def splits(draw: Draw, data: bytes) -> list[bytes]:
    """Split the data at random indexes."""
    ends = sorted({*draw(st.lists(st.integers(0, len(data)), max_size=8)), len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@st.composite
def damaged(draw: Draw, data: bytes) -> bytes:
    """Return the data with some bytes changed, removed, doubled or inserted. Line ends stay at their
    positions.
    """
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(changed)))
        upto = min(len(changed), index + draw(st.integers(0, 12)))
        if b"\n" in changed[index:upto]:
            continue
        match draw(st.sampled_from(("cut", "double", "put"))):
            case "cut":
                del changed[index:upto]
            case "double":
                changed[index:index] = changed[index:upto]
            case _:
                fragments = st.sampled_from(
                    (b'"', b"{", b"}", b"]", b",", b"\\", b"\x00", b"\xff", b"null", b":")
                )
                changed[index:upto] = draw(
                    fragments | st.binary(max_size=3).filter(lambda new: b"\n" not in new)
                )
    return bytes(changed)

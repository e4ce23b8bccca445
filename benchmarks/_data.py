"""Data of a server, made from a seed: objects of three kinds, watch streams and lists."""

import json
import random
from collections.abc import Sequence
from typing import Any, Final, Literal

from benchmarks._pods import go_json, pod, suffix, timestamp, uid

Kind = Literal["pods", "crs", "configmaps"]

SEGMENT: Final = 65536  # size of a read of a busy socket
_WORDS: Final = (
    "anchor",
    "current",
    "harbour",
    "island",
    "lantern",
    "reef",
    "sextant",
    "tide",
    "voyage",
    "whale",
)
_AUTHORS: Final = ("Joseph Conrad", "Tove Jansson", "Herman Melville", "Ursula K. Le Guin", "Jules Verne")
_CONTINUE: Final = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0"


def objects_of(kind: str, count: int, seed: int = 0, *, managed: bool = True) -> list[bytes]:
    """Return objects of a kind, with or without their managed fields."""
    make = {"pods": pods, "crs": books, "configmaps": config_maps}[kind]
    objects = make(count, seed)
    return objects if managed else [_without_managed_fields(item) for item in objects]


def _without_managed_fields(item: bytes) -> bytes:
    """Return the object without managed fields; all other bytes are unchanged."""
    obj = json.loads(item)
    del obj["metadata"]["managedFields"]
    return go_json(obj)


def pods(count: int, seed: int = 0) -> list[bytes]:
    """Return pods of about 5.7 KB, as JSON in Go's field order."""
    rng = random.Random(seed)
    return [pod(index, rng) for index in range(count)]


def books(count: int, seed: int = 0) -> list[bytes]:
    """Return custom resources of about 660 bytes with sorted keys, as servers write them."""
    rng = random.Random(seed)
    return [_book(index, rng) for index in range(count)]


def config_maps(count: int, seed: int = 0) -> list[bytes]:
    """Return ConfigMaps of about 1.5 KB that kubectl has applied, in Go's field order."""
    rng = random.Random(seed)
    return [_config_map(index, rng) for index in range(count)]


def _config_map(index: int, rng: random.Random) -> bytes:
    settings = "\n".join(f"{rng.choice(_WORDS)}.{suffix(rng, 8)}: {suffix(rng, 24)}" for _ in range(24))
    owned: dict[str, Any] = {
        "f:data": {".": {}, "f:app.yaml": {}, "f:level": {}},
        "f:metadata": {"f:labels": {"f:team": {}}},
    }
    return go_json(
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {
                "name": f"settings-{index}-{suffix(rng, 5)}",
                "namespace": f"team-{index % 20}",
                "uid": uid(rng),
                "resourceVersion": str(100_000 + index),
                "creationTimestamp": timestamp(rng),
                "labels": {"team": f"team-{index % 20}"},
                "managedFields": [
                    {
                        "manager": "kubectl",
                        "operation": "Apply",
                        "apiVersion": "v1",
                        "time": timestamp(rng),
                        "fieldsType": "FieldsV1",
                        "fieldsV1": owned,
                    }
                ],
            },
            "data": {"app.yaml": f"{settings}\n", "level": rng.choice(("debug", "info"))},
        }
    )


def _book(index: int, rng: random.Random) -> bytes:
    title = " ".join(rng.choices(_WORDS, k=4))
    born = timestamp(rng)
    return go_json(
        {
            "apiVersion": "example.technosophos.com/v1",
            "kind": "Book",
            "metadata": {
                "creationTimestamp": born,
                "generation": rng.randrange(1, 9),
                "labels": {"genre": "sea", "shelf": f"s{rng.randrange(40)}"},
                "managedFields": [
                    {
                        "apiVersion": "example.technosophos.com/v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:spec": {"f:authors": {}, "f:title": {}}},
                        "manager": "kubectl",
                        "operation": "Update",
                        "time": born,
                    }
                ],
                "name": f"book-{index}-{suffix(rng, 5)}",
                "namespace": f"library-{index % 20}",
                "resourceVersion": str(100_000 + index),
                "uid": uid(rng),
            },
            "spec": {
                "authors": rng.sample(_AUTHORS, k=rng.randint(1, 2)),
                "pages": rng.randrange(80, 900),
                "title": title,
            },
            "status": {"copies": rng.randrange(9), "observedGeneration": 1, "phase": "Shelved"},
        }
    )


def watch_lines(objects: Sequence[bytes], *, bookmarks: float = 0.02, seed: int = 0) -> bytes:
    """Return a watch stream: a line for each addition, change and deletion, with bookmarks between."""
    rng = random.Random(seed)
    kinds = (b"ADDED", b"MODIFIED", b"DELETED")
    lines: list[bytes] = []
    for item in objects:
        (kind,) = rng.choices(kinds, weights=(5, 4, 1))
        lines.append(b'{"type":"%b","object":%b}\n' % (kind, item))
        if rng.random() < bookmarks:
            lines.append(b'{"type":"BOOKMARK","object":%b}\n' % _bookmark(item))
    return b"".join(lines)


def _bookmark(item: bytes) -> bytes:
    """Return the bookmark after `item`: an empty object of its kind that has only a version."""
    obj = json.loads(item)
    kind, version = obj["kind"], {"resourceVersion": obj["metadata"]["resourceVersion"]}
    if _sorted(item):
        return go_json({"apiVersion": obj["apiVersion"], "kind": kind, "metadata": version})
    bookmark: dict[str, Any] = {"kind": kind, "apiVersion": obj["apiVersion"], "metadata": version}
    if kind == "Pod":  # Go writes the fields of an empty Pod that have no omitempty
        bookmark |= {"spec": {"containers": None}, "status": {}}
    return go_json(bookmark)


def segments(stream: bytes, size: int = SEGMENT) -> list[bytes]:
    """Return the stream as a socket delivers it: pieces of equal size, split without regard to lines."""
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def list_page(objects: Sequence[bytes], *, more: int = 0) -> bytes:
    """Return the body of a list.

    Built-in kinds have the metadata first and items without their kind. Custom resources are sorted, so that
    the items precede the metadata. `more` items remain on later pages.
    """
    first = json.loads(objects[0])
    kind, version = first["kind"], first["apiVersion"]
    resource_version = json.loads(objects[-1])["metadata"]["resourceVersion"]
    list_metadata: dict[str, Any] = {"continue": _CONTINUE, "remainingItemCount": more} if more else {}
    if _sorted(objects[0]):
        metadata = go_json(list_metadata | {"resourceVersion": resource_version})
        return b'{"apiVersion":"%b","items":[%b],"kind":"%bList","metadata":%b}\n' % (
            version.encode(),
            b",".join(objects),
            kind.encode(),
            metadata,
        )
    head = b'{"kind":"%b","apiVersion":"%b",' % (kind.encode(), version.encode())
    items = b",".join(b"{" + item.removeprefix(head) for item in objects)
    metadata = go_json({"resourceVersion": resource_version} | list_metadata)
    return b'{"kind":"%bList","apiVersion":"%b","metadata":%b,"items":[%b]}\n' % (
        kind.encode(),
        version.encode(),
        metadata,
        items,
    )


def _sorted(item: bytes) -> bool:
    """Return whether a server wrote this object with sorted keys, as it writes custom resources."""
    return item.startswith(b'{"apiVersion":')

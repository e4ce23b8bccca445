"""The content of a cluster, written so that two runs of one program can be compared.

Uids, versions and times differ between two runs that mean the same, and so do the endings of generated names.
What refers to an object by its uid or a generated name is written alike in both, and a reference to an object
that is gone is a difference.
"""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from kubeproto_sim import Cluster

_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_OF_ONE_RUN: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def comparable_state(cluster: Cluster, ignored: Container[str]) -> dict[str, str]:
    """Return the text of each object by its name, without what differs from run to run."""
    stored = [
        one for one in cluster.snapshot().objects if one.data is not None and one.resource not in ignored
    ]
    objects = [(one.resource, one.key, msgspec.json.decode(one.data or b"")) for one in stored]
    said = {one[2]["metadata"].get("uid"): f"(the uid of {_name(*one)})" for one in objects}
    said |= {obj["metadata"]["name"]: _generated(obj) for _, _, obj in objects if _generated(obj)}
    named: dict[str, list[str]] = {}
    for resource, key, obj in objects:
        named.setdefault(_name(resource, key, obj), []).append(_text(obj, said))
    return {name: "\n".join(sorted(texts)) for name, texts in named.items()}


def state_diff(wanted: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return the differences of two states, line by line; empty if they are alike."""
    lines: list[str] = []
    for name in sorted(wanted.keys() | found.keys()):
        before, after = wanted.get(name), found.get(name)
        if before is None:
            lines.append(f"{name} is there, and is not after the clean run")
        elif after is None:
            lines.append(f"{name} is missing")
        elif before != after:
            lines.append(f"{name} differs:")
            lines += [f"  {line}" for line in _changed_lines(before, after)]
    return lines


def _changed_lines(before: str, after: str) -> Iterator[str]:
    for line in unified_diff(
        before.splitlines(), after.splitlines(), "clean run", "this run", n=1, lineterm=""
    ):
        if not line.startswith("@@"):
            yield line


def _name(resource: str, key: str, obj: dict[str, Any]) -> str:
    if generated := _generated(obj):
        key = f"{key.rpartition('/')[0]}/{generated}".removeprefix("/")
    return f"{resource} {key}"


def _generated(obj: dict[str, Any]) -> str:
    """Return a generated name without its generated part; empty if it is not one."""
    prefix = obj["metadata"].get("generateName")
    return f"{prefix}*" if prefix and obj["metadata"]["name"].startswith(prefix) else ""


def _text(obj: dict[str, Any], said: dict[str, str]) -> str:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _OF_ONE_RUN}
    plain = _masked({**obj, "metadata": metadata}, obj["metadata"].get("generation"), said)
    return msgspec.json.format(msgspec.json.encode(plain, order="deterministic"), indent=2).decode()


def _masked(value: Any, generation: int | None, said: dict[str, str]) -> Any:
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value)
        masked = {key: _masked(one, generation, said) for key, one in value.items()}
        if (seen := value.get("observedGeneration")) is not None:
            masked["observedGeneration"] = "current" if seen == generation else "of an older generation"
        return masked
    if isinstance(value, list):
        items = cast("Iterable[Any]", value)
        return [_masked(one, generation, said) for one in items]
    if isinstance(value, str):
        if value in said:
            return said[value]
        if _TIME.fullmatch(value):
            return "(a time)"
        if _UID.fullmatch(value):
            return "(a uid of no object)"
    return value

"""The objects of a cluster as text, to compare the final states of two runs.

Placeholders replace uids, versions, times and the suffixes of generated names, which differ between
equivalent runs. A reference to an object by its uid or generated name is the same text in both runs. A
reference to an object that does not exist is a difference.
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
_RUN_SPECIFIC: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def comparable_state(cluster: Cluster, ignored: Container[str]) -> dict[str, str]:
    """Return the text of each object by its name, without values that are specific to a run."""
    objects: list[tuple[str, str, dict[str, Any]]] = [
        (stored.resource, stored.key, msgspec.json.decode(stored.data))
        for stored in cluster.snapshot().objects
        if stored.data is not None and stored.resource not in ignored
    ]
    placeholders: dict[str, str] = {}
    for resource, key, obj in objects:
        metadata = obj["metadata"]
        placeholders[metadata.get("uid", "")] = f"(the uid of {_name(resource, key, obj)})"
        if pattern := _name_pattern(obj):
            placeholders[metadata["name"]] = pattern
    texts: dict[str, list[str]] = {}  # several objects may share a pattern of names
    for resource, key, obj in objects:
        texts.setdefault(_name(resource, key, obj), []).append(_format(obj, placeholders))
    return {name: "\n".join(sorted(documents)) for name, documents in texts.items()}


def state_diff(expected: dict[str, str], actual: dict[str, str]) -> list[str]:
    """Return the differences between two states, line by line; empty if they are equal."""
    lines: list[str] = []
    for name in sorted(expected.keys() | actual.keys()):
        if name not in expected:
            lines.append(f"{name} exists, but not after the clean run")
        elif name not in actual:
            lines.append(f"{name} is missing")
        elif expected[name] != actual[name]:
            lines.append(f"{name} differs:")
            lines += [f"  {line}" for line in _changed_lines(expected[name], actual[name])]
    return lines


def _changed_lines(expected: str, actual: str) -> Iterator[str]:
    for line in unified_diff(
        expected.splitlines(), actual.splitlines(), "clean run", "this run", n=1, lineterm=""
    ):
        if not line.startswith("@@"):
            yield line


def _name(resource: str, key: str, obj: dict[str, Any]) -> str:
    if pattern := _name_pattern(obj):
        key = f"{key.rpartition('/')[0]}/{pattern}".removeprefix("/")
    return f"{resource} {key}"


def _name_pattern(obj: dict[str, Any]) -> str:
    """Return a generated name with an asterisk as its suffix; empty for other names."""
    prefix = obj["metadata"].get("generateName")
    return f"{prefix}*" if prefix and obj["metadata"]["name"].startswith(prefix) else ""


def _format(obj: dict[str, Any], placeholders: dict[str, str]) -> str:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _RUN_SPECIFIC}
    masked = _mask({**obj, "metadata": metadata}, obj["metadata"].get("generation"), placeholders)
    return msgspec.json.format(msgspec.json.encode(masked, order="deterministic"), indent=2).decode()


def _mask(value: Any, generation: int | None, placeholders: dict[str, str]) -> Any:
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value)
        masked = {key: _mask(member, generation, placeholders) for key, member in value.items()}
        if (observed := value.get("observedGeneration")) is not None:
            masked["observedGeneration"] = "current" if observed == generation else "of an older generation"
        return masked
    if isinstance(value, list):
        items = cast("Iterable[Any]", value)
        return [_mask(item, generation, placeholders) for item in items]
    if isinstance(value, str):
        if value in placeholders:
            return placeholders[value]
        if _TIME.fullmatch(value):
            return "(a time)"
        if _UID.fullmatch(value):
            return "(a uid of no object)"
    return value

"""What differs between two states of an object, as lines of YAML; the values of Secrets stay hidden."""

from __future__ import annotations

from difflib import unified_diff
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from kubeproto import Dynamic, decode, dump_yaml, encode
from kubeproto.objects import is_object, json_equal

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a server sets again with every write, or for every object.
_NOISE: Final = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")
_VERSIONS: Final = ("resourceVersion", "generation")
_SECRET_FIELDS: Final = ("data", "stringData")
# What client-side kubectl keeps of the last file: for a Secret, its values.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

HIDDEN: Final = "***"


def differ(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether a write that turns one into the other is needed: for the fields or for their owners."""
    owners = "managedFields" in before["metadata"]  # which a cache may leave out
    return not json_equal(_comparable(before, owners=owners), _comparable(after, owners=owners))


class Fingerprint(Struct, frozen=True):
    """What an object looks like but for its status: with the owners of its fields, if they are known."""

    content: str
    owners: str = ""

    def shows(self, other: Fingerprint) -> bool:
        """Return whether both are of the same object, as far as both know."""
        return self.content == other.content and (not other.owners or self.owners == other.owners)


def fingerprint(document: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of an object. What a controller writes into its status does not count."""
    comparable = _comparable(document, owners=True)
    entries = comparable["metadata"].pop("managedFields", None)
    comparable.pop("status", None)
    owners = [entry for entry in entries or () if entry.get("subresource") != "status"]
    return Fingerprint(_digest(comparable), _digest(owners) if entries is not None else "")


def _digest(value: Any) -> str:
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def diff(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the lines of a unified diff, without those of the file names; None for a new object."""
    shown_before, shown_after = _shown(before or {}, after)
    old = _lines(shown_before) if before is not None else []
    lines = list(unified_diff(old, _lines(shown_after), lineterm=""))[2:]
    # Where everything is new there is one hunk, whose numbers say nothing.
    return tuple(lines if before is not None else lines[1:])


def _comparable(document: Mapping[str, Any], *, owners: bool) -> dict[str, Any]:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _VERSIONS}
    if not owners:
        metadata.pop("managedFields", None)
    elif "managedFields" in metadata:
        entries = [
            {key: value for key, value in entry.items() if key != "time"}
            for entry in metadata["managedFields"]
        ]
        metadata["managedFields"] = sorted(entries, key=str)  # their order is that of their times
    return {**document, "metadata": metadata}


def _lines(document: dict[str, Any]) -> list[str]:
    return dump_yaml(decode(encode(document), Dynamic)).splitlines()


def _shown(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    one, other = _quiet(before), _quiet(after)
    if not is_secret(after):
        return one, other
    for field in _SECRET_FIELDS:
        for document in (one, other):
            if field in document and not is_object(document[field]):
                document[field] = HIDDEN  # a mistake, which a server will refuse
        _hide(one.get(field), other.get(field))
    _hide(one["metadata"].get("annotations"), other["metadata"].get("annotations"), only=_LAST_APPLIED)
    return one, other


def _quiet(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy, as deep as it is changed here, without what differs each time."""
    whole: dict[str, Any] = document.get("metadata") or {}
    metadata = {
        key: dict(value) if is_object(value) else value for key, value in whole.items() if key not in _NOISE
    }
    copied = {field: dict(document[field]) for field in _SECRET_FIELDS if is_object(document.get(field))}
    return {**document, "metadata": metadata, **copied}


def _hide(first: Any, second: Any, *, only: str = "") -> None:
    """Hide the values of a map on both sides, and show whether they differ, as kubectl does."""
    first = first if is_object(first) else {}
    second = second if is_object(second) else {}
    for key in [only] if only else first.keys() | second.keys():
        differs = key in first and key in second and first[key] != second[key]
        if key in first:
            first[key] = f"{HIDDEN} (before)" if differs else HIDDEN
        if key in second:
            second[key] = f"{HIDDEN} (after)" if differs else HIDDEN


def is_secret(document: Mapping[str, Any]) -> bool:
    """Return whether the values of an object are not to be shown."""
    return document.get("apiVersion") == "v1" and document.get("kind") == "Secret"

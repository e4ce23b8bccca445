"""The differences between two states of an object, as lines of YAML. The values of Secrets are hidden."""

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

# Metadata that the server sets, which a diff omits.
_SERVER_FIELDS: Final = (
    "managedFields",
    "resourceVersion",
    "generation",
    "uid",
    "creationTimestamp",
    "selfLink",
)
_VERSIONS: Final = ("resourceVersion", "generation")
_SECRET_FIELDS: Final = ("data", "stringData")
# Client-side apply of kubectl stores the last manifest in it, with the values of a Secret.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

HIDDEN: Final = "***"


def differ(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether a write would change the fields of an object or their owners."""
    owners = "managedFields" in old["metadata"]  # a cache may omit them
    return not json_equal(_comparable(old, owners=owners), _comparable(new, owners=owners))


class Fingerprint(Struct, frozen=True):
    """A digest of an object without its status, and of the owners of its fields, if they are known."""

    content: str
    owners: str = ""

    def matches(self, other: Fingerprint) -> bool:
        """Return whether both are equal; the owners are compared if they are known."""
        return self.content == other.content and (not other.owners or self.owners == other.owners)


def fingerprint(document: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of an object, without its status."""
    comparable = _comparable(document, owners=True)
    entries = comparable["metadata"].pop("managedFields", None)
    comparable.pop("status", None)
    owners = [entry for entry in entries or () if entry.get("subresource") != "status"]
    return Fingerprint(_digest(comparable), _digest(owners) if entries is not None else "")


def _digest(value: Any) -> str:
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def diff(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the lines of a unified diff, without the file names; `old` is None for a new object."""
    old_fields, new_fields = _hide_secrets(old or {}, new)
    old_lines = _lines(old_fields) if old is not None else []
    lines = list(unified_diff(old_lines, _lines(new_fields), lineterm=""))[2:]
    # The diff of a new object has a single hunk, so its line numbers are omitted.
    return tuple(lines if old is not None else lines[1:])


def _comparable(document: Mapping[str, Any], *, owners: bool) -> dict[str, Any]:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _VERSIONS}
    if not owners:
        metadata.pop("managedFields", None)
    elif "managedFields" in metadata:
        entries = [
            {key: value for key, value in entry.items() if key != "time"}
            for entry in metadata["managedFields"]
        ]
        # Servers sort the entries by their times, which are omitted here.
        metadata["managedFields"] = sorted(entries, key=str)
    return {**document, "metadata": metadata}


def _lines(document: dict[str, Any]) -> list[str]:
    return dump_yaml(decode(encode(document), Dynamic)).splitlines()


def _hide_secrets(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    old_fields, new_fields = _omit_server_fields(old), _omit_server_fields(new)
    if not is_secret(new):
        return old_fields, new_fields
    for field in _SECRET_FIELDS:
        for document in (old_fields, new_fields):
            if field in document and not is_object(document[field]):
                document[field] = HIDDEN  # the field is invalid, and a server would refuse it
        _hide(old_fields.get(field), new_fields.get(field))
    _hide(
        old_fields["metadata"].get("annotations"),
        new_fields["metadata"].get("annotations"),
        only=_LAST_APPLIED,
    )
    return old_fields, new_fields


def _omit_server_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without the metadata of the server. Only the maps that are changed later are copied."""
    all_metadata: dict[str, Any] = document.get("metadata") or {}
    metadata = {
        key: dict(value) if is_object(value) else value
        for key, value in all_metadata.items()
        if key not in _SERVER_FIELDS
    }
    copied = {field: dict(document[field]) for field in _SECRET_FIELDS if is_object(document.get(field))}
    return {**document, "metadata": metadata, **copied}


def _hide(first: Any, second: Any, *, only: str = "") -> None:
    """Hide the values of both maps. Values that differ are marked as before and after, as in kubectl."""
    first = first if is_object(first) else {}
    second = second if is_object(second) else {}
    for key in [only] if only else first.keys() | second.keys():
        differs = key in first and key in second and first[key] != second[key]
        if key in first:
            first[key] = f"{HIDDEN} (before)" if differs else HIDDEN
        if key in second:
            second[key] = f"{HIDDEN} (after)" if differs else HIDDEN


def is_secret(document: Mapping[str, Any]) -> bool:
    """Return whether the values of an object must stay hidden."""
    return document.get("apiVersion") == "v1" and document.get("kind") == "Secret"

"""Objects as JSON: the fields of a class, merge patches, and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubeproto import KubeObject, decode, encode, to_plain
from kubeproto.objects import is_list, is_object, json_equal, make_merge_patch

if TYPE_CHECKING:
    from typing import TypeVar

    K = TypeVar("K", bound=KubeObject)

# The metadata that only a server sets.
_SERVER_METADATA: Final = ("resourceVersion", "uid", "creationTimestamp", "generation")
# Metadata that the creator of an object sets, and that a server does not change.
_CREATOR_METADATA: Final = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences")


def parse_document(text: bytes) -> dict[str, Any]:
    """Return the value of a JSON text."""
    document: dict[str, Any] = msgspec.json.decode(text)
    return document


def to_builtins(value: Any) -> Any:
    """Convert a value to dicts, lists, strings and numbers, as in its JSON."""
    return None if value is None else msgspec.json.decode(encode(value))


def dump_class_fields(obj: K, kind: type[K]) -> dict[str, Any]:
    """Return the JSON of an object, limited to the fields of a class, for a comparison."""
    fields: dict[str, Any] = to_builtins(to_plain(decode(encode(obj), kind)))
    return fields


def add_server_metadata(document: dict[str, Any], served: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the metadata that only a server sets; a new object lacks them."""
    meta = {key: served["metadata"][key] for key in _SERVER_METADATA if key in served["metadata"]}
    return document | {"metadata": document.get("metadata", {}) | meta}


def make_exact_merge_patch(old: Any, new: Any) -> dict[str, Any] | None:
    """Return the merge patch from `old` to `new`; None if a server would not produce `new` from it.

    A null in a merge patch removes a member, so it cannot set a member to null. By the RFC a null inside a
    list is a value, but a Kubernetes API server drops it.
    """
    try:
        patch: dict[str, Any] = make_merge_patch(old, new)
    except ValueError:
        return None
    return None if _null_in_list(patch, inside=False) else patch


def contains_list(value: Any) -> bool:
    """Return whether a value contains a list."""
    return any(map(contains_list, value.values())) if is_object(value) else is_list(value)


def contains_element_list(value: Any) -> bool:
    """Return whether a value contains a list of objects, or of lists."""
    if is_object(value):
        return any(map(contains_element_list, value.values()))
    return is_list(value) and any(isinstance(element, dict | list) for element in value)


def may_be_created_from(obj: dict[str, Any], request: dict[str, Any]) -> bool:
    """Return whether a request may have created an object: a server adds fields and changes none."""
    meta = {key: value for key, value in request.get("metadata", {}).items() if key in _CREATOR_METADATA}
    return contains(
        obj, {key: value for key, value in request.items() if key != "status"} | {"metadata": meta}
    )


def contains(value: Any, part: Any) -> bool:
    """Return whether a value has all members of `part`, with the same values."""
    if is_object(part):
        return is_object(value) and all(contains(value.get(key), member) for key, member in part.items())
    if is_list(part):
        return is_list(value) and len(value) == len(part) and all(map(contains, value, part))
    return json_equal(value, part)


def _null_in_list(value: Any, *, inside: bool) -> bool:
    if is_object(value):
        return any(_null_in_list(member, inside=inside) for member in value.values())
    if is_list(value):
        return any(_null_in_list(member, inside=True) for member in value)
    return inside and value is None

"""Objects as JSON: the fields that a class knows, what a patch can express, whether one contains another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubeproto import KubeObject, decode, encode, settle
from kubeproto.objects import is_list, is_object, json_equal, make_merge_patch

if TYPE_CHECKING:
    from typing import TypeVar

    K = TypeVar("K", bound=KubeObject)

# The metadata that only a server sets.
_SERVERS: Final = ("resourceVersion", "uid", "creationTimestamp", "generation")
# Metadata that the creator of an object sets, and a server leaves as it is.
_CREATORS: Final = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences")


def parsed(text: bytes) -> dict[str, Any]:
    """Return the value of a JSON text."""
    document: dict[str, Any] = msgspec.json.decode(text)
    return document


def plain(value: Any) -> Any:
    """Return the JSON value that is sent for a value."""
    return None if value is None else msgspec.json.decode(encode(value))


def known(obj: K, kind: type[K]) -> dict[str, Any]:
    """Return the fields of an object that its type knows: both sides of a comparison have the same."""
    read: dict[str, Any] = plain(settle(decode(encode(obj), kind)))
    return read


def with_servers_metadata(document: dict[str, Any], served: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the metadata that only a server sets, which a newly made object lacks."""
    meta = {key: served["metadata"][key] for key in _SERVERS if key in served["metadata"]}
    return document | {"metadata": document.get("metadata", {}) | meta}


def merge_patch(before: Any, after: Any) -> dict[str, Any] | None:
    """Return the merge patch from one to the other; None if it needs a null, which would remove a member.

    In the elements of a list a null is a value by the RFC, but a Kubernetes API server drops it.
    """
    try:
        patch: dict[str, Any] = make_merge_patch(before, after)
    except ValueError:
        return None
    return None if _null_in_list(patch, inside=False) else patch


def holds_list(value: Any) -> bool:
    """Return whether it contains a list."""
    return any(map(holds_list, value.values())) if is_object(value) else is_list(value)


def holds_elements(value: Any) -> bool:
    """Return whether it contains a list of objects, or of lists."""
    if is_object(value):
        return any(map(holds_elements, value.values()))
    return is_list(value) and any(isinstance(one, dict | list) for one in value)


def created_as(obj: dict[str, Any], sent: dict[str, Any]) -> bool:
    """Return whether an object may be the one that was sent: a server adds, and changes nothing."""
    meta = {key: value for key, value in sent.get("metadata", {}).items() if key in _CREATORS}
    return contains(obj, {key: value for key, value in sent.items() if key != "status"} | {"metadata": meta})


def contains(whole: Any, part: Any) -> bool:
    """Return whether everything in the part is in the whole."""
    if is_object(part):
        return is_object(whole) and all(contains(whole.get(key), value) for key, value in part.items())
    if is_list(part):
        return is_list(whole) and len(whole) == len(part) and all(map(contains, whole, part))
    return json_equal(whole, part)


def _null_in_list(value: Any, *, inside: bool) -> bool:
    if is_object(value):
        return any(_null_in_list(member, inside=inside) for member in value.values())
    if is_list(value):
        return any(_null_in_list(member, inside=True) for member in value)
    return inside and value is None

"""The bodies of writes: whole objects, patches and applies, and their preconditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from .._errors import InvalidObject, InvalidRequest
from ..objects import KubeObject, Metadata, Resource, decode, encode, is_object, replace

K = TypeVar("K", bound=KubeObject)

# A server responds to more with 413; a patch of that size is usually a mistake.
_MOST_OPERATIONS: Final = 10_000
_OPERATIONS: Final = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("path", "from"),
    "copy": ("path", "from"),
    "test": ("path", "value"),
}

# Any JSON value, in a form that type checkers take for a class.
_ANYTHING: Final = cast("type[object]", Any)


def as_json(value: Any) -> bytes:
    """Return the JSON of what a caller passed."""
    try:
        return encode(value)
    except (TypeError, ValueError, OverflowError, InvalidObject) as error:
        raise InvalidRequest(f"the body cannot be written as JSON: {error}") from None


def whole(obj: K, resource: Resource) -> K:
    """Return the object with its kind filled in; refused if it is part of one, or of another kind."""
    if isinstance(obj, Metadata):
        raise InvalidRequest(
            f"the metadata of a {resource.kind} is not all of it: written as a whole, the rest would be gone;"
            " a patch can change it"
        )
    said = (obj.api_version or resource.api_version, obj.kind or resource.kind)
    if said != (resource.api_version, resource.kind):
        raise InvalidRequest(f"the object is {obj.api_version} {obj.kind}, not {resource.gvk}")
    if obj.kind and obj.api_version:
        return obj
    return replace(obj, api_version=said[0], kind=said[1])


def json_patch(operations: Sequence[Mapping[str, Any]]) -> bytes:
    """A JSON patch (RFC 6902)."""
    if not is_sequence(operations):
        raise InvalidRequest(f"a JSON patch is a list of operations, not {type(operations).__name__}")
    if len(operations) > _MOST_OPERATIONS:
        raise InvalidRequest(f"{len(operations)} operations: a server takes {_MOST_OPERATIONS}")
    for index, operation in enumerate(operations):
        members = _OPERATIONS.get(str(operation.get("op")))
        if members is None:
            raise InvalidRequest(
                f"operation {index}: {operation.get('op')!r} is not one of {', '.join(_OPERATIONS)}"
            )
        for member in members:
            if member not in operation:
                raise InvalidRequest(f"operation {index}: {operation['op']} needs {member!r}")
    return as_json(operations)


def is_sequence(value: object) -> bool:
    """Return True for lists and other sequences, False for strings and bytes."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def json_patch_is_guarded(operations: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a patch tests the resource version, so that it cannot take effect twice."""
    return any(
        operation.get("op") == "test" and operation.get("path") == "/metadata/resourceVersion"
        for operation in operations
    )


def merge_patch(patch: Mapping[str, Any]) -> bytes:
    """A merge patch (RFC 7386) or a strategic one; both are objects here."""
    body = as_json(patch)
    if body[:1] != b"{":
        raise InvalidRequest(f"such a patch is an object, not {type(patch).__name__}")
    return body


def is_guarded(body: KubeObject | Mapping[str, Any]) -> bool:
    """Return whether a body carries a resource version that must match.

    A uid is not enough for a write: it still matches when another client has changed the object in between.
    """
    if isinstance(body, KubeObject):
        version: Any = body.metadata.resource_version
    else:
        version = metadata_of(body).get("resourceVersion")
    return version not in (None, "", "0")


def metadata_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata in a body; empty if there is none, or if it is not an object."""
    metadata = body.get("metadata")
    return metadata if is_object(metadata) else {}


def applied(obj: KubeObject | Mapping[str, Any], resource: Resource) -> dict[str, Any]:
    """Return the fields that are applied, as JSON has them, with the kind filled in."""
    said = decode(as_json(obj), _ANYTHING)
    if not is_object(said):
        raise InvalidRequest(f"what is applied is an object, not {type(obj).__name__}")
    identity = {"apiVersion": resource.api_version, "kind": resource.kind}
    if isinstance(obj, Metadata):
        said |= identity
    fields = identity | {key: value for key, value in said.items() if value != ""}
    if any(fields[key] != value for key, value in identity.items()):
        raise InvalidRequest(f"the object is {fields['apiVersion']} {fields['kind']}, not {resource.gvk}")
    if "managedFields" in metadata_of(fields):
        raise InvalidRequest(
            "managedFields cannot be applied: send the fields that you want, not the object that was read"
        )
    return fields

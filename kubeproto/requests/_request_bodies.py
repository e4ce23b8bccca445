"""The bodies of writes: objects, patches and applies, and the preconditions in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from .._errors import InvalidObject, InvalidRequest
from ..objects import KubeObject, Metadata, Resource, decode, encode, is_object, replace

K = TypeVar("K", bound=KubeObject)

# The limit of a server, which refuses a longer patch with 413.
_MAX_OPERATIONS: Final = 10_000
_OPERATIONS: Final = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("path", "from"),
    "copy": ("path", "from"),
    "test": ("path", "value"),
}

# Any JSON value, in a form that type checkers accept as a class.
_ANY_JSON: Final = cast("type[object]", Any)


def encode_body(value: Any) -> bytes:
    """Return the JSON of an argument."""
    try:
        return encode(value)
    except (TypeError, ValueError, OverflowError, InvalidObject) as error:
        raise InvalidRequest(f"the body cannot be written as JSON: {error}") from None


def complete_object(obj: K, resource: Resource) -> K:
    """Return the object with its kind and apiVersion; refuse partial metadata, or another kind."""
    if isinstance(obj, Metadata):
        raise InvalidRequest(
            f"this is only the metadata of a {resource.kind}: writing it would delete the other fields; use a"
            " patch"
        )
    api_version, kind = obj.api_version or resource.api_version, obj.kind or resource.kind
    if (api_version, kind) != (resource.api_version, resource.kind):
        raise InvalidRequest(f"the object is {obj.api_version} {obj.kind}, not {resource.gvk}")
    if obj.kind and obj.api_version:
        return obj
    return replace(obj, api_version=api_version, kind=kind)


def encode_json_patch(operations: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the body of a JSON patch (RFC 6902)."""
    if not is_sequence(operations):
        raise InvalidRequest(f"a JSON patch is a list of operations, not {type(operations).__name__}")
    if len(operations) > _MAX_OPERATIONS:
        raise InvalidRequest(
            f"a JSON patch of {len(operations)} operations exceeds the {_MAX_OPERATIONS} that servers accept"
        )
    for index, operation in enumerate(operations):
        members = _OPERATIONS.get(str(operation.get("op")))
        if members is None:
            raise InvalidRequest(
                f"operation {index}: op {operation.get('op')!r} must be one of {', '.join(_OPERATIONS)}"
            )
        for member in members:
            if member not in operation:
                raise InvalidRequest(f"operation {index}: {operation['op']} needs {member!r}")
    return encode_body(operations)


def is_sequence(value: object) -> bool:
    """Return True for lists and other sequences, False for strings and bytes."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_guarded_json_patch(operations: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a patch tests the resource version, so that it cannot take effect twice."""
    return any(
        operation.get("op") == "test" and operation.get("path") == "/metadata/resourceVersion"
        for operation in operations
    )


def encode_merge_patch(patch: Mapping[str, Any]) -> bytes:
    """Return the body of a merge patch (RFC 7386) or a strategic merge patch."""
    body = encode_body(patch)
    if body[:1] != b"{":
        raise InvalidRequest(f"a merge patch must be an object, not {type(patch).__name__}")
    return body


def is_guarded(body: KubeObject | Mapping[str, Any]) -> bool:
    """Return whether a body has a resource version that must match.

    A uid is not enough for a write: it still matches after another client has changed the object.
    """
    if isinstance(body, KubeObject):
        version: Any = body.metadata.resource_version
    else:
        version = metadata_of(body).get("resourceVersion")
    return version not in (None, "", "0")


def metadata_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata in a body; empty if it is missing or not an object."""
    metadata = body.get("metadata")
    return metadata if is_object(metadata) else {}


def applied_fields(obj: KubeObject | Mapping[str, Any], resource: Resource) -> dict[str, Any]:
    """Return the fields of an apply as JSON values, with kind and apiVersion."""
    document = decode(encode_body(obj), _ANY_JSON)
    if not is_object(document):
        raise InvalidRequest(f"an apply needs an object or a mapping, not {type(obj).__name__}")
    identity = {"apiVersion": resource.api_version, "kind": resource.kind}
    if isinstance(obj, Metadata):
        document |= identity
    fields = identity | {key: value for key, value in document.items() if value != ""}
    if any(fields[key] != value for key, value in identity.items()):
        raise InvalidRequest(f"the object is {fields['apiVersion']} {fields['kind']}, not {resource.gvk}")
    if "managedFields" in metadata_of(fields):
        raise InvalidRequest(
            "managedFields cannot be applied: apply the fields that you want, not an object from the server"
        )
    return fields

"""Checks of the objects that a conversion webhook returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubeproto.objects import is_object, label_value_errors, qualified_name_errors

from .._rejections import unexplained
from ..storage._json_values import go_kind, go_type, member, members, quoted

Json = dict[str, Any]
# The metadata that identifies an object, and their names in a server's messages. Apart from labels and
# annotations, a server silently restores all other metadata.
_IDENTITY: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_MAX_ANNOTATION_BYTES: Final = 262_144


def check_converted(prefix: str, obj: Json, request_object: Json, converted: Any, version: str) -> Json:
    """Return a converted object with the metadata that no conversion changes, or refuse the request.

    `request_object` is the object that the webhook received: in a repeated request the uid of `obj` differs.
    """
    result = _as_object(converted)
    index = f"{prefix} returned invalid object at index 0:"
    if (received := result.get("apiVersion") or "") != version:
        raise unexplained(f"{index} invalid groupVersion (expected {version}, received {received})")
    if result["kind"] != obj["kind"]:
        raise unexplained(f"{index} invalid kind (expected {obj['kind']}, received {result['kind']})")
    for field, name in _IDENTITY:
        sent_value, returned_value = (
            str(member(content, "metadata").get(field) or "") for content in (request_object, result)
        )
        if sent_value != returned_value:
            raise unexplained(
                f"{prefix} returned invalid object: must have the same {name}:"
                f" {sent_value} != {returned_value}"
            )
    return result | {"metadata": _metadata(prefix, obj["metadata"], result)}


def _as_object(converted: Any) -> Json:
    if converted is None:
        raise unexplained("unexpected end of JSON input")
    if not is_object(converted):
        kind = go_kind(converted)
        raise unexplained(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    if not converted.get("kind"):
        raise unexplained(f"Object 'Kind' is missing in '{msgspec.json.encode(converted).decode()}'")
    return converted


def _metadata(prefix: str, original: Json, result: Json) -> Json:
    returned, metadata = members(result.get("metadata")), dict(original)
    for field in ("labels", "annotations"):
        value = returned.get(field)
        metadata.pop(field, None)
        if value is None:
            continue
        if problem := _metadata_error(field, value, original.get(field)):
            raise unexplained(f"{prefix} returned invalid metadata: {problem}")
        if value:
            metadata[field] = value
    return metadata


def _metadata_error(field: str, value: Any, original: Any) -> str:
    """Return the error in labels or annotations, which a server checks if they have changed."""
    if not is_object(value):
        return f"invalid metadata.{field} of type {go_type(value)} in converted object"
    for key, text in value.items():
        if not isinstance(text, str):
            return f"metadata.{field}[{key}] must be a string, but is {go_type(text)} in converted object"
    if value == (original or {}):
        return ""
    faults = list(_labels(value) if field == "labels" else _annotations(value))
    return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]" if faults else ""


def _labels(labels: dict[str, str]) -> Iterator[str]:
    for key, value in labels.items():
        for fault in qualified_name_errors(key):
            yield f"metadata.labels: Invalid value: {quoted(key)}: {fault}"
        for fault in label_value_errors(value):
            yield f"metadata.labels: Invalid value: {quoted(value)}: {fault}"


def _annotations(annotations: dict[str, str]) -> Iterator[str]:
    for key in annotations:
        for fault in qualified_name_errors(key.lower()):
            yield f"metadata.annotation: Invalid value: {quoted(key)}: {fault}"
    if sum(len(key) + len(value) for key, value in annotations.items()) > _MAX_ANNOTATION_BYTES:
        yield f"metadata.annotation: Too long: may not be more than {_MAX_ANNOTATION_BYTES} bytes"

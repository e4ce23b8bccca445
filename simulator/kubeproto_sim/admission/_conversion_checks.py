"""What a conversion webhook may return: the same object in another version; only labels may differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubeproto.objects import label_value_errors, qualified_name_errors

from .._rejections import quoted, unexplained
from ..storage._json_values import go_kind, go_type, is_map, member, members

Json = dict[str, Any]
# Metadata that identifies an object, and its name in a server's message. A server silently restores
# everything else.
_IDENTITY: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_LARGEST_ANNOTATIONS: Final = 262_144


def checked(about: str, obj: Json, sent: Json, converted: Any, version: str) -> Json:
    """Return a converted object with the metadata that no conversion changes; or refuse the request.

    `sent` is what the webhook saw: a request that is made again may have drawn another uid for `obj`.
    """
    made = _as_object(converted)
    index = f"{about} returned invalid object at index 0:"
    if (got := made.get("apiVersion") or "") != version:
        raise unexplained(f"{index} invalid groupVersion (expected {version}, received {got})")
    if made["kind"] != obj["kind"]:
        raise unexplained(f"{index} invalid kind (expected {obj['kind']}, received {made['kind']})")
    for field, name in _IDENTITY:
        ours, theirs = (str(member(one, "metadata").get(field) or "") for one in (sent, made))
        if ours != theirs:
            raise unexplained(
                f"{about} returned invalid object: must have the same {name}: {ours} != {theirs}"
            )
    return made | {"metadata": _metadata(about, obj["metadata"], made)}


def _as_object(converted: Any) -> Json:
    if converted is None:
        raise unexplained("unexpected end of JSON input")
    if not is_map(converted):
        kind = go_kind(converted)
        raise unexplained(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    if not converted.get("kind"):
        raise unexplained(f"Object 'Kind' is missing in '{msgspec.json.encode(converted).decode()}'")
    return converted


def _metadata(about: str, before: Json, made: Json) -> Json:
    returned, kept = members(made.get("metadata")), dict(before)
    for field in ("labels", "annotations"):
        value = returned.get(field)
        kept.pop(field, None)
        if value is None:
            continue
        if why := _fault(field, value, before.get(field)):
            raise unexplained(f"{about} returned invalid metadata: {why}")
        if value:
            kept[field] = value
    return kept


def _fault(field: str, value: Any, before: Any) -> str:
    """Return what is wrong with labels or annotations; a server looks at them if they have changed."""
    if not is_map(value):
        return f"invalid metadata.{field} of type {go_type(value)} in converted object"
    for key, text in value.items():
        if not isinstance(text, str):
            return f"metadata.{field}[{key}] must be a string, but is {go_type(text)} in converted object"
    if value == (before or {}):
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
    if sum(len(key) + len(value) for key, value in annotations.items()) > _LARGEST_ANNOTATIONS:
        yield f"metadata.annotation: Too long: may not be more than {_LARGEST_ANNOTATIONS} bytes"

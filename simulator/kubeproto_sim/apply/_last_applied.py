"""The annotation in which kubectl stores the object that it applied on the client side.

Only for the manager `kubectl`: an apply updates the annotation, and does not conflict with the fields in the
previous annotation.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.objects import is_object

from ..storage._json_values import members
from ._merge_schemas import MergeSchema
from ._object_fields import fields_of
from .fieldsets import EMPTY, FieldSet

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

# The limit of all annotations of an object together, including keys.
_MAX_BYTES: Final = 256 * 1024

Object = dict[str, Any]


def with_last_applied(object_: Object, applied: Object) -> Object:
    """Return the object with an updated annotation, if it has this annotation."""
    metadata = members(object_.get("metadata"))
    annotations = members(metadata.get("annotations"))
    if not annotations.get(LAST_APPLIED):
        return object_
    updated = {**annotations, LAST_APPLIED: _text(applied)}
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in updated.items()) > _MAX_BYTES:
        del updated[LAST_APPLIED]
    return {**object_, "metadata": {**metadata, "annotations": updated}}


def allowed_by_last_applied(live: Object, schema: MergeSchema) -> FieldSet:
    """Return the fields that kubectl applied on the client side."""
    text = members(members(live.get("metadata")).get("annotations")).get(LAST_APPLIED)
    try:
        last = msgspec.json.decode(text) if isinstance(text, str) and text else None
    except (msgspec.DecodeError, RecursionError):
        return EMPTY
    if not is_object(last) or last.get("apiVersion") != live.get("apiVersion"):
        return EMPTY
    return fields_of(last, schema)


def _text(applied: Object) -> str:
    metadata = dict(members(applied.get("metadata")))
    if is_object(annotations := metadata.get("annotations")):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return msgspec.json.encode({**applied, "metadata": metadata}, order="sorted").decode() + "\n"

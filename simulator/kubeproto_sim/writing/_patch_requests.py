"""Patch requests in four formats: JSON patch, merge patch, strategic merge patch and apply."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto.objects import PatchError, apply_json_patch, is_list, is_object, without_nulls

from .._rejections import (
    Rejection,
    bad_request,
    failure,
    not_found,
    rejected_patch,
    status_details,
    unexplained,
    unsupported_media,
)
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..kinds._typed_codec import TypeMismatch, go_escaped
from ..reading._query import Query
from ..reading._routes import Route
from ..storage._json_values import go_kind, go_text, member
from ._object_writer import Writer, WriteResult
from ._request_bodies import not_a_map, read_value, read_yaml
from ._write_errors import invalid_metadata
from ._write_gates import OPEN, Gate

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
_FOR_CUSTOM: Final = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY}"
_MAX_OPERATIONS: Final = 10_000
_TYPE_ERROR: Final = re.compile(
    r"cannot unmarshal (\w+)(?: (\S+))? into Go struct field [^.]*\.(\S+) of type (\S+)$"
)
_GO_TYPES: Final = {"number": "int64", "array": "slice", "object": "map"}
_encode: Final = msgspec.json.Encoder().encode


class PatchWriter(Writer):
    """The writer of a patched object, whose errors have a form of their own."""

    def __init__(
        self,
        state: ServerState,
        route: Route,
        query: Query,
        manager: str,
        warnings: list[str] | None = None,
        gate: Gate = OPEN,
    ) -> None:
        super().__init__(state, route, query, manager, warnings, gate)
        self.quoted_text: Callable[[], str] = str  # quoted in errors: usually the patched object
        self.change: dict[str, Any] | None = None  # the strategic merge patch, quoted instead
        self.applied = ""  # the applied object, as errors name it

    def strict_refusal(self, faults: list[str]) -> Rejection:
        text = self.quoted_text() if self.change is None else go_text(self.change)
        return _patch_error(text, f"strict decoding error: {', '.join(faults)}")

    def misfit(self, error: TypeMismatch) -> Rejection:
        if self.applied:
            gvk = self.applied.partition("; ")[2]
            message = f"unable to convert unstructured object to {gvk}: {error}"
            return unexplained(f"failed to convert new object ({self.applied}) to proper version: {message}")
        if self.change is None:
            return _patch_error(self.quoted_text(), str(error))
        return _patch_error(go_text(self.change), _go_conversion_error(str(error), self.change))


def check_media(served: ServedKind, content_type: str) -> None:
    """Raise a `Rejection` for a patch in a format that this kind does not accept."""
    media = content_type.partition(";")[0].strip()
    media_types = (
        (JSON_PATCH, MERGE_PATCH, APPLY) if served.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
    )
    if media not in media_types:
        raise unsupported_media(_FOR_CUSTOM if served.custom else "")


def patch(writer: PatchWriter, body: bytes, content_type: str, query: Query) -> WriteResult:
    """Patch an object; apply creates it if it does not exist."""
    media = content_type.partition(";")[0].strip()
    served, route = writer.served, writer.route
    if media == APPLY:
        return _apply(writer, body, query)
    old = served.storage.objects.get(served.key(route.namespace, route.name))
    if old is None:
        raise not_found(served.plural, served.group, route.name)
    change = read_change(media, body)

    def patched() -> Any:
        current = msgspec.json.decode(served.encode_response(old.data))
        return (
            writer.tracker.merged(current, change) if media == STRATEGIC else changed(media, current, change)
        )

    result = patched()
    if not is_object(result):
        raise rejected_patch()
    writer.quoted_text = lambda: _quoted_object(
        patched(), _paths_of(change) if media == JSON_PATCH else change
    )
    writer.change = change if media == STRATEGIC else None
    _check_type(writer, result)
    if not is_object(meta := result.get("metadata", {})):
        raise writer.misfit(invalid_metadata(served, meta))
    result.setdefault("metadata", meta)
    writer.tidy(result, [])
    writer.check_place(meta)
    return writer.store(old, result)


def read_change(media: str, body: bytes) -> Any:
    """Return the value of a patch; raise `Rejection` for a malformed patch."""
    prefix = "" if media == STRATEGIC else "error decoding patch: "
    change: Any = read_value(body, prefix)
    if media == JSON_PATCH:
        operations: Any = [] if change is None else change
        check_operations(operations)
        return operations
    if change is None and media == STRATEGIC:
        return dict[str, Any]()
    if change is None:
        raise bad_request("Invalid JSON Patch")
    if not is_object(change):
        raise not_a_map(change, prefix)
    return change


def changed(media: str, current: dict[str, Any], change: Any) -> Any:
    """Apply a JSON patch or a merge patch in place, and return the object.

    Raise `Rejection` if that fails.
    """
    if media != JSON_PATCH:
        return _merge(current, change)
    if any(operation is None or operation.get("path") == "" for operation in change):
        raise rejected_patch()  # a server's library accepts neither null nor the whole document
    try:
        return apply_json_patch(current, change, like_server=True)
    except PatchError:
        raise rejected_patch() from None


def unfit(media: str, change: Any, result: dict[str, Any], error: TypeMismatch) -> Rejection:
    """Return the error for a patch whose result does not have the type of its kind."""
    if media == STRATEGIC:
        return _patch_error(go_text(change), _go_conversion_error(str(error), change))
    return _patch_error(
        _quoted_object(result, _paths_of(change) if media == JSON_PATCH else change), str(error)
    )


def _merge(current: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Apply a merge patch in place: the object was read for this patch alone."""
    for name, value in change.items():
        present = current.get(name)
        if value is None:
            current.pop(name, None)
        elif is_object(value) and is_object(present):
            _merge(present, value)
        else:
            current[name] = value if is_object(present) else without_nulls(value)
    return current


def _check_type(writer: PatchWriter, result: dict[str, Any]) -> None:
    """Check the kind and apiVersion of an object after a patch."""
    served = writer.served
    kind, api_version = result.get("kind") or "", result.get("apiVersion") or ""
    for name, value in (("kind", kind), ("apiVersion", api_version)):
        if not isinstance(value, str):
            message = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            if writer.change is None:
                message = f"couldn't get version/kind; json parse error: {message}"
            raise writer.misfit(TypeMismatch(message))
    if served.custom:
        if not kind:
            raise writer.misfit(TypeMismatch(f"Object 'Kind' is missing in '{writer.quoted_text()}'"))
        if (kind, api_version) != (served.kind, served.api_version):
            writer.sent_kind = kind, api_version
    elif writer.change is None and (message := writer.kind_mismatch(kind, api_version)):
        raise writer.misfit(TypeMismatch(message))
    result["kind"], result["apiVersion"] = served.kind, served.api_version


def _apply(writer: PatchWriter, body: bytes, query: Query) -> WriteResult:
    applied, duplicate_faults = read_yaml(body)
    served, route = writer.served, writer.route
    old = served.storage.objects.get(served.key(route.namespace, route.name))
    meta = member(applied, "metadata")
    group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
    gvk = f"{group}/{version}, Kind={applied.get('kind') or ''}"
    writer.decoding = "error decoding from json: "
    writer.applied = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {gvk}"
    force = query.get("force", "") not in ("", "0", "false")
    return writer.tracker.applied(writer, old, applied, duplicate_faults, force=force)


def check_operations(change: Any) -> None:
    """Raise a `Rejection` for a JSON patch that is not a list of operations, or has too many."""
    if not is_list(change):
        problem = f"json: cannot unmarshal {go_kind(change)} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {problem}")
    for operation in change:
        if operation is not None and not is_object(operation):
            type_ = go_kind(operation)
            problem = f"json: cannot unmarshal {type_} into Go value of type handlers.jsonPatchOp"
            raise bad_request(f"error decoding patch: {problem}")
    if len(change) > _MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(change)}"
        raise Rejection(failure(413, message, {}))


def _paths_of(operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the paths of JSON patch operations in the form of a merge patch."""
    paths: dict[str, Any] = {}
    for operation in operations:
        parent = paths
        for name in str(operation.get("path", "")).split("/")[1:-1]:
            parent = parent.setdefault(name.replace("~1", "/").replace("~0", "~"), {})
    return paths


def _quoted_object(value: Any, change: dict[str, Any]) -> str:
    """Return a patched object as text: a server sorts only the keys along the paths of the patch."""
    return go_escaped(_encode(_sorted_along(value, change))).decode()


def _sorted_along(value: Any, change: Any) -> Any:
    if not is_object(value) or not is_object(change):
        return value
    return {
        name: _sorted_along(value[name], change[name]) if name in change else value[name]
        for name in sorted(value)
    }


def _go_conversion_error(message: str, change: dict[str, Any]) -> str:
    """Return the message about a value of a wrong type in the form of a strategic merge patch."""
    match = _TYPE_ERROR.search(message)
    if match is None:
        return message
    json_type, number, field, go_type_name = match.groups()
    patch_type = _GO_TYPES.get(json_type, json_type)
    if json_type == "number" and (number is None or not number.lstrip("-").isdigit()):
        patch_type = _number_at(change, field)
    if go_type_name.startswith("map["):
        return f"cannot restore map from {patch_type}"
    if go_type_name.startswith("[]"):
        return f"cannot restore slice from {patch_type}"
    if "." in go_type_name:
        return f"cannot restore struct from: {patch_type}"
    # Go could convert these, so its converter reports them with another message.
    if (patch_type, go_type_name) == ("int64", "string") or (
        patch_type == "float64" and go_type_name.startswith("int")
    ):
        return f"cannot convert {patch_type} to {go_type_name}"
    return f"unrecognized type: {go_type_name}"


def _number_at(change: Any, field: str) -> str:
    """Return the Go type of the number at a field of a patch, or inside that field."""
    for name in field.split("."):
        change = change.get(name) if is_object(change) else None
    numbers = change.values() if is_object(change) else change if is_list(change) else [change]
    return "float64" if any(isinstance(number, float) for number in numbers) else "int64"


def _patch_error(text: str, message: str) -> Rejection:
    """Return the 422 for a patch whose result has a wrong type: it quotes the object, and has no name."""
    full_message = f"Invalid value: {_encode(text).decode()}: {message}"
    cause = {"reason": "FieldValueInvalid", "message": full_message, "field": "patch"}
    return Rejection(failure(422, f' "" is invalid: patch: {full_message}', status_details(causes=[cause])))

"""Patches: objects changed by a client's patch, in four formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto.objects import PatchError, apply_json_patch, without_nulls

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
from ..kinds._kinds import Served
from ..kinds._typed import Misfit, escaped
from ..reading._query import Query
from ..reading._routes import Route
from ..storage._json_values import go_kind, go_text, is_list, is_map, member
from ._bodies import not_a_map, read_value, read_yaml
from ._gates import OPEN, Gate
from ._mistakes import no_metadata
from ._writes import Writer, Written

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
_FOR_CUSTOM: Final = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY}"
_MOST_OPERATIONS: Final = 10_000
_UNREADABLE: Final = re.compile(
    r"cannot unmarshal (\w+)(?: (\S+))? into Go struct field [^.]*\.(\S+) of type (\S+)$"
)
_GIVEN: Final = {"number": "int64", "array": "slice", "object": "map"}
_encode: Final = msgspec.json.Encoder().encode


class PatchWriter(Writer):
    """A writer whose refusals have the unusual form of those of patches."""

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
        self.shown: Callable[[], str] = str  # what refusals show: usually the object after the patch
        self.change: dict[str, Any] | None = None  # the strategic merge patch that they mention
        self.applied = ""  # the applied object, as they name it

    def strict_refusal(self, faults: list[str]) -> Rejection:
        shown = self.shown() if self.change is None else go_text(self.change)
        return _odd(shown, f"strict decoding error: {', '.join(faults)}")

    def misfit(self, error: Misfit) -> Rejection:
        if self.applied:
            gvk = self.applied.partition("; ")[2]
            why = f"unable to convert unstructured object to {gvk}: {error}"
            return unexplained(f"failed to convert new object ({self.applied}) to proper version: {why}")
        if self.change is None:
            return _odd(self.shown(), str(error))
        return _odd(go_text(self.change), _restored(str(error), self.change))


def check_media(served: Served, content_type: str) -> None:
    """Refuse a patch in a format that this kind does not accept."""
    media = content_type.partition(";")[0].strip()
    known = (JSON_PATCH, MERGE_PATCH, APPLY) if served.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
    if media not in known:
        raise unsupported_media(_FOR_CUSTOM if served.custom else "")


def patch(writer: PatchWriter, body: bytes, content_type: str, query: Query) -> Written:
    """Change an object as a patch says; apply creates it if it does not exist."""
    media = content_type.partition(";")[0].strip()
    served, route = writer.served, writer.route
    if media == APPLY:
        return _apply(writer, body, query)
    old = served.storage.objects.get(served.key(route.namespace, route.name))
    if old is None:
        raise not_found(served.plural, served.group, route.name)
    change = read_change(media, body)

    def patched() -> Any:
        current = msgspec.json.decode(served.shown(old.data))
        return (
            writer.tracker.merged(current, change) if media == STRATEGIC else changed(media, current, change)
        )

    result = patched()
    if not is_map(result):
        raise rejected_patch()
    writer.shown = lambda: _shown(patched(), _touched(change) if media == JSON_PATCH else change)
    writer.change = change if media == STRATEGIC else None
    _check_type(writer, result)
    if not is_map(meta := result.get("metadata", {})):
        raise writer.misfit(no_metadata(served, meta))
    result.setdefault("metadata", meta)
    writer.tidy(result, [])
    writer.check_place(meta)
    return writer.store(old, result)


def read_change(media: str, body: bytes) -> Any:
    """Return the value of a patch; or a refusal."""
    what = "" if media == STRATEGIC else "error decoding patch: "
    change: Any = read_value(body, what)
    if media == JSON_PATCH:
        operations: Any = [] if change is None else change
        check_operations(operations)
        return operations
    if change is None and media == STRATEGIC:
        return dict[str, Any]()
    if change is None:
        raise bad_request("Invalid JSON Patch")
    if not is_map(change):
        raise not_a_map(change, what)
    return change


def changed(media: str, current: dict[str, Any], change: Any) -> Any:
    """Return an object after a JSON patch or a merge patch, which changes it in place; or a refusal."""
    if media != JSON_PATCH:
        return _merge(current, change)
    if any(operation is None or operation.get("path") == "" for operation in change):
        raise rejected_patch()  # a server's library accepts neither null nor the whole document
    try:
        return apply_json_patch(current, change, like_server=True)
    except PatchError:
        raise rejected_patch() from None


def unfit(media: str, change: Any, result: dict[str, Any], error: Misfit) -> Rejection:
    """Return the refusal of a patch whose result does not fit its type."""
    if media == STRATEGIC:
        return _odd(go_text(change), _restored(str(error), change))
    return _odd(_shown(result, _touched(change) if media == JSON_PATCH else change), str(error))


def _merge(current: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Apply a merge patch in place: the object was read for this patch alone."""
    for name, value in change.items():
        below = current.get(name)
        if value is None:
            current.pop(name, None)
        elif is_map(value) and is_map(below):
            _merge(below, value)
        else:
            current[name] = value if is_map(below) else without_nulls(value)
    return current


def _check_type(writer: PatchWriter, result: dict[str, Any]) -> None:
    """Check the kind and apiVersion of an object after a patch."""
    served = writer.served
    kind, api_version = result.get("kind") or "", result.get("apiVersion") or ""
    for name, value in (("kind", kind), ("apiVersion", api_version)):
        if not isinstance(value, str):
            why = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            if writer.change is None:
                why = f"couldn't get version/kind; json parse error: {why}"
            raise writer.misfit(Misfit(why))
    if served.custom:
        if not kind:
            raise writer.misfit(Misfit(f"Object 'Kind' is missing in '{writer.shown()}'"))
        if (kind, api_version) != (served.kind, served.api_version):
            writer.misnamed = kind, api_version
    elif writer.change is None and (why := writer.mistyped(kind, api_version)):
        raise writer.misfit(Misfit(why))
    result["kind"], result["apiVersion"] = served.kind, served.api_version


def _apply(writer: PatchWriter, body: bytes, query: Query) -> Written:
    applied, twice = read_yaml(body)
    served, route = writer.served, writer.route
    old = served.storage.objects.get(served.key(route.namespace, route.name))
    meta = member(applied, "metadata")
    group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
    gvk = f"{group}/{version}, Kind={applied.get('kind') or ''}"
    writer.decoding = "error decoding from json: "
    writer.applied = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {gvk}"
    force = query.get("force", "") not in ("", "0", "false")
    return writer.tracker.applied(writer, old, applied, twice, force=force)


def check_operations(change: Any) -> None:
    """Refuse what is not a list of operations, or too long a list."""
    if not is_list(change):
        why = f"json: cannot unmarshal {go_kind(change)} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {why}")
    for one in change:
        if one is not None and not is_map(one):
            why = f"json: cannot unmarshal {go_kind(one)} into Go value of type handlers.jsonPatchOp"
            raise bad_request(f"error decoding patch: {why}")
    if len(change) > _MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(change)}"
        raise Rejection(failure(413, message, {}))


def _touched(operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the paths that operations reach, in the form of a merge patch."""
    reached: dict[str, Any] = {}
    for operation in operations:
        at = reached
        for name in str(operation.get("path", "")).split("/")[1:-1]:
            at = at.setdefault(name.replace("~1", "/").replace("~0", "~"), {})
    return reached


def _shown(value: Any, change: dict[str, Any]) -> str:
    """Return a patched object as a string: a server sorts only the keys that the patch went through."""
    return escaped(_encode(_sorted_along(value, change))).decode()


def _sorted_along(value: Any, change: Any) -> Any:
    if not is_map(value) or not is_map(change):
        return value
    return {
        name: _sorted_along(value[name], change[name]) if name in change else value[name]
        for name in sorted(value)
    }


def _restored(why: str, change: dict[str, Any]) -> str:
    """Return what is wrong with a value, as a strategic merge patch words it: without any JSON."""
    found = _UNREADABLE.search(why)
    if found is None:
        return why
    read, number, field, wanted = found.groups()
    given = _GIVEN.get(read, read)
    if read == "number" and (number is None or not number.lstrip("-").isdigit()):
        given = _number_at(change, field)
    if wanted.startswith("map["):
        return f"cannot restore map from {given}"
    if wanted.startswith("[]"):
        return f"cannot restore slice from {given}"
    if "." in wanted:
        return f"cannot restore struct from: {given}"
    # Go converts between numbers, and an integer to a string; the converter then finds that it may not.
    if (given, wanted) == ("int64", "string") or (given == "float64" and wanted.startswith("int")):
        return f"cannot convert {given} to {wanted}"
    return f"unrecognized type: {wanted}"


def _number_at(change: Any, field: str) -> str:
    """Return the type of the number at a field of a patch, or of one inside it."""
    for name in field.split("."):
        change = change.get(name) if is_map(change) else None
    numbers = change.values() if is_map(change) else change if is_list(change) else [change]
    return "float64" if any(isinstance(one, float) for one in numbers) else "int64"


def _odd(text: str, why: str) -> Rejection:
    """Return the refusal of a patch whose result does not fit: no name, no kind, the object in the text."""
    message = f"Invalid value: {_encode(text).decode()}: {why}"
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
    return Rejection(failure(422, f' "" is invalid: patch: {message}', status_details(causes=[cause])))

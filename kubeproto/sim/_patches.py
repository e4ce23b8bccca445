"""Patches: an object changed by what a client says has to change, in four languages."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..objects import PatchError, apply_json_patch, apply_merge_patch
from ._apply_values import is_list, is_map
from ._bodies import read_value, read_yaml
from ._query import Query
from ._refusals import Refused, about, bad_request, failure, not_found, rejected_patch, unsupported_media
from ._typed import Misfit
from ._writes import Writer, Written

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
_FOR_CUSTOM: Final = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY}"
_MOST_OPERATIONS: Final = 10_000
_encode: Final = msgspec.json.Encoder().encode


class PatchWriter(Writer):
    """A writer whose refusals have the odd shape that those of patches have."""

    shown = ""  # the object after the patch, as refusals show it

    def strict_refusal(self, faults: list[str]) -> Refused:
        return _odd(self.shown, f"strict decoding error: {', '.join(faults)}")

    def misfit(self, error: Misfit) -> Refused:
        return _odd(self.shown, str(error))


def patch(writer: PatchWriter, body: bytes, content_type: str, query: Query) -> Written:
    """Change an object as a patch says; apply creates it if need be."""
    media = content_type.partition(";")[0].strip()
    served, route = writer.served, writer.route
    known = (JSON_PATCH, MERGE_PATCH, APPLY) if served.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)
    if media not in known:
        raise unsupported_media(_FOR_CUSTOM if served.custom else "")
    if media == APPLY:
        return _apply(writer, body, query)
    change = read_value(body)
    if media == JSON_PATCH:
        check_operations(change)
    elif not isinstance(change, dict):
        raise bad_request("couldn't get version/kind; json parse error: the patch is no object")
    old = served.shelf.objects.get(served.key(route.namespace, route.name))
    if old is None:
        raise not_found(served.plural, served.group, route.name)
    current: dict[str, Any] = msgspec.json.decode(served.shown(old.data))
    identity = _identity(current)
    patched = _patched(writer, media, current, change)
    if not is_map(patched):
        raise rejected_patch()
    result = patched
    _check_identity(identity, result)
    if served.custom:
        result["apiVersion"] = served.shelf_version
    writer.shown = _text_of(result)
    writer.tidy(result, [])
    return writer.store(old, result, patched=True)


def _patched(writer: Writer, media: str, current: dict[str, Any], change: Any) -> Any:
    match media:
        case _ if media == JSON_PATCH:
            try:
                return apply_json_patch(current, change, like_server=True)
            except PatchError:
                raise rejected_patch() from None
        case _ if media == MERGE_PATCH:
            return _merge(current, change)
        case _:
            return writer.tracker.merged(current, change)


def _merge(current: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """A merge patch, in place: the object was read for this patch alone."""
    for name, value in change.items():
        below = current.get(name)
        if value is None:
            current.pop(name, None)
        elif is_map(value) and is_map(below):
            _merge(below, value)
        else:
            current[name] = apply_merge_patch(below, value)
    return current


def _apply(writer: Writer, body: bytes, query: Query) -> Written:
    applied, twice = read_yaml(body)
    served, route = writer.served, writer.route
    if not applied.get("kind") or not applied.get("apiVersion"):
        raise bad_request(
            f"invalid object type: {applied.get('apiVersion', '')}, Kind={applied.get('kind', '')}".replace(
                ": ,", ": /,"
            )
        )
    meta: dict[str, Any] = applied.setdefault("metadata", {})
    if "managedFields" in meta:
        raise bad_request("metadata.managedFields must be nil")
    if meta.setdefault("name", route.name) != route.name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({route.name})"
        )
    old = served.shelf.objects.get(served.key(route.namespace, route.name))
    return writer.tracker.applied(
        writer, old, applied, twice, force=query.get("force", "") not in ("", "0", "false")
    )


def check_operations(change: Any) -> None:
    """Refuse what is no list of operations, or too long a one."""
    if not is_list(change):
        why = "json: cannot unmarshal into Go value of type jsonpatch.Patch"
        raise bad_request(f"error decoding patch: {why}")
    if not all(isinstance(one, dict) for one in change):
        raise bad_request("error decoding patch: an operation is no object")
    if len(change) > _MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(change)}"
        raise Refused(failure(413, message, {}))


_Identity = tuple[Any, Any, Any, Any]


def _identity(obj: dict[str, Any]) -> _Identity:
    meta: dict[str, Any] = obj["metadata"]
    return obj.get("apiVersion"), obj.get("kind"), meta.get("name"), meta.get("namespace")


def _check_identity(before: _Identity, patched: dict[str, Any]) -> None:
    if not isinstance(patched.get("metadata"), dict):
        raise rejected_patch()
    names = ("apiVersion", "kind", "name", "namespace")
    for field, was, becomes in zip(names, before, _identity(patched), strict=True):
        if was == becomes:
            continue
        if field in ("apiVersion", "kind"):
            raise _odd(_text_of(patched), f"the {field} of the object does not match that of the request")
        raise bad_request(
            f"the {field} of the object ({becomes}) does not match the {field} on the URL ({was})"
        )


def _text_of(obj: dict[str, Any]) -> str:
    return _encode({key: obj[key] for key in sorted(obj)}).decode()


def _odd(text: str, why: str) -> Refused:
    """The refusal of a patch whose result does not fit: no name, no kind, the whole object in the text."""
    message = f"Invalid value: {_encode(text).decode()}: {why}"
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
    return Refused(failure(422, f' "" is invalid: patch: {message}', about(causes=[cause])))

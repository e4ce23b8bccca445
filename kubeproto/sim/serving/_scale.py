"""The scale subresource: the replicas of an object, read and written as a Scale."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...crd import Violation
from ...objects import PatchError, Selector, apply_json_patch, apply_merge_patch
from .._refusals import Rejection, about, conflict, failure, invalid, rejected_patch
from .._state import ServerState
from ..kinds._typed import TypedCodec
from ..reading._columns import look_up
from ..reading._query import write_options
from ..reading._routes import Route
from ..storage._values import is_map
from ..writing._bodies import read_value
from ..writing._patches import JSON_PATCH, check_operations
from ..writing._writes import Writer
from ._messages import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import check_fit, read_body, stored_object

_SCALE: Final = "autoscaling_v1.Scale"


def scale(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Read or write the replicas of an object as its Scale."""
    writes = route.verb != "get"
    if writes:
        write_options(request.query, "PatchOptions" if route.verb == "patch" else "UpdateOptions")
    body = read_body(request, _SCALE, custom=route.served.custom) if route.verb == "update" else None
    stored = stored_object(route)
    obj = route.served.read(stored.data)
    spec_path, _, _ = _scale_paths(route)
    if writes:
        wanted = body or _patched_scale(request, _scale_of(route, obj, strict=False))
        version = wanted.get("metadata", {}).get("resourceVersion", "")
        if version not in ("", "0", str(stored.version)):
            raise conflict(route.served.plural, route.served.group, route.name)
        replicas = wanted.get("spec", {}).get("replicas", 0)
        if replicas < 0 and not route.served.custom:
            fault = Violation(
                "FieldValueInvalid", "spec.replicas", replicas, "must be greater than or equal to 0"
            )
            raise invalid("Scale", "autoscaling", route.name, [fault])
        _put(obj, spec_path, replicas)
        main = msgspec.structs.replace(route, subresource="")
        # Webhooks of the scaled kind are not asked about its scale.
        writer = Writer(state, main, request.query, request.manager)
        writer.tracker.subresource = "scale"
        written = writer.store(stored, obj)
        obj = route.served.read(written.data)
    codec = TypedCodec(_SCALE, "Scale")
    return body_response(200, codec.write(_scale_of(route, obj, strict=True)) + b"\n", request, warnings)


def _patched_scale(request: ServerRequest, scale: dict[str, Any]) -> dict[str, Any]:
    change = read_value(request.head.body)
    patched: Any
    if request.headers.get("content-type", "").startswith(JSON_PATCH):
        check_operations(change)
        try:
            patched = apply_json_patch(scale, change, like_server=True)
        except PatchError:
            raise rejected_patch() from None
    else:
        patched = apply_merge_patch(scale, change)
    if not is_map(patched):
        raise rejected_patch()
    check_fit(patched, _SCALE)
    return patched


def _scale_paths(route: Route) -> tuple[str, str, str]:
    scale = route.served.defined.scale if route.served.defined else None
    if scale is None:
        return ".spec.replicas", ".status.replicas", ".spec.selector"
    return scale.spec_replicas, scale.status_replicas, scale.label_selector


def _scale_of(route: Route, obj: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    spec_path, status_path, selector_path = _scale_paths(route)
    meta = obj["metadata"]
    replicas = look_up(obj, spec_path)
    if replicas is None and strict and route.served.custom:
        why = f"the spec replicas field {spec_path!r} does not exist".replace("'", '"')
        details = about(causes=[{"message": why}])
        raise Rejection(failure(500, f"Internal error occurred: {why}", details))
    selector = look_up(obj, selector_path) if selector_path else None
    if is_map(selector):
        plain = "matchLabels" not in selector and "matchExpressions" not in selector
        selector = str(Selector.of(selector) if plain else Selector.from_object(selector))
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: dict[str, Any] = {"replicas": look_up(obj, status_path) or 0}
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _put(obj: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.removeprefix(".").split(".")
    for name in above:
        obj = obj.setdefault(name, {})
    obj[last] = value

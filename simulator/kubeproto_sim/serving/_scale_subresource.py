"""The scale subresource: the replicas of an object, read and written as a Scale."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.crd import Violation
from kubeproto.objects import Selector, copy_json, is_object

from .._rejections import (
    Rejection,
    bad_request,
    conflict,
    failure,
    invalid,
    rejected_patch,
    status_details,
)
from .._state import ServerState
from ..kinds._typed_codec import TypedCodec, TypeMismatch
from ..reading._columns import look_up
from ..reading._list_requests import read_version
from ..reading._query import write_options
from ..reading._routes import Route
from ..storage._json_values import go_kind, quoted
from ..storage._storage import StoredRecord
from ..writing._object_writer import Writer
from ..writing._patch_requests import changed, check_media, read_change, unfit
from ..writing._request_bodies import read_object
from ..writing._write_errors import invalid_version_number, kind_mismatch, uid_mismatch
from ..writing._write_gates import SubresourceBody
from ._server_responses import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import stored_object

_CODEC: Final = TypedCodec("autoscaling_v1.Scale", "Scale")
_SCALE_TYPE: Final = ("Scale", "autoscaling/v1")
_UNSET: Final = -(2**31)


def handle_scale(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Read or write the replicas of an object as its Scale."""
    is_write = route.verb != "get"
    if is_write:
        write_options(request.query, "PatchOptions" if route.verb == "patch" else "UpdateOptions")
    body = updated_scale(state, route, request) if route.verb == "update" else None
    stored = stored_object(route)
    obj = route.served.read(stored.data)
    if is_write:
        main = msgspec.structs.replace(route, subresource="")
        writer = Writer(state, main, request.query, request.manager)
        if body is None:
            present = _scale_of(route, obj, strict=False)
            # The server uses this value for a missing replicas field.
            present["spec"].setdefault("replicas", _UNSET)
            body = patched_scale(state, route, request, present)
        _check_meta(writer, stored, body.get("metadata", {}), patched=route.verb == "patch")
        body = _admit(route, request, _scale_of(route, obj, strict=False), body)
        path = tuple(_scale_paths(route)[0].removeprefix(".").split("."))
        _put(obj, path, _requested_replicas(route, body))
        writer.tracker.scaled = path
        written = writer.store(stored, obj)
        obj = route.served.read(written.data)
    return body_response(200, _CODEC.write(_scale_of(route, obj, strict=True)) + b"\n", request, warnings)


def _admit(route: Route, request: ServerRequest, old: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the Scale after webhooks, which see the Scale and not its object, or refuse the request."""
    gate = request.gates.gate_for(route, request.query)
    proposed = {**old, "spec": body.get("spec", {})}
    if route.verb == "update":  # as the client sent it, with an empty status
        meta = {"namespace": route.namespace, **body.get("metadata", {})}
        proposed = {"metadata": meta, "spec": proposed["spec"], "status": {"replicas": 0}}
    candidate = SubresourceBody(
        api_version="autoscaling/v1", kind="Scale", operation="UPDATE", obj=proposed, old=old,
        dry_run=bool(request.query.get("dryRun")),
    )  # fmt: skip
    spec = gate.mutate_body(candidate).get("spec", {})
    gate.validate_body(msgspec.structs.replace(candidate, obj={**old, "spec": spec}))
    return {**body, "spec": spec}


def _check_meta(writer: Writer, stored: StoredRecord, meta: dict[str, Any], *, patched: bool) -> None:
    """Refuse the Scale of another object, or of another version of it."""
    served, name = writer.served, writer.route.name
    writer.check_place(meta)
    version, uid = meta.get("resourceVersion", ""), meta.get("uid", "")
    if version and read_version(version) is None:
        raise invalid_version_number(version)
    # A patch of the Scale of a custom resource applies to the stored object, even if its uid differs.
    if uid and uid != stored.uid and not (patched and served.custom):
        problem = uid_mismatch(served, stored.key, uid, stored.uid, dry_run=writer.dry_run)
        if not patched:
            raise conflict(served.plural, served.group, name, problem)
        problem = problem.partition("AdditionalErrorMsg: ")[2]
        raise conflict(f"{served.plural}/scale", served.group, name, problem)
    if version not in ("", "0", str(stored.version)):
        raise conflict(served.plural, served.group, name)


def _requested_replicas(route: Route, scale: dict[str, Any]) -> int:
    """Return the replicas that a Scale requests, or refuse it."""
    replicas: int = scale.get("spec", {}).get("replicas", 0)
    if route.served.custom and replicas == _UNSET:
        raise bad_request(f"the spec replicas field {quoted(_scale_paths(route)[0])} cannot be empty")
    if replicas < 0 and not route.served.custom:
        fault = Violation(
            "FieldValueInvalid", "spec.replicas", replicas, "must be greater than or equal to 0"
        )
        raise invalid("Scale", "autoscaling", route.name, [fault])
    return replicas


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
        problem = f"the spec replicas field {spec_path!r} does not exist".replace("'", '"')
        details = status_details(causes=[{"message": problem}])
        raise Rejection(failure(500, f"Internal error occurred: {problem}", details))
    selector = look_up(obj, selector_path) if selector_path else None
    if is_object(selector):
        plain = "matchLabels" not in selector and "matchExpressions" not in selector
        selector = str(Selector.of(selector) if plain else Selector.from_object(selector))
    copied_fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: dict[str, Any] = {"replicas": look_up(obj, status_path) or 0}
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in copied_fields if name in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _put(obj: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *parents, last = path
    for name in parents:
        obj = obj.setdefault(name, {})
    obj[last] = value


def updated_scale(state: ServerState, route: Route, request: ServerRequest) -> dict[str, Any]:
    """Return the body of an update, or refuse it."""
    body, _ = read_object(request.raw.body, request.headers.get("content-type", ""), "Scale")
    try:
        _check(state, route, body)
    except TypeMismatch as error:
        if route.served.custom:
            problem = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
            raise bad_request(problem) from None
        kind, version = body.get("kind") or "Scale", body.get("apiVersion") or "v1"
        sent_type = f"{kind} in version {quoted(version.rpartition('/')[2])}"
        raise bad_request(f"{sent_type} cannot be handled as a Scale: {error}") from None
    return body


def patched_scale(
    state: ServerState, route: Route, request: ServerRequest, present: dict[str, Any]
) -> dict[str, Any]:
    """Return the Scale after a patch, or refuse it."""
    content_type = request.headers.get("content-type", "")
    check_media(route.served, content_type)
    media = content_type.partition(";")[0].strip()
    change = read_change(media, request.raw.body)
    result: Any = changed(media, copy_json(present), change)
    if not is_object(result):
        raise rejected_patch()
    patched: dict[str, Any] = copy_json(result)
    try:
        _check_kind_and_version(patched)
        _check(state, route, patched)
    except TypeMismatch as error:
        raise unfit(media, change, result, error) from None
    return patched


def _check_kind_and_version(scale: dict[str, Any]) -> None:
    for name in ("kind", "apiVersion"):
        if not isinstance(value := scale.get(name) or "", str):
            problem = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            raise TypeMismatch(f"couldn't get version/kind; json parse error: {problem}")


def _check(state: ServerState, route: Route, scale: dict[str, Any]) -> None:
    """Convert a Scale to the form of its type, or raise `TypeMismatch`."""
    # The handler of custom resources knows no kind but Scale.
    kinds = None if route.served.custom else state.kinds
    if problem := kind_mismatch(kinds, _SCALE_TYPE, scale.get("kind") or "", scale.get("apiVersion") or ""):
        raise TypeMismatch(problem)
    _CODEC.tidy(scale)
    _CODEC.write(scale)

"""Subresources other than status: scale, eviction, binding, token, finalize and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...crd import Violation
from ...objects import PatchError, Selector, apply_json_patch, apply_merge_patch
from .._refusals import (
    Rejection,
    about,
    bad_request,
    conflict,
    failure,
    invalid,
    not_found,
    rejected_patch,
    unknown_resource,
    unsupported_media,
)
from .._state import ServerState
from ..access._tokens import ISSUER, make_token
from ..kinds._typed import Misfit, TypedCodec
from ..reading._columns import look_up
from ..reading._query import write_options
from ..reading._routes import Route
from ..storage._parts import member, texts
from ..storage._storage import Stored
from ..storage._values import is_map
from ..writing._bodies import read_object, read_value
from ..writing._deletes import DeleteOptions, delete
from ..writing._edits import edit, remove
from ..writing._patches import JSON_PATCH, check_media, check_operations, patch
from ..writing._writes import Writer, Written
from ._admitting import patch_writer_for, writer_for
from ._messages import ServerRequest, ServerResponse, body_response, plain_response
from ._objects import object_response, write_response

_SCALE: Final = "autoscaling_v1.Scale"
_SHORTEST_TOKEN: Final = 600
_DEFAULT_TOKEN: Final = 3600
_BINDABLE: Final = ("Pod", "Secret", "Node")  # what a token may end with
_SUCCESS: Final[dict[str, Any]] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def subresource(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Respond to a request for a subresource."""
    respond = _SUBRESOURCES.get(route.subresource)
    if respond is None:
        raise unknown_resource()
    return respond(state, route, request, warnings)


def _body(request: ServerRequest, type_: str, *, custom: bool = False) -> dict[str, Any]:
    """The body of a request as an object of a type; or 400, in other words for a custom resource."""
    kind = type_.rpartition(".")[2]
    body, _ = read_object(request.head.body, request.headers.get("content-type", ""), kind)
    _fit(body, type_, custom=custom)
    return body


def _fit(body: dict[str, Any], type_: str, *, custom: bool = False) -> None:
    kind = type_.rpartition(".")[2]
    codec = TypedCodec(type_, kind)
    try:
        codec.tidy(body)
        codec.write(body)
    except Misfit as error:
        if custom:
            why = f'no kind is registered for the type v1.{kind} in scheme "pkg/runtime/scheme.go:111"'
            raise bad_request(why) from None
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


def _stored(route: Route) -> Stored:
    served = route.served
    stored = served.storage.objects.get(served.key(route.namespace, route.name))
    if stored is None:
        raise not_found(served.plural, served.group, route.name)
    return stored


def _scale(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    writes = route.verb != "get"
    if writes:
        write_options(request.query, "PatchOptions" if route.verb == "patch" else "UpdateOptions")
    body = _body(request, _SCALE, custom=route.served.custom) if route.verb == "update" else None
    stored = _stored(route)
    obj = route.served.read(stored.data)
    spec_path, _, _ = _scale_paths(route)
    if writes:
        scale = body or _patched_scale(request, _scale_of(route, obj, strict=False))
        version = scale.get("metadata", {}).get("resourceVersion", "")
        if version not in ("", "0", str(stored.version)):
            raise conflict(route.served.plural, route.served.group, route.name)
        replicas = scale.get("spec", {}).get("replicas", 0)
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
        obj = msgspec.json.decode(written.data)
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
    _fit(patched, _SCALE)
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


def _eviction(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    stored = _stored(route)
    body = _body(request, "policy_v1.Eviction")
    budgets = [
        (budget, obj)
        for budget in state.storage.resource("poddisruptionbudgets.policy").objects.values()
        if budget.namespace == stored.namespace
        and (obj := msgspec.json.decode(budget.data))
        and Selector.from_object(obj["spec"].get("selector") or {}).matches(stored.labels)
    ]
    if len(budgets) > 1:
        message = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
        raise Rejection(failure(500, message, reason=""))
    for budget, obj in budgets:
        _check_budget(state, route, budget, obj)
    options = msgspec.convert(body.get("deleteOptions") or {}, DeleteOptions)
    if request.query.get("dryRun") and not options.dry_run:
        options = msgspec.structs.replace(options, dry_run=["All"])
    delete(state, route.served, stored.key, stored.name, options)
    return body_response(201, msgspec.json.encode(_SUCCESS) + b"\n", request, warnings)


def _check_budget(state: ServerState, route: Route, budget: Stored, obj: dict[str, Any]) -> None:
    spec = obj["spec"]
    pods = [
        one
        for one in route.served.storage.objects.values()
        if one.namespace == budget.namespace
        and Selector.from_object(spec.get("selector") or {}).matches(one.labels)
    ]
    healthy = len(pods)
    if "minAvailable" in spec:
        needed = _share(spec["minAvailable"], healthy)
    else:
        needed = healthy - _share(spec.get("maxUnavailable", 0), healthy)
    if healthy - 1 < needed:
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        cause = {
            "reason": "DisruptionBudget",
            "message": (
                f"The disruption budget {budget.name} needs {needed} healthy pods and has {healthy} currently"
            ),
        }
        raise Rejection(failure(429, message, {"causes": [cause]}))


def _share(value: int | str, of: int) -> int:
    """A number of pods, or a percentage of them, rounded up."""
    if isinstance(value, int):
        return value
    return -(-int(value.removesuffix("%")) * of // 100)


def _binding(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    stored = _stored(route)
    body = _body(request, "core_v1.Binding")
    node = member(body, "target").get("name")
    if not node:
        fault = Violation("FieldValueRequired", "target.name")
        raise invalid("Binding", "", route.name, [fault])
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    if bound := obj["spec"].get("nodeName"):
        why = f"pod {route.name} is already assigned to node {bound!r}".replace("'", '"')
        raise conflict("pods/binding", "", route.name, why)

    def bind(pod: dict[str, Any]) -> None:
        pod["spec"]["nodeName"] = node
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        stamp = state.clock.stamp()
        conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp})

    if not request.query.get("dryRun"):
        edit(state, route.served, stored, bind)
    return body_response(201, msgspec.json.encode(_SUCCESS) + b"\n", request, warnings)


def _token(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    stored = _stored(route)
    body = _body(request, "authentication_v1.TokenRequest")
    spec: dict[str, Any] = body.setdefault("spec", {})
    lifetime = spec.setdefault("expirationSeconds", _DEFAULT_TOKEN)
    if lifetime < _SHORTEST_TOKEN:
        text = "may not specify a duration less than 10 minutes"
        fault = Violation("FieldValueInvalid", "spec.expirationSeconds", lifetime, text)
        raise invalid("TokenRequest", "authentication.k8s.io", "", [fault])
    asked = bool(spec.get("audiences"))
    if not asked:
        spec["audiences"] = [ISSUER]
    bound = _bound_object(state, stored, member(spec, "boundObjectRef"))
    stamp = state.clock.stamp()
    owned: dict[str, Any] = {
        f"f:{name}": {} for name in ("audiences", "expirationSeconds") if asked or name != "audiences"
    }
    if bound:
        owned["f:boundObjectRef"] = {f"f:{name}": {} for name in sorted(spec["boundObjectRef"])}
    entry = {
        "manager": request.manager, "operation": "Update", "apiVersion": "authentication.k8s.io/v1",
        "time": stamp, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": owned}, "subresource": "token",
    }  # fmt: skip
    answer = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": stored.name, "namespace": stored.namespace, "uid": stored.uid, "creationTimestamp": stamp,
            "managedFields": [entry],
        },
        "spec": spec,
        "status": {
            "token": make_token(state, stored, spec["audiences"], lifetime, bound),
            "expirationTimestamp": state.clock.stamp(lifetime),
        },
    }  # fmt: skip
    codec = TypedCodec("authentication_v1.TokenRequest", "TokenRequest")
    return body_response(201, codec.write(answer) + b"\n", request, warnings)


def _bound_object(state: ServerState, account: Stored, bound: dict[str, Any]) -> tuple[str, Stored] | None:
    """The object with which a token is to end, and its kind; or a refusal."""
    if not bound:
        return None
    api_version, kind, name = (bound.get(part, "") for part in ("apiVersion", "kind", "name"))
    if kind not in _BINDABLE or api_version not in ("", "v1"):
        group, _, version = api_version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    served = state.kinds.of_kind("v1", kind)
    assert served is not None  # a kind of the server's own
    stored = served.storage.objects.get(served.key(account.namespace, name))
    if stored is None:
        raise not_found(served.plural, "", name)
    if kind == "Pod":
        pod: dict[str, Any] = msgspec.json.decode(stored.data)
        if pod["spec"].get("serviceAccountName") != account.name:
            raise bad_request(
                f'cannot bind token for serviceaccount "{account.name}" to pod running with different'
                " serviceaccount name."
            )
    if (uid := bound.get("uid")) and uid != stored.uid:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. The object"
            " might have been deleted and then recreated"
        )
        raise conflict(served.kind, "", name, why)
    return kind, stored


def _finalize(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """A namespace whose last finalizer goes, goes itself."""
    stored, served = _stored(route), route.served
    body = _body(request, "core_v1.Namespace")
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    finalizers = texts(member(body, "spec"), "finalizers")
    obj["spec"] = {"finalizers": finalizers} if finalizers else {}
    if body.get("metadata", {}).get("resourceVersion", str(stored.version)) != str(stored.version):
        raise conflict(served.plural, served.group, route.name)
    main = msgspec.structs.replace(route, subresource="finalize")
    written = writer_for(state, main, request, warnings).store(stored, obj)
    if obj["metadata"].get("deletionTimestamp") and not finalizers and not obj["metadata"].get("finalizers"):
        remove(state, served, served.storage.objects[stored.key])
    return object_response(state, route, request, written.data, warnings)


def _as_object(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """A subresource that speaks in the kind itself: another door to the same object."""
    if route.verb == "get":
        return object_response(state, route, request, _stored(route).data, warnings)
    main = msgspec.structs.replace(route, subresource="")
    if route.verb == "patch":
        write_options(request.query, "PatchOptions")
        patcher = patch_writer_for(state, main, request, warnings, about=route)
        content_type = request.headers.get("content-type", "")
        check_media(route.served, content_type)
        written: Written = patch(patcher, request.head.body, content_type, request.query)
        return write_response(state, route, request, patcher, written)
    write_options(request.query, "UpdateOptions")
    writer = writer_for(state, main, request, warnings, about=route)
    written = writer.replace(
        *read_object(request.head.body, request.headers.get("content-type", ""), route.served.kind)
    )
    return write_response(state, route, request, writer, written)


def _log(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Pods here run nothing, so they say nothing."""
    pod = msgspec.json.decode(_stored(route).data)
    if not pod["spec"].get("nodeName"):
        return ServerResponse(204, (("Cache-Control", "no-cache, private"),), b"")
    names = [one["name"] for one in pod["spec"]["containers"]]
    if (container := request.query.get("container")) and container not in names:
        raise bad_request(f"container {container} is not valid for pod {route.name}")
    return plain_response(200, "")


def _upgrade(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """What needs a connection of its own is not served here."""
    pod = msgspec.json.decode(_stored(route).data)
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {route.name} does not have a host assigned")
    if request.headers.get("upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    raise unsupported_media()


_Respond = Callable[[ServerState, Route, ServerRequest, list[str]], ServerResponse]
_SUBRESOURCES: Final[dict[str, _Respond]] = {
    "scale": _scale,
    "eviction": _eviction,
    "binding": _binding,
    "token": _token,
    "finalize": _finalize,
    "ephemeralcontainers": _as_object,
    "resize": _as_object,
    "approval": _as_object,
    "log": _log,
    "exec": _upgrade,
    "attach": _upgrade,
    "portforward": _upgrade,
}

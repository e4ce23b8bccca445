"""The token subresource of a service account, which returns a token for a TokenRequest."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.crd import Violation

from .._rejections import bad_request, conflict, invalid, not_found
from .._state import ServerState
from ..access._account_tokens import ISSUER, make_token
from ..kinds._typed_codec import TypedCodec
from ..reading._routes import Route
from ..storage._json_values import member
from ..storage._storage import StoredRecord
from ._server_responses import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import check_body, created_body, stored_object

_API: Final = "authentication.k8s.io/v1"
_MIN_TOKEN_SECONDS: Final = 600
_DEFAULT_TOKEN_SECONDS: Final = 3600
_BINDABLE: Final = ("Pod", "Secret", "Node")  # a token can end with the deletion of such an object


def create_token(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Create a token of a service account."""
    admitted = created_body(request, route, "authentication_v1.TokenRequest", _API, _fill)
    stored, spec = stored_object(route), admitted.obj["spec"]
    account = {"name": stored.name, "uid": stored.uid, "creationTimestamp": state.clock.stamp()}
    shown_object = {**admitted.obj, "metadata": {**admitted.obj["metadata"], **account}}
    check_body(request, route, msgspec.structs.replace(admitted, obj=shown_object))
    lifetime = spec["expirationSeconds"]
    if lifetime < _MIN_TOKEN_SECONDS:
        text = "may not specify a duration less than 10 minutes"
        fault = Violation("FieldValueInvalid", "spec.expirationSeconds", lifetime, text)
        raise invalid("TokenRequest", "authentication.k8s.io", "", [fault])
    has_audiences = bool(spec.get("audiences"))
    if not has_audiences:
        spec["audiences"] = [ISSUER]
    bound = _bound_object(state, stored, member(spec, "boundObjectRef"))
    stamp = state.clock.stamp()
    owned: dict[str, Any] = {
        f"f:{name}": {} for name in ("audiences", "expirationSeconds") if has_audiences or name != "audiences"
    }
    if bound:
        owned["f:boundObjectRef"] = {f"f:{name}": {} for name in sorted(spec["boundObjectRef"])}
    entry = {
        "manager": request.manager, "operation": "Update", "apiVersion": _API,
        "time": stamp, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": owned}, "subresource": "token",
    }  # fmt: skip
    response = {
        "kind": "TokenRequest",
        "apiVersion": _API,
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
    return body_response(201, codec.write(response) + b"\n", request, warnings)


def _fill(body: dict[str, Any]) -> None:
    spec = body.setdefault("spec", {})
    spec.setdefault("expirationSeconds", _DEFAULT_TOKEN_SECONDS)
    spec.setdefault("boundObjectRef", None)
    body["status"] = {"token": "", "expirationTimestamp": None}


def _bound_object(
    state: ServerState, account: StoredRecord, bound: dict[str, Any]
) -> tuple[str, StoredRecord] | None:
    """Return the kind of the object that the token is bound to, and the object; or refuse the request."""
    if not bound:
        return None
    api_version, kind, name = (bound.get(part, "") for part in ("apiVersion", "kind", "name"))
    if kind not in _BINDABLE or api_version not in ("", "v1"):
        group, _, version = api_version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    served = state.kinds.of_kind("v1", kind)
    assert served is not None  # a built-in kind is always served
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
        problem = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. The object"
            " might have been deleted and then recreated"
        )
        raise conflict(served.kind, "", name, problem)
    return kind, stored

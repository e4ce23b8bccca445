"""Bodies of subresources: parsing, admission, and the object that a request names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from .._rejections import bad_request, not_found
from ..kinds._typed_codec import TypedCodec, TypeMismatch
from ..reading._routes import Route
from ..storage._json_values import member
from ..storage._storage import StoredRecord
from ..writing._request_bodies import read_object
from ..writing._write_gates import SubresourceBody
from ._server_responses import ServerRequest

# The Status of a request that has created no stored object.
CREATED: Final[dict[str, Any]] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def read_body(request: ServerRequest, type_: str) -> dict[str, Any]:
    """Return the body of a request as an object of a type, or refuse with 400."""
    kind = type_.rpartition(".")[2]
    body, _ = read_object(request.raw.body, request.headers.get("content-type", ""), kind)
    codec = TypedCodec(type_, kind)
    try:
        codec.tidy(body)
    except TypeMismatch as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None
    return body


def created_body(
    request: ServerRequest, route: Route, type_: str, api_version: str,
    fill: Callable[[dict[str, Any]], None] | None = None,
) -> SubresourceBody:  # fmt: skip
    """Return the body of a creation by a subresource, after the mutating webhooks.

    `fill` fills in its defaults.
    """
    body = read_body(request, type_)
    if fill is not None:
        fill(body)
    # The namespace of the request is the default.
    body["metadata"] = {"namespace": route.namespace, **member(body, "metadata")}
    candidate = SubresourceBody(
        api_version=api_version, kind=type_.rpartition(".")[2], operation="CREATE", obj=body,
        dry_run=bool(request.query.get("dryRun")),
    )  # fmt: skip
    mutated = request.gates.gate_for(route, request.query).mutate_body(candidate)
    return msgspec.structs.replace(candidate, obj=mutated)


def check_body(request: ServerRequest, route: Route, body: SubresourceBody) -> None:
    """Pass a body through policies and validating webhooks, which may refuse it."""
    request.gates.gate_for(route, request.query).validate_body(body)


def stored_object(route: Route) -> StoredRecord:
    """Return the object that a request names, or refuse with 404."""
    served = route.served
    stored = served.storage.objects.get(served.key(route.namespace, route.name))
    if stored is None:
        raise not_found(served.plural, served.group, route.name)
    return stored

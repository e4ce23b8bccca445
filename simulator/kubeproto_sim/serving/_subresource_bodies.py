"""What the subresources share: reading a body of a certain type, and the object that is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from .._rejections import bad_request, not_found
from ..kinds._typed import Misfit, TypedCodec
from ..reading._routes import Route
from ..storage._json_values import member
from ..storage._storage import Stored
from ..writing._bodies import read_object
from ..writing._gates import SubresourceBody
from ._server_responses import ServerRequest

# The Status of a request that has created something other than an object.
CREATED: Final[dict[str, Any]] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def read_body(request: ServerRequest, type_: str) -> dict[str, Any]:
    """Return the body of a request as an object of a type; or 400."""
    kind = type_.rpartition(".")[2]
    body, _ = read_object(request.head.body, request.headers.get("content-type", ""), kind)
    codec = TypedCodec(type_, kind)
    try:
        codec.tidy(body)
    except Misfit as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None
    return body


def created_body(
    request: ServerRequest, route: Route, type_: str, api_version: str,
    fill: Callable[[dict[str, Any]], None] | None = None,
) -> SubresourceBody:  # fmt: skip
    """Return the body of a request that creates something by a subresource, as mutating webhooks leave it.

    `fill` fills in its defaults.
    """
    body = read_body(request, type_)
    if fill is not None:
        fill(body)
    # In the namespace of the request, if it names none.
    body["metadata"] = {"namespace": route.namespace, **member(body, "metadata")}
    tried = SubresourceBody(
        api_version=api_version, kind=type_.rpartition(".")[2], operation="CREATE", obj=body,
        dry_run=bool(request.query.get("dryRun")),
    )  # fmt: skip
    changed = request.gate.of(route, request.query).mutate_body(tried)
    return msgspec.structs.replace(tried, obj=changed)


def check_body(request: ServerRequest, route: Route, body: SubresourceBody) -> None:
    """Refuse a body that a policy or a validating webhook refuses."""
    request.gate.of(route, request.query).validate_body(body)


def stored_object(route: Route) -> Stored:
    """Return the object that a request names; or 404."""
    served = route.served
    stored = served.storage.objects.get(served.key(route.namespace, route.name))
    if stored is None:
        raise not_found(served.plural, served.group, route.name)
    return stored

"""What the subresources share: reading a body of a certain type, and the object that is named."""

from __future__ import annotations

from typing import Any, Final

from .._refusals import bad_request, not_found
from ..kinds._typed import Misfit, TypedCodec
from ..reading._routes import Route
from ..storage._storage import Stored
from ..writing._bodies import read_object
from ._messages import ServerRequest

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


def stored_object(route: Route) -> Stored:
    """Return the object that a request names; or 404."""
    served = route.served
    stored = served.storage.objects.get(served.key(route.namespace, route.name))
    if stored is None:
        raise not_found(served.plural, served.group, route.name)
    return stored

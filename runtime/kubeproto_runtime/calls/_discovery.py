"""Discovery: the kinds of a server, waiting for a kind to be installed, and OpenAPI documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from kubeproto import ApiError, KubeObject, KubeprotoError, Metadata, Resource, requests
from kubeproto.requests import DiscoveryProgress

from ._core import call, fetch
from ._effects import SleepUntil

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Discovery

    from ._core import ClientCore
    from ._effects import Effects

_MOVED: Final = 301  # the hash of the document has changed
_POLL_PERIOD: Final = 1.0  # seconds; a definition is served within one or two


class KindNotServed(KubeprotoError):
    """The server does not serve a kind, `resource`."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(resource)
        self.resource = resource

    def __str__(self) -> str:
        return f"the definition of {self.resource.kind} ({self.resource.api_version}) is not installed"


def discover(client: ClientCore) -> Effects[Discovery]:
    """Discover all kinds of a server."""
    progress = DiscoveryProgress(client.discovery)
    while (result := progress.result) is None:
        request = progress.requests[0]
        progress = progress.receive(request, *(yield from fetch(client, request)))
    client.discovery = result
    return result


def openapi_document(client: ClientCore, path: str, hash_: str) -> Effects[dict[str, Any]]:
    """Return an OpenAPI document by its hash. If it has changed since, return the current document."""
    try:
        return (yield from call(client, requests.openapi_document(path, hash=hash_))).value
    except ApiError as error:
        if error.code != _MOVED or not hash_:
            raise
    return (yield from call(client, requests.openapi_document(path))).value


def require(
    client: ClientCore, kinds: Iterable[type[KubeObject] | Resource], *, within: float
) -> Effects[None]:
    """Wait until the server serves these kinds. Raise `KindNotServed` after `within` seconds."""
    required = [kind if isinstance(kind, Resource) else _resource_of(kind) for kind in kinds]
    deadline = client.now() + within
    while True:
        discovery = yield from discover(client)
        missing = [resource for resource in required if not _serves(discovery, resource)]
        if not missing:
            return
        if client.now() >= deadline:
            raise KindNotServed(missing[0])
        yield SleepUntil(min(client.now() + _POLL_PERIOD, deadline))


def _serves(discovery: Discovery, resource: Resource) -> bool:
    served = discovery.get(resource.gvk)
    if served is None:
        return resource.api_version in discovery.stale  # unknown while its aggregated server is down
    return served.plural == resource.plural


def _resource_of(kind: type[KubeObject]) -> Resource:
    described_kind = get_args(kind)[0] if get_origin(kind) is Metadata else kind
    return described_kind.resource

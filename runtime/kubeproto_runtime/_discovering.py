"""What a server serves: asked for as discovery says, and waited for where something is to be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args, get_origin

import anyio

from kubeproto import Discovering, KubeObject, KubeprotoError, Metadata, Resource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Discovery

    from ._client import Client

_AGAIN: Final = 1.0  # seconds; a definition is served within one or two


class NotInstalled(KubeprotoError):
    """The server does not know a kind. `resource` says which."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(resource)
        self.resource = resource

    def __str__(self) -> str:
        return f"the definition of {self.resource.kind} ({self.resource.api_version}) is not installed"


async def discover(client: Client, known: Discovery | None = None) -> Discovery:
    """Ask for all that a server serves."""
    asking = Discovering(known)
    while (result := asking.result) is None:
        request = asking.requests[0]
        asking = asking.received(request, *await client.fetch(request))
    return result


async def require(client: Client, kinds: Iterable[type[KubeObject] | Resource], *, within: float) -> None:
    """Make sure that the server knows these kinds, or wait for them."""
    wanted = [kind if isinstance(kind, Resource) else _resource_of(kind) for kind in kinds]
    end = anyio.current_time() + within
    while True:
        found = await client.discover()
        missing = [resource for resource in wanted if not _serves(found, resource)]
        if not missing:
            return
        if anyio.current_time() >= end:
            raise NotInstalled(missing[0])
        await anyio.sleep_until(min(anyio.current_time() + _AGAIN, end))


def _serves(found: Discovery, resource: Resource) -> bool:
    served = found.get(resource.gvk)
    if served is None:
        return resource.api_version in found.stale  # the server behind it is down: nobody can tell
    return served.plural == resource.plural


def _resource_of(kind: type[KubeObject]) -> Resource:
    described = get_args(kind)[0] if get_origin(kind) is Metadata else kind
    return described.resource

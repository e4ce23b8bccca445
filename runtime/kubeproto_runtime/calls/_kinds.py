"""Which API an object or a name belongs to: a class has it, for anything else discovery is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kubeproto import Api, Dynamic, InvalidRequest, KubeObject, Metadata, Resource
from kubeproto.objects import GroupVersionKind, kind_of

from ._core import call
from ._discovery import KindNotServed, discover

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto.requests import AllNamespaces, Discovery, Request

    from ._core import ClientCore
    from ._effects import Effects

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


class UnknownKind(KindNotServed):
    """The server serves no resource of this name. `similar` are the names that may have been meant."""

    def __init__(self, name: str, similar: tuple[str, ...], stale: tuple[str, ...]) -> None:
        super().__init__(Resource("", "", name, name))
        self.args = name, similar, stale
        self.name = name
        self.similar = similar
        self.stale = stale

    def __str__(self) -> str:
        said = f"the server serves no resource {self.name!r}"
        if self.similar:
            said += f"; did you mean {' or '.join(self.similar)}?"
        if self.stale:
            said += f" ({', '.join(self.stale)} could not be asked for its kinds)"
        return said


def resource_named(client: ClientCore, name: str) -> Effects[Resource]:
    """Return the resource of a plural, singular, kind, short name or ``plural.group``."""
    known = client.discovery
    if known is not None and (found := known.find(name)) is not None:
        return found
    known = yield from discover(client)
    if (found := known.find(name)) is None:
        raise UnknownKind(name, known.similar(name), known.stale)
    return found


def resources_named(client: ClientCore, name: str) -> Effects[tuple[Resource, ...]]:
    """Return the resource of a name or, if there is none, those of the category of this name."""
    try:
        return ((yield from resource_named(client, name)),)
    except UnknownKind:
        known = client.discovery
        if known is None or not (found := known.category(name)):
            raise
        return found


def all_named(
    client: ClientCore, name: str, namespace: str | AllNamespaces
) -> Effects[tuple[Api[Dynamic], ...]]:
    """Return the verbs on each resource of a name or of a category."""
    found = yield from resources_named(client, name)
    return tuple(_dynamic(client, resource, namespace) for resource in found)


def named(client: ClientCore, name: str, namespace: str | AllNamespaces) -> Effects[Api[Dynamic]]:
    """Return the verbs on the resource of a name; a namespace counts only where the kind has one."""
    resource = yield from resource_named(client, name)
    return _dynamic(client, resource, namespace)


def _dynamic(client: ClientCore, resource: Resource, namespace: str | AllNamespaces) -> Api[Dynamic]:
    place = namespace if resource.namespaced else ""
    return client.requests(Dynamic, namespace=place, resource=resource)


def api_of(client: ClientCore, obj: K) -> Effects[Api[K]]:
    """Return the verbs on the kind of an object, in the namespace that it names."""
    kind = kind_of(obj)
    place = obj.metadata.namespace
    if issubclass(kind, Metadata):
        raise InvalidRequest(
            f"the metadata of {obj.metadata.name!r} does not say of which kind it is; use"
            " client.api(kp.Metadata[…]) instead"
        )
    if not kind.abstract:
        return client.requests(kind, namespace=place)
    resource = yield from _resource_of(client, GroupVersionKind.of(obj.api_version, obj.kind))
    return client.requests(kind, namespace=place, resource=resource)


def _resource_of(client: ClientCore, gvk: GroupVersionKind) -> Effects[Resource]:
    known: Discovery | None = client.discovery
    found = None if known is None else known.get(gvk)
    if found is None:
        found = (yield from discover(client)).get(gvk)
    if found is None:
        raise KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
    return found


def call_on(client: ClientCore, obj: K, verb: Callable[[Api[K]], Request[T]]) -> Effects[T]:
    """Send a verb on the kind of an object, and return the value of its response."""
    api: Api[Any] = yield from api_of(client, obj)
    return (yield from call(client, verb(api))).value

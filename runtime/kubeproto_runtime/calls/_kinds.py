"""The API of an object or of a kind's name: from the class of the object, or by discovery."""

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
    """The server serves no resource with this name. `similar` has similar names."""

    def __init__(self, name: str, similar: tuple[str, ...], stale: tuple[str, ...]) -> None:
        super().__init__(Resource("", "", name, name))
        self.args = name, similar, stale
        self.name = name
        self.similar = similar
        self.stale = stale

    def __str__(self) -> str:
        message = f"the server serves no resource {self.name!r}"
        if self.similar:
            message += f"; did you mean {' or '.join(self.similar)}?"
        if self.stale:
            message += f" (the kinds of {', '.join(self.stale)} could not be discovered)"
        return message


def find_resource(client: ClientCore, name: str) -> Effects[Resource]:
    """Return the resource with a plural, singular, kind, short name or ``plural.group``."""
    discovery = client.discovery
    if discovery is not None and (resource := discovery.find(name)) is not None:
        return resource
    discovery = yield from discover(client)
    if (resource := discovery.find(name)) is None:
        raise UnknownKind(name, discovery.similar(name), discovery.stale)
    return resource


def find_resources(client: ClientCore, name: str) -> Effects[tuple[Resource, ...]]:
    """Return the resource with a name or, if there is none, the resources of the category with the name."""
    try:
        return ((yield from find_resource(client, name)),)
    except UnknownKind:
        discovery = client.discovery
        if discovery is None or not (resources := discovery.category(name)):
            raise
        return resources


def find_apis(
    client: ClientCore, name: str, namespace: str | AllNamespaces
) -> Effects[tuple[Api[Dynamic], ...]]:
    """Return the verbs on each resource with a name or of a category."""
    resources = yield from find_resources(client, name)
    return tuple(_dynamic(client, resource, namespace) for resource in resources)


def find_api(client: ClientCore, name: str, namespace: str | AllNamespaces) -> Effects[Api[Dynamic]]:
    """Return the verbs on the resource with a name. The namespace is ignored for a cluster-scoped kind."""
    resource = yield from find_resource(client, name)
    return _dynamic(client, resource, namespace)


def _dynamic(client: ClientCore, resource: Resource, namespace: str | AllNamespaces) -> Api[Dynamic]:
    namespace = namespace if resource.namespaced else ""
    return client.requests(Dynamic, namespace=namespace, resource=resource)


def api_of(client: ClientCore, obj: K) -> Effects[Api[K]]:
    """Return the verbs on the kind of an object, in the namespace that it names."""
    kind = kind_of(obj)
    namespace = obj.metadata.namespace
    if issubclass(kind, Metadata):
        raise InvalidRequest(
            f"the Metadata {obj.metadata.name!r} does not name its kind; use client.api(kp.Metadata[…])"
        )
    if not kind.abstract:
        return client.requests(kind, namespace=namespace)
    resource = yield from _resource_of(client, GroupVersionKind.of(obj.api_version, obj.kind))
    return client.requests(kind, namespace=namespace, resource=resource)


def _resource_of(client: ClientCore, gvk: GroupVersionKind) -> Effects[Resource]:
    discovery: Discovery | None = client.discovery
    resource = None if discovery is None else discovery.get(gvk)
    if resource is None:
        resource = (yield from discover(client)).get(gvk)
    if resource is None:
        raise KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
    return resource


def call_on(client: ClientCore, obj: K, verb: Callable[[Api[K]], Request[T]]) -> Effects[T]:
    """Send a verb on the kind of an object, and return the value of its response."""
    api: Api[Any] = yield from api_of(client, obj)
    return (yield from call(client, verb(api))).value

"""`Api[Book]`: every verb on one kind of object, each as a request."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, get_args, get_origin
from urllib.parse import quote, urlencode

from .._errors import InvalidRequest
from ..objects import Dynamic, KubeObject, Metadata, ObjectList, Resource, Status, encode
from ..watching import WatchEvent
from ..wire import Headers
from ._readings import Events, Many, One, OneOrStatus
from ._request import Request, StreamRequest

K = TypeVar("K", bound=KubeObject)

_JSON: Final = "application/json"


class AllNamespaces:
    """The type of `ALL`: a namespaced kind, looked at in every namespace."""

    def __repr__(self) -> str:
        return "ALL"


ALL: Final = AllNamespaces()


class Api(Generic[K]):
    """The verbs on one kind in one namespace, in all (`ALL`), or, for a cluster-scoped kind, in none.

    Without a namespace it is the one that a context without a namespace means: ``default``.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> None:
        self.kind = kind
        self.resource = resource if resource is not None else _resource_of(kind)
        if self.resource.namespaced:
            self.namespace = namespace or "default"
        elif namespace:
            raise InvalidRequest(f"{self.resource.kind} is cluster-scoped: it lives in no namespace")
        else:
            self.namespace = ""

    def get(self, name: str, *, resource_version: str = "") -> Request[K]:
        """Read one object."""
        return Request(
            "GET",
            self._target(name, resourceVersion=resource_version),
            self._accept(),
            verb="get",
            reading=One(self.kind),
        )

    def list(
        self, *, label_selector: str = "", field_selector: str = "", limit: int = 0
    ) -> Request[ObjectList[K]]:
        """Read the objects of the collection, or a page of them."""
        target = self._target(labelSelector=label_selector, fieldSelector=field_selector, limit=limit)
        return Request("GET", target, self._accept("List"), verb="list", reading=Many(self.kind))

    def watch(self, *, resource_version: str = "") -> StreamRequest[WatchEvent[K]]:
        """Follow the changes of the collection."""
        target = self._target(watch="true", resourceVersion=resource_version)
        return StreamRequest("GET", target, self._accept(), verb="watch", opening=Events(self.kind))

    def create(self, obj: K) -> Request[K]:
        """Make a new object."""
        return Request(
            "POST", self._target(), self._sends(), encode(obj), verb="create", reading=One(self.kind)
        )

    def delete(self, name: str) -> Request[K | Status]:
        """Delete an object, or ask for it where finalizers or a grace period stand before."""
        return Request(
            "DELETE", self._target(name), self._accept(), verb="delete", reading=OneOrStatus(self.kind)
        )

    def _target(self, name: str | None = None, **query: Any) -> str:
        resource = self.resource
        path = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        if isinstance(self.namespace, str) and self.namespace:
            path += f"/namespaces/{quote(self.namespace, safe='')}"
        elif name is not None and resource.namespaced:
            raise InvalidRequest(f"a {resource.kind} is addressed in one namespace: Api(…, namespace=…)")
        path += f"/{resource.plural}"
        if name is not None:
            path += f"/{quote(name, safe='')}"
        said = urlencode({key: value for key, value in query.items() if value})
        return f"{path}?{said}" if said else path

    def _accept(self, suffix: str = "") -> Headers:
        if issubclass(get_origin(self.kind) or self.kind, Metadata):
            return (("Accept", f"{_JSON};as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1"),)
        return (("Accept", _JSON),)

    def _sends(self) -> Headers:
        return (*self._accept(), ("Content-Type", _JSON))


def _resource_of(kind: type[KubeObject]) -> Resource:
    """What a class says of itself; `Metadata[Book]` stands for Book."""
    if get_origin(kind) is Metadata:
        return _resource_of(get_args(kind)[0])
    if issubclass(kind, Dynamic) or kind.abstract:
        raise InvalidRequest(f"Api({kind.__name__}) needs to know its kind: say resource=…")
    return kind.resource

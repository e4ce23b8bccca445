"""`ObjectRef`: the identity of an object, as a key of stores and queues that is readable in a log."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

from ._base import KubeObject

T = TypeVar("T", bound=KubeObject)
K = TypeVar("K", bound=KubeObject)


class ObjectRef(Struct, Generic[T], frozen=True, order=True):
    """An object by kind, namespace and name. Neither the API version nor the uid is part of it."""

    group: str
    kind: str
    namespace: str
    name: str

    @staticmethod
    def to(kind: type[K], name: str, namespace: str = "") -> ObjectRef[K]:
        """Return the reference of an object by name; `namespace` is empty for cluster-scoped kinds."""
        return ObjectRef(kind.resource.group, kind.resource.kind, namespace, name)

    @staticmethod
    def of(obj: K) -> ObjectRef[K]:
        """Return the reference of an object."""
        group, _, _ = obj.api_version.rpartition("/")
        return ObjectRef(group, obj.kind, obj.metadata.namespace, obj.metadata.name)

    def cast(self, kind: type[K]) -> ObjectRef[K]:
        """Return a reference with the same name and another kind: the Service named like a Deployment."""
        return ObjectRef.to(kind, self.name, self.namespace)

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"

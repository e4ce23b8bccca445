"""`Context`: what a reconcile is given beside its object."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from kubeproto import KubeObject, ObjectRef, Resource

from ..caches._caches import Cache, Caches
from ..client._client import Client

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter

K = TypeVar("K", bound=KubeObject)
State = TypeVar("State")

ByNamespace = Mapping[str, "Cache[Any]"]
"""What one source follows: a cache for each namespace, or one for all under ""."""


class Context(Struct, Generic[State], frozen=True):
    """What a reconcile may need: the client, the caches, the state that is its controller's own.

    `key` is ``namespace/name`` of the object, `reason` says in a few words why it is looked at, and `attempt`
    how often it has been since it last went well, this time included.
    """

    client: Client
    caches: Caches
    state: State
    key: str
    reason: str
    attempt: int
    priority: int
    resource: Resource
    log: logging.Logger
    followed: Mapping[Any, Sequence[ByNamespace]]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.key.rpartition("/")[2]

    @property
    def namespace(self) -> str:
        """The object's namespace; "" where its kind has none."""
        return self.key.rpartition("/")[0]

    @property
    def ref(self) -> ObjectRef[Any]:
        """Which object this is about."""
        return ref_of(self.key, self.resource)

    @property
    def logger(self) -> _Adapter:
        """A logger whose lines begin with the object, and carry it as `object`, with reason and attempt."""
        extra = {"object": str(self.ref), "reason": self.reason, "attempt": self.attempt}
        return _About(self.log, extra)

    def cache(self, kind: type[K], resource: Resource | None = None) -> Cache[K]:
        """Return the cache of a kind that this controller follows, for the namespace of the object.

        `resource` tells several `Dynamic` kinds apart. Of several sources of one kind it is the controller's
        own, or the first that covers the namespace. KeyError if there is none.
        """
        for by_namespace in self.followed.get(kind if resource is None else (kind, resource), ()):
            for namespace in ("", self.namespace):
                if namespace in by_namespace:
                    found: Cache[K] = by_namespace[namespace]
                    return found
        where = f"namespace {self.namespace!r}" if self.namespace else "all namespaces"
        raise KeyError(f"this controller does not follow {kind.__name__} in {where}")


class _About(_Adapter):
    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        about = dict(self.extra or {})
        kwargs["extra"] = about | dict(kwargs.get("extra") or {})
        return f"{about['object']}: {msg}", kwargs


def ref_of(key: str, resource: Resource) -> ObjectRef[Any]:
    """The object of this key."""
    namespace, _, name = key.rpartition("/")
    return ObjectRef(resource.group, resource.kind, namespace, name)

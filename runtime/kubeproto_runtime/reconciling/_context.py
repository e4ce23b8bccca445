"""`Context`: the second argument of a reconcile."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from kubeproto import ALL, KubeObject, LocalProtocolError, Metadata, ObjectRef, Resource, decode
from kubeproto.control import CachedObject
from kubeproto.requests import AllNamespaces

from ..caches._caches import Cache, Caches
from ..client._client import Client

if TYPE_CHECKING:
    from ..client._verbs import BoundApi

    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter

K = TypeVar("K", bound=KubeObject)
State = TypeVar("State")

CachesByNamespace = Mapping[str, "Cache[Any]"]
"""The caches of a source by namespace. The key of a cache of all namespaces is ""."""


class Context(Struct, Generic[State], frozen=True):
    """The client, the caches and the state of a controller, and the parameters of one run.

    `key` is ``namespace/name`` of the object. `reason` is the cause of the run in a few words, and `attempt`
    is the number of this run after the last success, counted from 1.
    """

    # All runs of a controller share the first fields, which `partial` binds once.
    client: Client
    caches: Caches
    state: State
    resource: Resource
    log: logging.Logger
    caches_by_kind: Mapping[Any, Sequence[CachesByNamespace]]
    kind: type[Any]
    id_prefix: str
    key: str
    reason: str
    attempt: int
    priority: int
    entry: CachedObject | None
    run_number: int

    @property
    def name(self) -> str:
        """The object's name."""
        return self.key.rpartition("/")[2]

    @property
    def namespace(self) -> str:
        """The object's namespace; "" for a cluster-scoped kind."""
        return self.key.rpartition("/")[0]

    @property
    def ref(self) -> ObjectRef[Any]:
        """The reference to the object."""
        return ref_of(self.key, self.resource)

    @property
    def logger(self) -> _Adapter:
        """A logger whose messages begin with the object.

        Its records have the attributes `object` (a string), `ref`, `reason`, `attempt` and `reconcile_id`;
        see `kubeproto_runtime.logs`.
        """
        extra = {
            "object": str(self.ref),
            "ref": self.ref,
            "reason": self.reason,
            "attempt": self.attempt,
            "reconcile_id": self.reconcile_id,
        }
        return _ObjectLogger(self.log, extra)

    @property
    def reconcile_id(self) -> str:
        """An id that is unique among all runs of the controller, also after a restart."""
        return f"{self.id_prefix}-{self.run_number}"

    @property
    def object(self) -> Any:
        """The state of the object when this run began; None if it did not exist. It is decoded on each use.

        It is for `on_error`, which does not receive the object. Raise `InvalidObject` if it does not fit its
        class.
        """
        return None if self.entry is None else decode(self.entry.raw, self.kind, resource=self.resource)

    @property
    def partial_object(self) -> Metadata[Any] | None:
        """The metadata and the kind of the object of this run, even if the object does not fit its class.

        It is for `on_invalid`, which may have to remove the finalizer of an object that is being deleted.
        """
        return None if self.entry is None else decode(self.entry.raw, Metadata, resource=self.resource)

    def api(
        self, kind: type[K], *, namespace: str | AllNamespaces = "", resource: Resource | None = None
    ) -> BoundApi[K]:
        """Return the API of a kind in the namespace of the object.

        ``ctx.client.api(kind)`` would use the namespace of the client. In the run of a cluster-scoped object,
        pass the namespace of a namespaced kind, or `ALL`.
        """
        if kind is self.kind and resource is None:
            resource = self.resource  # needed if the controller's kind is a `Dynamic`
        if not namespace and not self.namespace:
            other = self.client.requests(kind, namespace=ALL, resource=resource).resource
            if other.namespaced:
                raise LocalProtocolError(
                    f"{self.ref} has no namespace, and {other.plural} need one:"
                    f" use ctx.api({kind.__name__}, namespace=...)"
                )
        return self.client.api(kind, namespace=namespace or self.namespace, resource=resource)

    def cache(
        self, kind: type[K], resource: Resource | None = None, *, namespace: str | AllNamespaces = ""
    ) -> Cache[K]:
        """Return the cache of a kind that this controller follows, bound to the namespace of the object.

        With ``namespace=ALL`` it contains all namespaces. `resource` distinguishes `Dynamic` kinds. If
        several sources follow the kind, the controller's own source is preferred, then the first source that
        includes the namespace. Raise `LocalProtocolError` if there is none.
        """
        all_namespaces = isinstance(namespace, AllNamespaces)
        target = "" if all_namespaces else str(namespace) or self.namespace
        for caches in self.caches_by_kind.get(kind if resource is None else (kind, resource), ()):
            for cache_namespace in ("", target) if target else ("",):
                if cache_namespace in caches:
                    cache: Cache[K] = caches[cache_namespace]
                    is_bound = cache_namespace == target or not cache.resource.namespaced
                    return cache if is_bound else cache.within(target)
        scope = f"in namespace {target}" if target else "in all namespaces"
        raise LocalProtocolError(
            f"the controller of {self.resource.kind} does not follow {kind.__name__} {scope}: add"
            f" .owns({kind.__name__}) or .watches({kind.__name__}, ...) to it, or read from the server by"
            f" ctx.api({kind.__name__})"
        )


class _ObjectLogger(_Adapter):
    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        extra = dict(self.extra or {})
        kwargs["extra"] = extra | dict(kwargs.get("extra") or {})
        return f"{extra['object']}: {msg}", kwargs


def ref_of(key: str, resource: Resource) -> ObjectRef[Any]:
    """Return the reference to the object of a key."""
    namespace, _, name = key.rpartition("/")
    return ObjectRef(resource.group, resource.kind, namespace, name)

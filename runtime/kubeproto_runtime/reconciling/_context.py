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

ByNamespace = Mapping[str, "Cache[Any]"]
"""The caches of one source by namespace; a cache of all namespaces is under ""."""


class Context(Struct, Generic[State], frozen=True):
    """The client, the caches and the state of a controller, and the facts of one run.

    `key` is ``namespace/name`` of the object. `reason` is the cause of the run in a few words, and `attempt`
    the number of runs since the last success, this one included.
    """

    # The fields that all runs of a controller share come first: `partial` fills them in once.
    client: Client
    caches: Caches
    state: State
    resource: Resource
    log: logging.Logger
    followed: Mapping[Any, Sequence[ByNamespace]]
    kind: type[Any]
    began: str
    key: str
    reason: str
    attempt: int
    priority: int
    entry: CachedObject | None
    run: int

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
        """The reference to the object."""
        return ref_of(self.key, self.resource)

    @property
    def logger(self) -> _Adapter:
        """A logger whose lines begin with the object, and carry it as `object` (a string) and `ref`.

        They carry the reason, the attempt and the id of the run as well; see `kubeproto_runtime.logs`.
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
        """An id that no other run of the controller has, also after a restart."""
        return f"{self.began}-{self.run}"

    @property
    def object(self) -> Any:
        """The object as it was when this run began, decoded anew; None if it did not exist.

        For `on_error`, which does not get the object. `InvalidObject` if it does not fit its class.
        """
        return None if self.entry is None else decode(self.entry.raw, self.kind, resource=self.resource)

    @property
    def partial_object(self) -> Metadata[Any] | None:
        """The metadata of the object of this run, with its kind, even if the object does not fit its class.

        For `on_invalid`, which may have to remove the finalizer of an object that is being deleted.
        """
        return None if self.entry is None else decode(self.entry.raw, Metadata, resource=self.resource)

    def api(
        self, kind: type[K], *, namespace: str | AllNamespaces = "", resource: Resource | None = None
    ) -> BoundApi[K]:
        """Return the verbs on a kind in the namespace of the object.

        (``ctx.client.api(kind)`` is in the namespace of the client.) In the run of a cluster-scoped object,
        name the namespace of a namespaced kind, or `ALL`.
        """
        if kind is self.kind and resource is None:
            resource = self.resource  # a `Dynamic` of the controller's own
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

        With ``namespace=ALL`` it shows all namespaces. `resource` distinguishes `Dynamic` kinds. Among
        several sources of one kind, the controller's own comes first, then the first source that covers the
        namespace. `LocalProtocolError` if there is none.
        """
        all_namespaces = isinstance(namespace, AllNamespaces)
        target = "" if all_namespaces else str(namespace) or self.namespace
        for caches in self.followed.get(kind if resource is None else (kind, resource), ()):
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

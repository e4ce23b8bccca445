"""`Context`: what a reconcile gets besides its object."""

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
"""What one source follows: a cache for each namespace, or one for all under ""."""


class Context(Struct, Generic[State], frozen=True):
    """What a reconcile may need: the client, the caches, and the state of its controller.

    `key` is ``namespace/name`` of the object, `reason` says in a few words why it is reconciled, and
    `attempt` how often it has been since it last went well, this time included.
    """

    # What all runs of a controller share comes first, and is filled in once.
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
        """Which object this is about."""
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
        return _About(self.log, extra)

    @property
    def reconcile_id(self) -> str:
        """An id that no other run of the controller has, also after a restart."""
        return f"{self.began}-{self.run}"

    @property
    def object(self) -> Any:
        """The object as this run began with it, a new one each time; None if there was none, or no cache.

        For `on_error`, which is not given it. `InvalidObject` if it does not fit its class.
        """
        return None if self.entry is None else decode(self.entry.raw, self.kind, resource=self.resource)

    @property
    def partial_object(self) -> Metadata[Any] | None:
        """The metadata of the object of this run, also where the rest does not fit its class.

        For `on_invalid`, which may have to remove the finalizer of an object that is being deleted. It names
        its own kind.
        """
        return None if self.entry is None else decode(self.entry.raw, Metadata, resource=self.resource)

    def api(
        self, kind: type[K], *, namespace: str | AllNamespaces = "", resource: Resource | None = None
    ) -> BoundApi[K]:
        """Return the verbs on a kind in the namespace of the object, where ``ctx.client.api(kind)`` has
        those in the namespace of the client.

        For a cluster-scoped object, name the namespace of another kind, or `ALL`.
        """
        if kind is self.kind and resource is None:
            resource = self.resource  # a `Dynamic` of the controller's own
        if not namespace and not self.namespace:
            found = self.client.requests(kind, namespace=ALL, resource=resource).resource
            if found.namespaced:
                raise LocalProtocolError(
                    f"{self.ref} has no namespace in which {found.plural} could be meant:"
                    f" say ctx.api({kind.__name__}, namespace=...)"
                )
        return self.client.api(kind, namespace=namespace or self.namespace, resource=resource)

    def cache(
        self, kind: type[K], resource: Resource | None = None, *, namespace: str | AllNamespaces = ""
    ) -> Cache[K]:
        """Return the cache of a kind that this controller follows, bound to the namespace of the object.

        What it holds of other namespaces is seen with ``namespace=ALL``. `resource` tells several `Dynamic`
        kinds apart. Of several sources of one kind it is the controller's own, or the first that covers the
        namespace. `LocalProtocolError` if there is none.
        """
        wanted = (
            self.namespace if namespace == "" else "" if isinstance(namespace, AllNamespaces) else namespace
        )
        places = ("", wanted) if wanted else ("",)
        for by_namespace in self.followed.get(kind if resource is None else (kind, resource), ()):
            for place in places:
                if place in by_namespace:
                    found: Cache[K] = by_namespace[place]
                    return found if place == wanted or not found.resource.namespaced else found.within(wanted)
        where = f" in namespace {wanted}" if wanted else " in all namespaces"
        raise LocalProtocolError(
            f"the controller of {self.resource.kind} does not follow {kind.__name__}{where}: add"
            f" .owns({kind.__name__}) or .watches({kind.__name__}, ...) to it, or read from the server by"
            f" ctx.api({kind.__name__})"
        )


class _About(_Adapter):
    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        about = dict(self.extra or {})
        kwargs["extra"] = about | dict(kwargs.get("extra") or {})
        return f"{about['object']}: {msg}", kwargs


def ref_of(key: str, resource: Resource) -> ObjectRef[Any]:
    """Return the object of this key."""
    namespace, _, name = key.rpartition("/")
    return ObjectRef(resource.group, resource.kind, namespace, name)

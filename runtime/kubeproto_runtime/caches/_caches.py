"""`Caches`: exact caches of kinds, shared by all readers of the same objects.

A `Cache` is the public interface of a reflector. It stores bytes: each reader gets a new object, so no reader
can corrupt the objects of other readers, and objects that are never read are never decoded.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import ALL, KubeObject, LocalProtocolError
from kubeproto.control import CachedObject, Change, Store, drop_managed_fields
from kubeproto.objects import Selector
from kubeproto.watching import resync

from ..tasks._error_texts import log_failure, type_name
from ..tasks._stray_cancellations import failure_types, is_cancelled, root_errors, supervise
from ._reflector import Reflector
from ._views import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from anyio.abc import TaskGroup

    from kubeproto import Api, Resource
    from kubeproto.objects import FieldSelector
    from kubeproto.requests import AllNamespaces

    from ..client._client import Client

K = TypeVar("K", bound=KubeObject)

_SETTINGS: Final = resync.Settings()

_log: Final = logging.getLogger("kubeproto.cache")


class Cache(Generic[K]):
    """The objects of a kind as on the server. Readers never see a part of a snapshot."""

    def __init__(self, reflector: Reflector[K], namespace: str | AllNamespaces) -> None:
        self._reflector = reflector
        self._store = reflector.store
        self.kind = reflector.store.kind
        self.resource: Resource = reflector.resource
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.resource}, {len(self._store)} objects)"

    @property
    def display_name(self) -> str:
        """The followed resource, and the namespace to which it is limited, for messages."""
        namespace = self.namespace if isinstance(self.namespace, str) else ""
        return f"{self.resource} in namespace {namespace}" if namespace else f"{self.resource}"

    # State

    @property
    def version(self) -> str:
        """The resource version of the snapshot; empty until it has synced."""
        return self._store.version

    @property
    def snapshots(self) -> int:
        """The number of complete snapshots from lists. Changes between two snapshots may be unseen."""
        return self._reflector.snapshots

    @property
    def synced(self) -> bool:
        """Whether the first snapshot is complete, so that the cache can be read."""
        return self._reflector.synced

    @property
    def closed(self) -> bool:
        """Whether the cache has stopped following."""
        return self._reflector.closed

    @property
    def size(self) -> int:
        """The size of all cached objects in bytes."""
        return self._store.size

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the time of the last byte, the version, and why it is out of sync."""
        return self._reflector.sync_status

    @property
    def phase(self) -> str:
        """The state of the resync machine: `Watching`, `Listing` and so on."""
        return self._reflector.phase

    async def wait_synced(self, *, timeout: float | None = None, wait_for_definition: bool = False) -> None:
        """Wait until the cache has synced.

        Raise `DeadlineExceeded` with the reason after `timeout` seconds, and `KindNotServed` if the server
        does not know the kind, unless `wait_for_definition` is True.
        """
        await self._reflector.wait_synced(timeout=timeout, wait_for_definition=wait_for_definition)

    async def reached(self, version: str, *, timeout: float | None = None) -> None:
        """Wait until the cache includes the write with this version, such as a write of this program.

        If a server is restored to an older state, a relist ends the wait too: the write is either included in
        that state, or lost.
        """
        await self._reflector.reached(version, timeout=timeout)

    def refresh(self) -> None:
        """Relist; readers keep the old snapshot until the new snapshot is complete."""
        self._reflector.refresh()

    # Objects

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None. Raise `InvalidObject` if the object does not fit the type.

        A cache of a single namespace needs no `namespace`, and raises for a different namespace.
        """
        self._reflector.require_synced()
        cached_namespace = self.namespace if isinstance(self.namespace, str) else ""
        if cached_namespace and namespace not in ("", cached_namespace):
            raise LocalProtocolError(f"{self!r} contains namespace {cached_namespace!r}, not {namespace!r}")
        if not (namespace or cached_namespace) and self.resource.namespaced:
            raise LocalProtocolError(
                f"{self!r} contains all namespaces, and each of them may contain {name!r}:"
                f" use get({name!r}, namespace)"
            )
        return self._store.get(name, namespace or cached_namespace)

    def entry(self, key: str) -> CachedObject | None:
        """Return the version and the bytes of the object under ``namespace/name``, or ``name``."""
        if not self._store.version:
            self._reflector.require_synced()
        return self._store.entry(key)

    def keys(self) -> list[str]:
        """Return the keys of the cached objects."""
        self._reflector.require_synced()
        return list(self._store.entries())

    def __len__(self) -> int:
        self._reflector.require_synced()
        return len(self._store)

    def __contains__(self, key: object) -> bool:
        self._reflector.require_synced()
        return key in self._store

    def __iter__(self) -> Iterator[K]:
        """Iterate over a snapshot of the objects; malformed objects are omitted."""
        self._reflector.require_synced()
        return iter(self._store)

    # Indexes and views

    def add_index(self, name: str, values_of: Callable[[K], Iterable[str]]) -> None:
        """Add an index, which maps the values that `values_of` returns to the objects.

        Objects for which the function fails are omitted. The first failure is logged; see `failed_in`.
        """
        self._reflector.add_index(name, values_of)

    def by_index(self, index: str, value: str) -> list[K]:
        """Return new objects with this value; malformed objects are omitted."""
        return list(self.view(**{index: value}))

    def index_values(self, index: str) -> list[str]:
        """Return all values of the objects in an index."""
        return self._reflector.index(index).values()

    def failed_in(self, index: str) -> dict[str, str]:
        """Return the keys of the objects for which the function of the index failed, each with the error."""
        return dict(self._reflector.index(index).failed)

    def view(self, *, namespace: str = "", selector: str | Selector = "", **indexed: str) -> View[K]:
        """Return a part of this cache, by namespace, labels and indexes.

        An example is ``view(namespace="a", node="n1")`` for an index with the name ``node``. A view does not
        store objects, so it is cheap to create.
        """
        labels = Selector.parse(selector) if isinstance(selector, str) else selector
        for name in indexed:
            self._reflector.index(name)
        return View(self._reflector, namespace, labels if labels.requirements else None, indexed)

    def within(self, namespace: str) -> Cache[K]:
        """Return a view of this cache that is limited to one namespace."""
        return NamespacedCache(self._reflector, namespace)

    # Changes

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Call `callback` with each batch of changes, at the moment at which readers see them.

        If the cache has synced, the callback gets the complete snapshot before this method returns. The
        returned function removes the callback. The callback blocks the event loop, so it must return quickly,
        and an error that it raises ends all caches. Longer work belongs into a `Controller`, which retries it
        and only needs the last state of a key.
        """
        return self._reflector.listen(callback)

    def notify(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after each change of the objects, of the version, and of whether the cache is live.

        The returned function removes the callback.
        """
        return self._reflector.notify(wake)


class NamespacedCache(Cache[K]):
    """A namespace of a cache that follows several. `get` can read the others by their names."""

    def __init__(self, reflector: Reflector[K], namespace: str) -> None:
        super().__init__(reflector, namespace)
        self._view = View(reflector, namespace, None, {})

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None; by default from this namespace."""
        self._reflector.require_synced()
        return self._store.get(name, namespace or str(self.namespace))

    def keys(self) -> list[str]:
        """Return the keys of the cached objects."""
        return self._view.keys()

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, key: object) -> bool:
        return key in self._view

    def __iter__(self) -> Iterator[K]:
        """Iterate over a snapshot of the objects; malformed objects are omitted."""
        return iter(self._view)

    def view(self, *, namespace: str = "", selector: str | Selector = "", **indexed: str) -> View[K]:
        """Return a part of this cache, by labels and indexes."""
        return super().view(namespace=namespace or str(self.namespace), selector=selector, **indexed)

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Call `callback` with each batch of changes in this namespace; see `Cache.listen`."""
        return self._view.listen(callback)


class Caches:
    """The caches of a program, which follow the server while this context manager is entered."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._caches_by_key: dict[Any, tuple[Cache[Any], Reflector[Any]]] = {}
        self._tasks: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({[cache for cache, _ in self._caches_by_key.values()]})"

    async def __aenter__(self) -> Self:
        if self._tasks is not None or self._closed:
            raise LocalProtocolError("these caches have been opened already")
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(self._close)
        for _, reflector in self._caches_by_key.values():
            self._start(reflector)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._stack.__aexit__(exc_type, exc, traceback)
        except BaseExceptionGroup as group:
            error, *others = root_errors(group.exceptions)
            if others:
                raise
        if error is exc:
            return False  # the error propagates unchanged
        raise error  # outside of `except`, which would replace its `__context__` by the group

    def _close(self) -> None:
        assert self._tasks is not None
        self._closed = True
        self._tasks.cancel_scope.cancel()

    def _start(self, reflector: Reflector[Any]) -> None:
        if self._tasks is not None:
            reflector.started = True
            self._tasks.start_soon(supervise, self._follow, reflector, name=f"cache of {reflector.resource}")

    async def _follow(self, reflector: Reflector[Any]) -> None:
        try:
            await reflector.run()
        except BaseException as error:
            if not is_cancelled():
                for _, other in self._caches_by_key.values():
                    other.fail(error)
            raise

    def cache(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = ALL,
        label_selector: str | Selector = "",
        field_selector: str | FieldSelector = "",
        resource: Resource | None = None,
        managed_fields: bool = False,
        transform: Callable[[bytes], bytes] | None = None,
        max_objects: float = inf,
        max_bytes: float = inf,
        settings: resync.Settings = _SETTINGS,
    ) -> Cache[K]:
        """Return the cache of these objects, the same cache for the same arguments.

        The first call starts the cache. Managed fields are often a third of an object, and cached only with
        `managed_fields`. `transform` converts the JSON of each object before it is cached; if it fails, the
        received JSON is cached, and the first failure is logged. More than `max_objects` or `max_bytes` raise
        `StoreFull`, which ends all caches.
        """
        if self._closed:
            raise LocalProtocolError("these caches have been closed")
        selection = {"label_selector": str(label_selector), "field_selector": str(field_selector)}
        api = self._client.requests(kind, namespace=namespace, resource=resource)
        selected = (kind, api.namespace, api.resource, *selection.values())
        cache_key = (*selected, managed_fields, transform, max_objects, max_bytes, settings)
        if cache_key in self._caches_by_key:
            return self._caches_by_key[cache_key][0]
        store = Store(
            kind,
            resource=api.resource,
            transform=_transform(api, managed_fields, transform),
            max_objects=max_objects,
            max_bytes=max_bytes,
        )
        selection = {name: text for name, text in selection.items() if text}
        reflector = Reflector(self._client, api, store, settings=settings, selection=selection)
        cache = Cache(reflector, api.namespace)
        self._caches_by_key[cache_key] = cache, reflector
        self._start(reflector)
        return cache

    def drop(self, cache: Cache[Any]) -> None:
        """Stop following. The cache can still be read; `cache` with its arguments returns a new cache."""
        for cache_key, (shared_cache, reflector) in list(self._caches_by_key.items()):
            if shared_cache is cache:
                del self._caches_by_key[cache_key]
                reflector.close()


def _transform(
    api: Api[Any], managed_fields: bool, transform: Callable[[bytes], bytes] | None
) -> Callable[[bytes], bytes] | None:
    """Return the function that is applied to the bytes of each object."""
    if transform is None:
        return None if managed_fields else drop_managed_fields
    logged = False

    def attempt(raw: bytes) -> bytes:
        nonlocal logged
        raw = raw if managed_fields else drop_managed_fields(raw)
        try:
            transformed: object = transform(raw)
            if type(transformed) is not bytes:
                raise TypeError(f"the transform must return bytes, not a {type_name(transformed)}")
        except failure_types() as error:
            if not logged:
                logged = True
                line = "%s: a transform failed; objects for which it fails are cached unchanged"
                log_failure(_log, line, api.resource, error=error)
            return raw
        return transformed

    return attempt

"""`Caches`: exact mirrors of kinds, each shared by all who ask for the same.

A `Cache` is what readers see of one mirror. Its truth is bytes: who reads an object gets one of his own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import ALL, KubeObject
from kubeproto.control import Change, Entry, Store
from kubeproto.watching import resync

from ._reflector import Reflector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from anyio.abc import TaskGroup
    from kubeproto import FieldSelector, Resource, Selector
    from kubeproto.requests import AllNamespaces

    from ._client import Client

K = TypeVar("K", bound=KubeObject)

_SETTINGS: Final = resync.Settings()


class Cache(Generic[K]):
    """The objects of one kind as the server has them. What is read from it is never half of a world."""

    def __init__(self, reflector: Reflector[K]) -> None:
        self._reflector = reflector
        self._store = reflector.store
        self.kind = reflector.store.kind
        self.resource: Resource = reflector.resource

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.resource}, {len(self)} objects)"

    @property
    def version(self) -> str:
        """How far it has come; "" until there is a world."""
        return self._store.version

    @property
    def synced(self) -> bool:
        """Whether there is a world."""
        return self._reflector.synced

    @property
    def proof(self) -> resync.Proof:
        """The proof of life: the last byte, the version, and what keeps it from being in step."""
        return self._reflector.proof

    def get(self, name: str, namespace: str = "") -> K | None:
        """An object of one's own, or None; `InvalidObject` if what the server holds does not fit the type."""
        return self._store.get(name, namespace)

    def entry(self, key: str) -> Entry | None:
        """The version and the bytes of the object under ``namespace/name``, or ``name``."""
        return self._store.entries().get(key)

    def __len__(self) -> int:
        return len(self._store)

    def __contains__(self, key: object) -> bool:
        return key in self._store

    def __iter__(self) -> Iterator[K]:
        """The objects of this moment, whatever changes meanwhile; what is no object at all is left out."""
        return iter(self._store)

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Have this called with all changes that come together, right after them; the result ends it.

        If there is a world already, it is called with that first, before this returns.
        """
        return self._reflector.listen(callback)

    async def wait_synced(self, *, timeout: float | None = None, wait_for_definition: bool = False) -> None:
        """Wait until there is a world. `NotInstalled` if the server does not know the kind, unless that is
        to be waited for; `DeadlineExceeded` says why there is none yet.
        """
        await self._reflector.wait_synced(timeout=timeout, wait_for_definition=wait_for_definition)

    async def reached(self, version: str, *, timeout: float | None = None) -> None:
        """Wait until one reads here what was written at this version."""
        await self._reflector.reached(version, timeout=timeout)

    def refresh(self) -> None:
        """Build the world anew from a list; readers keep the old one until then."""
        self._reflector.refresh()


class Caches:
    """The mirrors of one program, which run as long as this context is open."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shared: dict[Any, Cache[Any]] = {}
        self._waiting: list[Reflector[Any]] = []
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        for reflector in self._waiting:
            self._tasks.start_soon(reflector.run, name=f"cache of {reflector.resource}")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(exc_type, exc, traceback)

    def cache(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = ALL,
        label_selector: str | Selector = "",
        field_selector: str | FieldSelector = "",
        resource: Resource | None = None,
        transform: Callable[[bytes], bytes] | None = None,
        settings: resync.Settings = _SETTINGS,
    ) -> Cache[K]:
        """The mirror of these objects: the same one for the same arguments. It begins when first asked for."""
        selection = {"label_selector": str(label_selector), "field_selector": str(field_selector)}
        api = self._client.requests(kind, namespace=namespace, resource=resource)
        mark = (kind, api.namespace, api.resource, *selection.values(), transform, settings)
        found = self._shared.get(mark)
        if found is None:
            selection = {name: text for name, text in selection.items() if text}
            reflector = Reflector(self._client, api, Store(kind), settings, selection)
            found = self._shared[mark] = Cache(reflector)
            if self._tasks is None:
                self._waiting.append(reflector)
            else:
                self._tasks.start_soon(reflector.run, name=f"cache of {reflector.resource}")
        return found

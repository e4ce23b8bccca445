"""`Reflector`: a Store that follows the server, and tells what changes in it.

    Following ── stage, apply, commit ──► Store ── changes ──► listeners

All of it happens in one step of the event loop: when a listener is called, readers see the world that the
changes have led to, and nothing has happened since. A listener that raises ends the program's task group,
for it has missed a change and would be out of step for ever.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import DeadlineExceeded, KubeObject, KubeprotoError, Resource
from kubeproto.control import Change, Store
from kubeproto.objects import compare_versions
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ._discovering import NotInstalled
from ._following import Following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubeproto import Api
    from kubeproto.wire import Outcome

    from ._client import Client

K = TypeVar("K", bound=KubeObject)

_log: Final = logging.getLogger("kubeproto.cache")


class Reflector(Generic[K]):
    """Mirrors what one list and watch bring, while `run` runs."""

    def __init__(
        self, client: Client, api: Api[K], store: Store[K], settings: resync.Settings, selection: dict[str, Any]
    ) -> None:
        self.store = store
        self.resource: Resource = api.resource
        self.failure: KubeprotoError | None = None
        self._following = Following(client, api, self, settings=settings, selection=selection)
        self._listeners: dict[object, Callable[[list[Change[K]]], None]] = {}
        self._moved = anyio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._following.run()

    def refresh(self) -> None:
        """Build the world anew; readers keep the old one until then."""
        self._following.refresh()

    @property
    def proof(self) -> resync.Proof:
        """The proof of life: the last byte, the version, and what keeps it from being in step."""
        return self._following.proof

    @property
    def synced(self) -> bool:
        """Whether there is a world."""
        return bool(self.store.version)

    # Who is told

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Call this with all changes that come together; first with the world, if there is one."""
        mark = object()
        if self.synced and (world := list(self._world())):
            callback(world)
        self._listeners[mark] = callback
        return lambda: self._listeners.pop(mark, None) and None

    def _world(self) -> Iterator[Change[K]]:
        for key, entry in self.store.entries().items():
            yield Change(self.store.kind, "ADDED", key, None, entry, initial=True)

    # Who waits

    async def wait_synced(self, *, timeout: float | None = None, wait_for_definition: bool = False) -> None:
        """Wait until there is a world."""

        def look() -> bool:
            if self.failure is not None and not (self.synced or wait_for_definition):
                raise self.failure
            return self.synced

        await self._wait(look, timeout)

    async def reached(self, version: str, *, timeout: float | None = None) -> None:
        """Wait until the world is that of this version, or newer."""
        await self._wait(lambda: _is_reached(self.store.version, version), timeout)

    async def _wait(self, condition: Callable[[], bool], timeout: float | None) -> None:
        with anyio.move_on_after(timeout):
            while not condition():
                await self._moved.wait()
            return
        raise DeadlineExceeded(f"{self.resource}: not within {timeout:g} s; {self.proof.why or 'it is live'}")

    def _wake(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    # What the following brings

    def stage(self, news: list[Any]) -> None:
        """A part of a new world has come."""
        self.store.stage(news)

    def apply(self, news: list[Any]) -> None:
        """The world has changed."""
        self._tell(self.store.apply(news))

    def commit(self, version: str) -> None:
        """The new world is whole, at this version."""
        self.store.stage(())  # of an empty world nothing has come
        self.failure = None
        self._tell(self.store.commit(version))

    def discard(self) -> None:
        """The new world will not be."""
        self.store.discard()

    def report(self, trouble: resync.Trouble) -> None:
        """Something went wrong; it will be tried again."""
        if not self.synced and isinstance(trouble.outcome, Refused) and trouble.outcome.code == 404:
            self.failure = NotInstalled(self.resource)
            self._wake()
        _log.warning("%s: %s: %s", self.resource, trouble.about, trouble.text)

    def abandon(self, outcome: Outcome) -> None:
        """What was to be followed is gone: where lists are allowed, that does not happen."""
        _log.error("%s: given up: %s", self.resource, outcome.reason)

    def _tell(self, changes: list[Change[K]]) -> None:
        if changes:
            for callback in list(self._listeners.values()):
                callback(changes)
        self._wake()


def _is_reached(here: str, version: str) -> bool:
    try:
        return bool(here) and compare_versions(here, version) >= 0
    except ValueError:
        return here == version

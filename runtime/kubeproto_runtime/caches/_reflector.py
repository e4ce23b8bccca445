"""`Reflector`: a Store that follows the server, and notifies listeners of its changes.

    Following ── stage, update, replace ──► Store ── changes ──► indexes ──► listeners

All of it happens in one step of the event loop: when a listener is called, readers see the snapshot that the
changes have led to, and nothing has happened since. A listener that raises has missed a change and would be
out of step forever: the others are notified, and then the error ends the task group that all caches run in.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import DeadlineExceeded, KubeObject, KubeprotoError, LocalProtocolError
from kubeproto.control import Change, Store
from kubeproto.objects import compare_versions
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ..calls._discovery import KindNotServed
from ..tasks._logged_lines import LoggedLines
from ..tasks._stray_cancellations import failures
from ..watching._followed import warn_unplaced
from ..watching._resync_driver import ResyncDriver
from ._indexes import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubeproto import Api, Resource
    from kubeproto.wire import Outcome

    from ..client._client import Client

K = TypeVar("K", bound=KubeObject)

_log: Final = logging.getLogger("kubeproto.cache")


class Reflector(Generic[K]):
    """Caches what one list and watch bring, while `run` runs."""

    def __init__(
        self,
        client: Client,
        api: Api[K],
        store: Store[K],
        *,
        settings: resync.Settings,
        selection: dict[str, Any],
    ) -> None:
        self.store = store
        self.resource: Resource = api.resource
        self.closed = False
        self.begun = False
        self._missing: KubeprotoError | None = None
        self._following = ResyncDriver(
            client, api, self, settings=settings, selection=selection, on_live=self._wake
        )
        self._tracing = client.tracing
        self._scope = anyio.CancelScope()
        self._indexes: dict[str, Index[K]] = {}
        self._listeners: dict[object, Callable[[list[Change[K]]], None]] = {}
        self._notified: dict[object, Callable[[], None]] = {}
        self._highest = ""
        self._setbacks = 0
        self.snapshots = 0  # how many have been shown as a whole, by a list
        self._failure: Exception | None = None
        self._opaque: dict[object, str] = {}  # versions without an order that a task waits for
        self._said = ""
        self._lines = LoggedLines()

    @property
    def phase(self) -> str:
        """The state of the resync machine: `Watching`, `Listing` and so on."""
        return type(self._following.state).__name__

    def require_synced(self) -> None:
        """Raise if it has not synced: that does not mean that it is empty."""
        if self.store.version:
            return
        if not self.begun:
            raise LocalProtocolError(
                f"the cache of {self.resource} cannot be read before its Caches are entered:"
                " use `async with Caches(client) as caches`, and `await cache.wait_synced()`"
            )
        raise LocalProtocolError(
            f"the cache of {self.resource} has not synced, because {self.sync_status.why}:"
            " `await cache.wait_synced()` before it is read"
        )

    async def run(self) -> None:
        """Follow until cancelled or closed."""
        try:
            with self._scope, self._tracing.apart():
                await self._following.run()
        except Exception as error:
            self._failure = error
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Stop following. What is cached can still be read; waiters are woken."""
        self.closed = True
        self._scope.cancel()
        self._wake()

    def refresh(self) -> None:
        """Relist; readers keep the old snapshot until the new one is complete."""
        self._following.refresh()

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the last byte, the version, and why it is not in step."""
        return self._following.sync_status

    @property
    def synced(self) -> bool:
        """Whether the first complete snapshot has been shown."""
        return bool(self.store.version)

    # Listeners

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Call this with all changes that arrive together; first with the snapshot, if it has synced."""
        self._check()
        mark = object()
        kind = self.store.kind
        if snapshot := [
            Change(kind, "ADDED", key, None, entry, initial=True, resource=self.store.resource)
            for key, entry in self.store.entries().items()
        ]:
            callback(snapshot)
        self._listeners[mark] = callback
        return lambda: _forget(self._listeners, mark)

    def notify(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call this whenever the snapshot, its version, or whether it is live has changed, and at the end."""
        mark = object()
        self._notified[mark] = wake
        return lambda: _forget(self._notified, mark)

    def add_index(self, name: str, values_of: Callable[[K], Iterable[str]]) -> None:
        """Keep an index from now on; the same one again adds nothing."""
        found = self._indexes.get(name)
        if found is None:
            found = Index(name, self.store, values_of)
            found.build(self.store.entries())
            self._indexes[name] = found
        elif found.values_of != values_of:
            raise LocalProtocolError(f"{self.resource} has another index of the name {name!r} already")

    def index(self, name: str) -> Index[K]:
        """Return the index of this name, or raise a KeyError that lists the existing ones."""
        if (found := self._indexes.get(name)) is None:
            known = ", ".join(map(repr, self._indexes)) or "none"
            raise KeyError(f"{self.resource} has no index {name!r}; there are: {known}")
        return found

    # Waiting

    async def wait_synced(self, *, timeout: float | None, wait_for_definition: bool) -> None:
        """Wait until it has synced."""

        def look() -> bool:
            if self._missing is not None and not (self.synced or wait_for_definition):
                raise self._missing
            return self.synced

        await self._wait(look, timeout, "it has not synced")

    async def reached(self, version: str, *, timeout: float | None) -> None:
        """Wait until the snapshot has reached this version, or a relist has brought an older state."""
        setbacks = self._setbacks
        what = f"version {version} has not come"
        if _order(version, version) is not None:
            await self._wait(lambda: self._passed(version) or setbacks != self._setbacks, timeout, what)
            return
        # A version without an order is only recognized when the snapshot or an object has it.
        if any(entry.version == version for entry in self.store.entries().values()):
            return
        mark = object()
        self._opaque[mark] = version
        try:
            await self._wait(lambda: mark not in self._opaque or self.store.version == version, timeout, what)
        finally:
            _forget(self._opaque, mark)

    def _passed(self, version: str) -> bool:
        order = _order(self._highest, version)
        return order is not None and order >= 0

    async def _wait(self, condition: Callable[[], bool], timeout: float | None, what: str) -> None:
        moved = anyio.Event()
        end = self.notify(lambda: moved.set())
        try:
            with anyio.move_on_after(timeout):
                while not condition():
                    self._check()
                    await moved.wait()
                    moved = anyio.Event()
                return
        finally:
            end()
        why = self.sync_status.why
        raise DeadlineExceeded(
            f"{self.resource}: {what} within {timeout:g} s{f', for {why}' if why else ', though it is live'}"
        )

    def _check(self) -> None:
        if self.closed:
            if self._failure is not None:
                raise LocalProtocolError(f"{self.resource} is not cached any more") from self._failure
            raise LocalProtocolError(f"{self.resource} is not cached any more: its caches have been closed")

    def _wake(self) -> None:
        for wake in list(self._notified.values()):
            wake()

    # The sink of the resync driver

    def stage(self, news: list[Any]) -> None:
        """Take a part of the next snapshot."""
        warn_unplaced(_log, self.resource, self.store.stage(news))

    def apply(self, news: list[Any]) -> None:
        """Take changes of the snapshot that is shown."""
        self._notify(self.store.update(news))

    def commit(self, version: str) -> None:
        """Show the next snapshot, which is complete, at this version."""
        before = self.store.version
        self.store.stage(())  # an empty list has no part
        changes = self.store.replace(version)
        self.snapshots += 1
        if _order(version, before) == -1:
            self._setbacks += 1
            self._highest = version  # versions above it no longer exist, and will be given to other writes
        self._missing, self._said = None, ""
        self._notify(changes)

    def discard(self) -> None:
        """Forget the parts of a snapshot that will not be completed."""
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        """Note that something went wrong; it is retried. A repetition is logged for debugging only."""
        repeats, self._said = failure.text == self._said, failure.text
        level = logging.DEBUG
        if not repeats:
            level = self._lines.level(logging.WARNING, failure.text, anyio.current_time())
        _log.log(level, "%s: %s: %s", self.resource, failure.about, failure.text)
        if not self.synced and isinstance(failure.outcome, Refused) and failure.outcome.code == 404:
            self._missing = KindNotServed(self.resource)
            self._wake()

    def abandon(self, outcome: Outcome) -> None:
        """The object to follow no longer exists, which does not happen where lists are allowed."""
        _log.error("%s: given up: %s", self.resource, outcome.reason)

    def _notify(self, changes: list[Change[K]]) -> None:
        version = self.store.version
        if (order := _order(version, self._highest)) is None or order > 0:
            self._highest = version
        if not changes:
            self._wake()
            return
        for index in self._indexes.values():
            index.apply(changes)
        for mark, awaited in list(self._opaque.items()):
            if any(change.new is not None and change.new.version == awaited for change in changes):
                del self._opaque[mark]
        self._wake()
        errors: list[BaseException] = []
        for mark, callback in list(self._listeners.items()):
            if mark in self._listeners:  # unless an earlier one has removed it
                try:
                    callback(changes)
                except failures() as error:
                    errors.append(error)
        if errors:
            # Wrapped: an ApiError would be taken for one of the watch itself, and be retried.
            raise RuntimeError(f"a listener of {self.resource} has failed: {errors[0]!r}") from errors[0]


def _order(version: str, than: str) -> int | None:
    """Return -1, 0 or 1 as one is older, the same or newer; None if they have no order."""
    try:
        return compare_versions(version, than)
    except ValueError:
        return None


def _forget(told: dict[object, Any], mark: object) -> None:
    told.pop(mark, None)

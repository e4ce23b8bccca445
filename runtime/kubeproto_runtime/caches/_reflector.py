"""`Reflector`: a Store that follows the server, and notifies listeners of its changes.

    ResyncDriver ── stage, update, replace ──► Store ── changes ──► indexes ──► listeners

All of this happens in a single step of the event loop. When a listener is called, readers see exactly the
snapshot after the changes. A listener that raises has missed a change and would be out of sync forever: the
other listeners are notified, and then the error ends the task group of all caches.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import DeadlineExceeded, KubeObject, LocalProtocolError
from kubeproto.control import Change, Store
from kubeproto.objects import compare_versions
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ..calls._discovery import KindNotServed
from ..tasks._error_texts import value_repr
from ..tasks._logged_lines import LoggedLines
from ..tasks._stray_cancellations import failure_types, is_cancelled
from ..watching._follow_stream import warn_unnamed
from ..watching._resync_driver import ResyncDriver
from ._indexes import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubeproto import Api, Resource
    from kubeproto.wire import Outcome

    from ..client._client import Client

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")

_log: Final = logging.getLogger("kubeproto.cache")


class Reflector(Generic[K]):
    """Caches the objects of a list and its watches, while `run` runs."""

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
        self.started = False
        self.snapshots = 0  # complete snapshots from lists
        self._driver = ResyncDriver(
            client, api, self, settings=settings, selection=selection, on_live=self._wake_waiters
        )
        self._tracing = client.tracing
        self._scope = anyio.CancelScope()
        self._failure: BaseException | None = None
        self._missing_kind: KindNotServed | None = None
        self._indexes: dict[str, Index[K]] = {}
        self._listeners: dict[object, Callable[[list[Change[K]]], None]] = {}
        self._waiters: dict[object, Callable[[], None]] = {}
        self._highest_version = ""
        self._rollback_count = 0  # relists that returned an older state
        self._awaited_versions: dict[object, str] = {}  # versions that cannot be compared, by waiter
        self._reported_failure = ""
        self._lines = LoggedLines()

    @property
    def phase(self) -> str:
        """The state of the resync machine: `Watching`, `Listing` and so on."""
        return type(self._driver.state).__name__

    def require_synced(self) -> None:
        """Raise if the cache has not synced: otherwise it would look empty."""
        if self.store.version:
            return
        if not self.started:
            raise LocalProtocolError(
                f"the cache of {self.resource} cannot be read before its Caches are entered:"
                " use `async with Caches(client) as caches`, and `await cache.wait_synced()`"
            )
        raise LocalProtocolError(
            f"the cache of {self.resource} has not synced, because {self.sync_status.reason}:"
            " `await cache.wait_synced()` before it is read"
        )

    async def run(self) -> None:
        """Follow the server until cancelled or closed."""
        try:
            with self._scope, self._tracing.apart():
                await self._driver.run()
        except BaseException as error:
            if not is_cancelled():
                self.fail(error)
            raise
        finally:
            self.close()

    def fail(self, error: BaseException) -> None:
        """Record why the cache stops: its own failure, or that of another cache, which ends all of them.

        A waiting task raises this error as the `__cause__` of its own. Without a cause, the operator
        would report the task's error as a second failure.
        """
        self._failure = self._failure or error

    def close(self) -> None:
        """Stop following, and wake the waiters. The cached objects can still be read."""
        self.closed = True
        self._scope.cancel()
        self._wake_waiters()

    def refresh(self) -> None:
        """Relist; readers keep the old snapshot until the new snapshot is complete."""
        self._driver.refresh()

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the time of the last byte, the version, and why the cache is out of sync."""
        return self._driver.sync_status

    @property
    def synced(self) -> bool:
        """Whether the first snapshot is complete, so that the cache can be read."""
        return bool(self.store.version)

    # Listeners and indexes

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Call `callback` with each batch of changes; first with the snapshot, if the cache has synced."""
        self._check_open()
        kind = self.store.kind
        if snapshot := [
            Change(kind, "ADDED", key, None, entry, initial=True, resource=self.store.resource)
            for key, entry in self.store.entries().items()
        ]:
            callback(snapshot)
        return _register(self._listeners, callback)

    def notify(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after each change of the snapshot, its version and its liveness, and at the end."""
        return _register(self._waiters, wake)

    def add_index(self, name: str, values_of: Callable[[K], Iterable[str]]) -> None:
        """Add an index, unless it exists with the same function."""
        index = self._indexes.get(name)
        if index is None:
            index = Index(name, self.store, values_of)
            index.build(self.store.entries())
            self._indexes[name] = index
        elif index.values_of != values_of:
            raise LocalProtocolError(f"{self.resource} already has an index {name!r} with another function")

    def index(self, name: str) -> Index[K]:
        """Return the index of this name, or raise a KeyError that lists the existing ones."""
        if (index := self._indexes.get(name)) is None:
            names = ", ".join(map(repr, self._indexes)) or "none"
            raise KeyError(f"{self.resource} has no index {name!r}; there are: {names}")
        return index

    # Waiting

    async def wait_synced(self, *, timeout: float | None, wait_for_definition: bool) -> None:
        """Wait until the cache has synced."""

        def check_synced() -> bool:
            if self._missing_kind is not None and not (self.synced or wait_for_definition):
                raise self._missing_kind
            return self.synced

        await self._wait(check_synced, timeout, "it has not synced")

    async def reached(self, version: str, *, timeout: float | None) -> None:
        """Wait until the snapshot has reached this version, or a relist has returned an older state."""
        rollback_count = self._rollback_count
        problem = f"version {version} has not arrived"
        if _order(version, version) is not None:

            def check_reached() -> bool:
                order = _order(self._highest_version, version)
                return (order is not None and order >= 0) or rollback_count != self._rollback_count

            await self._wait(check_reached, timeout, problem)
            return
        # Without an order, only an equal version of the snapshot or of an object can be recognized.
        if any(entry.version == version for entry in self.store.entries().values()):
            return
        waiter = object()
        self._awaited_versions[waiter] = version
        try:
            await self._wait(
                lambda: waiter not in self._awaited_versions or self.store.version == version,
                timeout,
                problem,
            )
        finally:
            self._awaited_versions.pop(waiter, None)

    async def _wait(self, condition: Callable[[], bool], timeout: float | None, problem: str) -> None:
        woken = anyio.Event()
        unregister = self.notify(lambda: woken.set())
        try:
            with anyio.move_on_after(timeout):
                while not condition():
                    self._check_open()
                    await woken.wait()
                    woken = anyio.Event()
                return
        finally:
            unregister()
        reason = self.sync_status.reason
        state = f", because {reason}" if reason else ", although its watch is live"
        raise DeadlineExceeded(f"{self.resource}: {problem} within {timeout:g} s{state}")

    def _check_open(self) -> None:
        if self.closed:
            if self._failure is not None:
                raise LocalProtocolError(f"{self.resource} is not cached any more") from self._failure
            raise LocalProtocolError(f"{self.resource} is not cached any more: its caches have been closed")

    def _wake_waiters(self) -> None:
        for wake in list(self._waiters.values()):
            wake()

    # The sink of the resync driver

    def update(self, events: list[Any]) -> None:
        """Update the snapshot with the events of a watch."""
        self._publish(self.store.update(events))

    def stage(self, items: list[Any]) -> None:
        """Take a part of the next snapshot."""
        warn_unnamed(_log, self.resource, self.store.stage(items))

    def replace(self, version: str) -> None:
        """Replace the snapshot with the staged one, which is complete at this version."""
        previous_version = self.store.version
        changes = self.store.replace(version)
        self.snapshots += 1
        if _order(version, previous_version) == -1:
            self._rollback_count += 1
            self._highest_version = version  # later versions are lost, and the server will assign them again
        self._missing_kind, self._reported_failure = None, ""
        self._publish(changes)

    def discard(self) -> None:
        """Drop the staged parts."""
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        """Log a failure, which is retried. Repetitions are logged with the level DEBUG."""
        level = logging.DEBUG
        if failure.text != self._reported_failure:
            level = self._lines.level(logging.WARNING, failure.text, anyio.current_time())
        self._reported_failure = failure.text
        _log.log(level, "%s: %s: %s", self.resource, failure.source, failure.text)
        if not self.synced and isinstance(failure.outcome, Refused) and failure.outcome.code == 404:
            self._missing_kind = KindNotServed(self.resource)
            self._wake_waiters()

    def abandon(self, outcome: Outcome) -> None:
        """Log that following has ended, which only happens where lists are not allowed."""
        _log.error("%s: given up: %s", self.resource, outcome.reason)

    def _publish(self, changes: list[Change[K]]) -> None:
        """Update the indexes, wake the waiters, and pass the changes to the listeners."""
        version = self.store.version
        if (order := _order(version, self._highest_version)) is None or order > 0:
            self._highest_version = version
        if not changes:
            self._wake_waiters()
            return
        for index in self._indexes.values():
            index.update(changes)
        for waiter, awaited_version in list(self._awaited_versions.items()):
            if any(change.new is not None and change.new.version == awaited_version for change in changes):
                del self._awaited_versions[waiter]
        # Before the listeners: a waiter of each controller releases the keys whose own writes are shown now.
        # A listener that requests such a key before its release takes the slow path of the queue.
        self._wake_waiters()
        errors: list[BaseException] = []
        for token, callback in list(self._listeners.items()):
            if token in self._listeners:  # an earlier callback may have removed it
                try:
                    callback(changes)
                except failure_types() as error:
                    errors.append(error)
        if errors:
            # Wrapped: an ApiError of a listener would be treated as an error of the watch, and retried.
            raise RuntimeError(
                f"a listener of {self.resource} has failed: {value_repr(errors[0])}"
            ) from errors[0]


def _order(version: str, other: str) -> int | None:
    """Return -1, 0 or 1 if the version is older, the same or newer; None if the two have no order."""
    try:
        return compare_versions(version, other)
    except ValueError:
        return None


def _register(callbacks: dict[object, T], callback: T) -> Callable[[], None]:
    """Add a callback, and return the function that removes it. A callback may be added twice."""
    token = object()
    callbacks[token] = callback

    def unregister() -> None:
        callbacks.pop(token, None)

    return unregister

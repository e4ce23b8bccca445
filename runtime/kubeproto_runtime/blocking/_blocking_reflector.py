"""`BlockingReflector`: an exact cache of a kind, written by its thread and read by all threads."""

from __future__ import annotations

import logging
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from kubeproto import DeadlineExceeded, InvalidObject, KubeObject, LocalProtocolError
from kubeproto.control import CachedObject, Change, Store, key_of
from kubeproto.objects import compare_versions
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ..calls._discovery import KindNotServed
from ..tasks._error_texts import log_failure
from ..tasks._logged_lines import LoggedLines
from ..watching._follow_stream import split_replaced, warn_unnamed
from ._blocking_resync_driver import BlockingResyncDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubeproto import Api
    from kubeproto.wire import Outcome

    from ..calls._blocking_base_client import BlockingBaseClient

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")

_SETTINGS: Final = resync.Settings()

_log: Final = logging.getLogger("kubeproto.watch")


class StoreSink(Generic[K]):
    """A sink of the resync driver: a Store that reports its changes, snapshots and failures."""

    def __init__(
        self,
        api: Api[K],
        on_changes: Callable[[list[Change[K]]], object],
        *,
        clock: Callable[[], float],
        on_snapshot: Callable[[str], object] = lambda version: None,
        on_failure: Callable[[resync.SyncFailure], object] = lambda failure: None,
    ) -> None:
        self.store = Store(api.kind, resource=api.resource)
        self._resource = api.resource
        self._on_changes = on_changes
        self._on_snapshot = on_snapshot
        self._on_failure = on_failure
        self._clock = clock
        self._lines = LoggedLines()

    def update(self, events: list[Any]) -> None:
        """Update the snapshot with the events of a watch."""
        self._on_changes(self.store.update(events))

    def stage(self, items: list[Any]) -> None:
        """Take a part of the next snapshot."""
        warn_unnamed(_log, self._resource, self.store.stage(items))

    def replace(self, version: str) -> None:
        """Replace the snapshot with the staged one, which is complete at this version."""
        changes = self.store.replace(version)
        self._on_changes([part for change in changes for part in split_replaced(change)])
        self._on_snapshot(version)

    def discard(self) -> None:
        """Drop the staged parts."""
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        """Log a failure, which is retried."""
        level = self._lines.level(logging.WARNING, failure.text, self._clock())
        _log.log(level, "%s: %s: %s", self._resource, failure.source, failure.text)
        self._on_failure(failure)

    def abandon(self, outcome: Outcome) -> None:
        """Log that following has ended, which only happens where lists are not allowed."""
        _log.error("%s: given up: %s", self._resource, outcome.reason)


def is_unknown_kind(failure: resync.SyncFailure) -> bool:
    """Return whether the server does not know the requested kind."""
    return isinstance(failure.outcome, Refused) and failure.outcome.code == 404


class BlockingReflector(Generic[K]):
    """A cache of the objects of a kind. It is a context manager, which starts and stops the thread that
    follows.

    Every reader gets new objects, and never sees a part of a snapshot. Readers raise until the first snapshot
    is complete: call `synced` first. Failures are retried forever, and `sync_status` shows the current
    failure.

    `stop` and `refresh` abort the current read if the transport supports that, as kubeproto_httpx does.
    Otherwise the thread ends when the server sends something, or when the watch has been silent for 75
    seconds. The thread is a daemon, and does not delay the end of the program.

    Waiting for a kind that the server does not know raises `KindNotServed`, unless `wait_for_definition` is
    True. `spawn` runs a function concurrently, by default in a thread.
    """

    def __init__(
        self,
        client: BlockingBaseClient,
        api: Api[K],
        *,
        settings: resync.Settings = _SETTINGS,
        selection: dict[str, Any] | None = None,
        wait_for_definition: bool = False,
        spawn: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self.api = api
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._sink = StoreSink(api, self._notify_changes, clock=client.clock, on_failure=self._notify_failure)
        self._driver = BlockingResyncDriver(
            client,
            api,
            self._sink,
            settings=settings,
            selection=selection,
            lock=self._lock,
        )
        self._spawn = spawn or self._start_thread
        self._wait_for_definition = wait_for_definition
        self._entered = False
        self._is_unknown_kind = False
        self._stopped = False
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.api!r}, {len(self._sink.store)} objects)"

    def __enter__(self) -> Self:
        self._entered = True
        self._spawn(self._drive)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None. Raise `InvalidObject` if the object does not fit its type.

        A reflector of a single namespace needs no `namespace`.
        """
        cached_namespace = self.api.namespace if isinstance(self.api.namespace, str) else ""
        namespace = namespace or cached_namespace
        if not namespace and self.api.resource.namespaced:
            raise LocalProtocolError(
                f"the reflector of {self.api.resource} caches all namespaces, and each of them may contain"
                f" {name!r}: use get({name!r}, namespace)"
            )
        with self._lock:
            entry = self._snapshot().entry(key_of(name, namespace))
        return None if entry is None else self._sink.store.read(entry)

    def __iter__(self) -> Iterator[K]:
        """Iterate over a snapshot of the objects."""
        with self._lock:
            entries = self._snapshot().entries()
        return _read_all(entries, self._sink.store)

    def __len__(self) -> int:
        with self._lock:
            return len(self._snapshot())

    def __contains__(self, key: object) -> bool:
        """Return whether an object has this key: ``namespace/name``, or ``name``."""
        with self._lock:
            return key in self._snapshot()

    @property
    def version(self) -> str:
        """The resource version of the snapshot; empty until it has synced."""
        with self._lock:
            self._check_failure()
            return self._sink.store.version

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the time of the last byte, the version, and why it is out of sync."""
        return self._driver.sync_status

    def wait(self, condition: Callable[[], T | None], timeout: float | None = None) -> T:
        """Wait until `condition` returns a true value, and return that value.

        It is called when the cache has synced, and after each change; nothing changes while it runs. Raise
        `DeadlineExceeded` after `timeout` seconds.
        """

        def evaluate() -> T | None:
            self._check_failure()
            result = condition() if self._sink.store.version else None
            if not result and self._is_unknown_kind and not self._wait_for_definition:
                raise KindNotServed(self.api.resource)
            if not result and self._stopped:
                raise LocalProtocolError(f"{self.api} was stopped before the condition held")
            return result

        with self._changed:
            result = self._changed.wait_for(evaluate, timeout)
        if not result:
            if not self.version:
                reason = self.sync_status.reason
                raise DeadlineExceeded(f"{self.api} has not synced within {timeout:g} s, because {reason}")
            raise DeadlineExceeded(f"{self.api}: the condition did not hold within {timeout:g} s")
        return result

    def reached(self, version: str, timeout: float | None = None) -> None:
        """Wait until the cache has reached this version, such as the version of an object after a write."""
        self.wait(lambda: _is_reached(self.version, version), timeout)

    def synced(self, timeout: float | None = None) -> None:
        """Wait until the cache has synced."""
        self.wait(lambda: self.version, timeout)

    def refresh(self) -> None:
        """Relist; readers keep the old snapshot until the new snapshot is complete."""
        if self._driver.refresh():
            self._spawn(self._drive)

    def stop(self) -> None:
        """Stop following, and wake the waiting threads. The cached objects can still be read."""
        self._driver.stop()
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _notify_changes(self, changes: list[Change[K]]) -> None:
        self._is_unknown_kind = False
        self._changed.notify_all()

    def _notify_failure(self, failure: resync.SyncFailure) -> None:
        self._is_unknown_kind = is_unknown_kind(failure)
        self._changed.notify_all()

    def _snapshot(self) -> Store[K]:
        """Return the store. Raise until it has synced: otherwise it would look empty."""
        self._check_failure()
        if self._sink.store.version:
            return self._sink.store
        if not self._entered:
            raise LocalProtocolError(
                f"the reflector of {self.api} cannot be read before it is entered:"
                " use `with api.reflect() as reflector`, and `reflector.synced()`"
            )
        raise LocalProtocolError(
            f"the reflector of {self.api} has not synced, because {self.sync_status.reason}:"
            " call `reflector.synced()` before it is read"
        )

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise RuntimeError(f"{self.api} is not cached any more: its thread has failed") from self._failure

    def _drive(self) -> None:
        try:
            for _ in self._driver.drive():
                pass
        except Exception as failure:
            # Every failure of the server or network is retried, so this is a bug. Readers get an error
            # instead of outdated objects.
            try:
                log_failure(_log, "%s is not cached any more", self.api, error=failure)
            finally:
                with self._lock:
                    self._failure = failure
                    self._changed.notify_all()

    def _start_thread(self, work: Callable[[], None]) -> None:
        Thread(target=work, name=f"reflector of {self.api.resource.plural}", daemon=True).start()


def _read_all(entries: dict[str, CachedObject], store: Store[K]) -> Iterator[K]:
    """Iterate over the objects; malformed objects are left out, as in the Store."""
    for entry in entries.values():
        try:
            obj = store.read(entry)
        except InvalidObject:
            continue
        yield obj


def _is_reached(current_version: str, version: str) -> bool:
    try:
        return bool(current_version) and compare_versions(current_version, version) >= 0
    except ValueError:
        return current_version == version

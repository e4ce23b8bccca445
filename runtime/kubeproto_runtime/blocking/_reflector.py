"""`BlockingReflector`: an exact cache of one kind, kept by one thread and read by any other."""

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
from ..tasks._logged_lines import LoggedLines
from ..watching._follow_stream import split_replaced, warn_unplaced
from ._resync_driver import BlockingResyncDriver

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
    """The sink of a reflector: a Store whose changes are reported to `changed`."""

    def __init__(
        self,
        api: Api[K],
        changed: Callable[[list[Change[K]]], object],
        *,
        clock: Callable[[], float],
        whole: Callable[[str], object] = lambda version: None,
        troubled: Callable[[resync.SyncFailure], object] = lambda failure: None,
    ) -> None:
        self.store = Store(api.kind, resource=api.resource)
        self._resource = api.resource
        self._changed = changed
        self._whole = whole
        self._troubled = troubled
        self._clock = clock
        self._lines = LoggedLines()

    def update(self, events: list[Any]) -> None:
        """Update the snapshot by the events of a watch."""
        self._changed(self.store.update(events))

    def stage(self, items: list[Any]) -> None:
        """Take a part of the next snapshot."""
        warn_unplaced(_log, self._resource, self.store.stage(items))

    def replace(self, version: str) -> None:
        """Replace the snapshot with the staged one, which is complete at this version."""
        changes = self.store.replace(version)
        self._changed([part for change in changes for part in split_replaced(change)])
        self._whole(version)

    def discard(self) -> None:
        """Forget the parts of a snapshot that will not be completed."""
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        """Note that something went wrong; it is retried."""
        level = self._lines.level(logging.WARNING, failure.text, self._clock())
        _log.log(level, "%s: %s: %s", self._resource, failure.source, failure.text)
        self._troubled(failure)

    def abandon(self, outcome: Outcome) -> None:
        """The object to follow no longer exists, which does not happen where lists are allowed."""
        _log.error("%s: given up: %s", self._resource, outcome.reason)


def is_unknown(failure: resync.SyncFailure) -> bool:
    """Return whether the server does not know the kind that was requested."""
    return isinstance(failure.outcome, Refused) and failure.outcome.code == 404


class BlockingReflector(Generic[K]):
    """The objects of one kind as the server has them; use it as a context, which starts and stops its thread.

    Every reader gets new objects, and never sees half of a snapshot. Before the first one is complete there
    is nothing to read, and readers raise: call `synced` first. What goes wrong is retried forever;
    `sync_status` shows the state. `stop` and `refresh` abort the read that is under way, where the transport
    can (kubeproto_httpx can); otherwise its thread ends as soon as the server sends something, or when its
    watch has been silent for 75 seconds. No thread keeps the program from ending. Waiting for a kind that the
    server does not know raises `KindNotServed`, unless this is `patient`. `spawn` runs a function beside this
    one: by default in a thread.
    """

    def __init__(
        self,
        client: BlockingBaseClient,
        api: Api[K],
        *,
        settings: resync.Settings = _SETTINGS,
        selection: dict[str, Any] | None = None,
        patient: bool = False,
        spawn: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self.api = api
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._sink = StoreSink(api, self._news, clock=client.clock, troubled=self._report_failure)
        self._following = BlockingResyncDriver(
            client,
            api,
            self._sink,
            settings=settings,
            selection=selection,
            lock=self._lock,
        )
        self._spawn = spawn or self._thread
        self._patient = patient
        self._entered = False
        self._unknown = False
        self._stopped = False
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.api!r}, {len(self._sink.store)} objects)"

    def __enter__(self) -> Self:
        self._entered = True
        self._spawn(self._attend)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None; `InvalidObject` if it does not fit its type.

        The namespace need not be given where this caches one namespace.
        """
        own = self.api.namespace
        place = namespace or (own if isinstance(own, str) else "")
        if not place and self.api.resource.namespaced:
            raise LocalProtocolError(
                f"the reflector of {self.api.resource} shows all namespaces, and {name!r} may be in each of"
                f" them: say get({name!r}, namespace)"
            )
        with self._lock:
            entry = self._snapshot().entry(key_of(name, place))
        return None if entry is None else self._sink.store.read(entry)

    def __iter__(self) -> Iterator[K]:
        """Iterate over the objects of this moment."""
        with self._lock:
            entries = self._snapshot().entries()
        return _typed(entries, self._sink.store)

    def __len__(self) -> int:
        with self._lock:
            return len(self._snapshot())

    def __contains__(self, key: object) -> bool:
        """Return whether there is an object of this key: ``namespace/name``, or ``name``."""
        with self._lock:
            return key in self._snapshot()

    @property
    def version(self) -> str:
        """The resource version of the snapshot; empty until it has synced."""
        with self._lock:
            self._check()
            return self._sink.store.version

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the last byte, the version, and why it is not in step."""
        return self._following.sync_status

    def wait(self, condition: Callable[[], T | None], timeout: float | None = None) -> T:
        """Wait until a condition holds, and return what it returned.

        It is called once this has synced, and after each change; nothing changes while it runs.
        `DeadlineExceeded` if it does not hold in time.
        """

        def look() -> T | None:
            self._check()
            found = condition() if self._sink.store.version else None
            if not found and self._unknown and not self._patient:
                raise KindNotServed(self.api.resource)
            if not found and self._stopped:
                raise LocalProtocolError(
                    f"{self.api} was stopped, so nothing more will come that is waited for"
                )
            return found

        with self._changed:
            found = self._changed.wait_for(look, timeout)
        if not found:
            if not self.version:
                why = self.sync_status.reason
                raise DeadlineExceeded(f"{self.api} has not synced within {timeout:g} s, because {why}")
            raise DeadlineExceeded(f"{self.api}: the condition did not hold within {timeout:g} s")
        return found

    def reached(self, version: str, timeout: float | None = None) -> None:
        """Wait until it has reached this version, such as that of an object which was just written."""
        self.wait(lambda: _is_reached(self.version, version), timeout)

    def synced(self, timeout: float | None = None) -> None:
        """Wait until it has synced."""
        self.wait(lambda: self.version, timeout)

    def refresh(self) -> None:
        """Relist; readers keep the old snapshot until the new one is complete."""
        if self._following.refresh():
            self._spawn(self._attend)

    def stop(self) -> None:
        """Stop following, and wake the threads that wait. What is cached can still be read."""
        self._following.stop()
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _news(self, changes: list[Change[K]]) -> None:
        self._unknown = False
        self._changed.notify_all()

    def _report_failure(self, failure: resync.SyncFailure) -> None:
        self._unknown = is_unknown(failure)
        self._changed.notify_all()

    def _snapshot(self) -> Store[K]:
        """Return the store to read from.

        Raise while it has not synced: an empty cache would be wrong.
        """
        self._check()
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

    def _check(self) -> None:
        if self._failure is not None:
            raise RuntimeError(f"{self.api} is not cached any more: its thread has failed") from self._failure

    def _attend(self) -> None:
        try:
            for _ in self._following.attend():
                pass
        except Exception as failure:
            # A bug, because every outside failure is retried: readers must not get outdated objects.
            _log.exception("%s is not cached any more", self.api)
            with self._lock:
                self._failure = failure
                self._changed.notify_all()

    def _thread(self, work: Callable[[], None]) -> None:
        Thread(target=work, name=f"reflector of {self.api.resource.plural}", daemon=True).start()


def _typed(entries: dict[str, CachedObject], store: Store[K]) -> Iterator[K]:
    """Iterate over the objects; what is not an object is left out, as in the Store."""
    for entry in entries.values():
        try:
            obj = store.read(entry)
        except InvalidObject:
            continue
        yield obj


def _is_reached(here: str, version: str) -> bool:
    try:
        return bool(here) and compare_versions(here, version) >= 0
    except ValueError:
        return here == version

"""`KeyFeed`: adds the keys of changed objects, and those of triggers, to the queue of a controller."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterable, Callable
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.lowlevel import checkpoint

from kubeproto.control import LOW_PRIORITY, ExponentialBackoff, WorkQueue

from ..predicates import _begins_deletion
from ..tasks._error_texts import log_failure, type_name, value_repr
from ..tasks._stray_cancellations import failure_types

if TYPE_CHECKING:
    from kubeproto.control import Change

    from ._sources import KindSource

# Changes that are processed in a single step of the event loop: a thousand take one or two milliseconds.
_MAX_STEP: Final = 1000

# A trigger is usually a connection to another system, which recovers within a minute or so.
_TRIGGER_BACKOFF: Final = ExponentialBackoff(1.0, 60.0)


class KeyFeed:
    """Adds keys to the queue of a controller, and wakes its workers."""

    def __init__(
        self,
        queue: WorkQueue[str],
        log: logging.Logger,
        *,
        by_key: bool,
        wake_workers: Callable[[], None],
        forget_deleted: Callable[[str], None],
        read_clock: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._log = log
        self._by_key = by_key
        self._wake_workers = wake_workers
        self._forget_deleted = forget_deleted
        self._clock = read_clock
        self._backlog: deque[tuple[Callable[[list[Change[Any]]], None], list[Change[Any]]]] = deque()
        self._more = anyio.Event()

    def listener(self, source: KindSource) -> Callable[[list[Change[Any]]], None]:
        """Return the function that a cache of this source calls with its changes."""
        queue, passes, when, keys_of = self._queue, self._passes, source.when, source.keys
        kind, by_key = source.resource.kind, self._by_key
        reasons = {"ADDED": f"{kind} added", "MODIFIED": f"{kind} modified", "DELETED": f"{kind} deleted"}
        listed = f"{kind} listed"

        def enqueue(keys: list[str], reason: str, now: float) -> None:
            if keys:
                queue.add_each(keys, now, priority=LOW_PRIORITY if reason is listed else 0, reason=reason)
                keys.clear()

        def process(changes: list[Change[Any]]) -> None:
            now, keys, reason = self._clock(), list[str](), ""
            for change in changes:
                if keys_of is None and change.type == "DELETED":
                    enqueue(keys, reason, now)
                    self._forget_deleted(change.key)  # even if the predicate rejects the change
                if when is not None and not _begins_deletion(change) and not passes(when, change):
                    continue
                # Objects of a list, and repetitions, are reconciled after actual changes.
                is_listed = change.initial or change.old is change.new
                change_reason = listed if is_listed else reasons[change.type]
                if change_reason is not reason:
                    enqueue(keys, reason, now)
                    reason = change_reason
                if keys_of is not None:
                    keys += keys_of(change)
                elif by_key or change.type != "DELETED":
                    keys.append(change.key)
            enqueue(keys, reason, now)
            self._wake_workers()

        def listen(changes: list[Change[Any]]) -> None:
            if len(changes) <= _MAX_STEP and not self._backlog:
                process(changes)
            else:
                self._backlog.append((process, changes))
                self._more.set()

        return listen

    async def run(self) -> None:
        """Process the lists that are too long for one step of the event loop."""
        while True:
            while self._backlog:
                process, changes = self._backlog[0]
                for start in range(0, len(changes), _MAX_STEP):
                    process(changes[start : start + _MAX_STEP])
                    await checkpoint()
                self._backlog.popleft()  # not earlier: changes that arrive meanwhile are queued after it
            self._more = anyio.Event()
            await self._more.wait()

    def _passes(self, when: Callable[[Change[Any]], bool], change: Change[Any]) -> bool:
        try:
            return bool(when(change))  # here, because `__bool__` may raise
        except failure_types() as error:
            line = "the predicate failed on %s, which is therefore reconciled"
            log_failure(self._log, line, change.key, error=error)
            return True

    async def add_trigger(self, keys: AsyncIterable[str]) -> None:
        """Add the keys of a trigger until it ends. After a failure it is iterated again, if possible."""
        failures_in_row = 0
        while True:
            source: object = None
            try:
                source = aiter(keys)
                async for key in source:
                    failures_in_row = 0
                    self._add_triggered(keys, key)
                return
            except Exception as error:
                failures_in_row += 1
                if source is keys:  # a generator has ended with its error
                    line = "the trigger %s failed and has ended: it adds no more keys"
                    log_failure(self._log, line, value_repr(keys), error=error)
                    return
                delay = _TRIGGER_BACKOFF(failures_in_row)
                line = "the trigger %s failed, retried in %.3g s"
                log_failure(self._log, line, value_repr(keys), delay, error=error)
            await anyio.sleep(delay)

    def _add_triggered(self, trigger: AsyncIterable[str], key: object) -> None:
        if isinstance(key, str):
            # The exact class: a str subclass may override __hash__ or __eq__, which the queue calls.
            self._queue.add(str.__str__(key), self._clock(), reason="trigger")
            self._wake_workers()
        else:
            line = "the trigger %s returned a %s instead of a key such as namespace/name, which is ignored"
            self._log.error(line, value_repr(trigger), type_name(key))

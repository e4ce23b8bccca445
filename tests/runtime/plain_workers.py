"""Workers without optimizations, with a task for each run: the oracle of `test_workers_like_plain_ones`.

`PlainWorkers` does the same as `Workers`, and `plain_perform` the same as `ControllerRunner._perform`, except
that they do not delay keys until the caches include their writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import anyio

from kubeproto import InvalidObject, decode
from kubeproto.control import Work, WorkQueue
from kubeproto_runtime.reconciling._controller_runner import ControllerRunner
from kubeproto_runtime.reconciling._plans import check_awaitable
from kubeproto_runtime.tasks._stray_cancellations import failure_of, failure_types


class PlainWorkers:
    """Runs the keys of a queue: at most `concurrency` at a time, each for at most `limit` seconds."""

    def __init__(
        self,
        queue: WorkQueue[str],
        perform: Callable[[Work[str]], Awaitable[None] | None],
        *,
        on_timeout: Callable[[Work[str], Exception | None], None],
        may_begin: Callable[[], bool] | None,
        concurrency: int,
        limit: float | None,
        **_: object,
    ) -> None:
        self.queue, self.perform, self.on_timeout, self.may_begin = queue, perform, on_timeout, may_begin
        self.concurrency = concurrency
        self.limit = inf if limit is None else limit
        self.running: dict[str, Work[str]] = {}  # in the order in which they began
        self.stopped = False
        self.changed = anyio.Event()

    def wake(self) -> None:
        """Look for due keys."""
        self.changed.set()

    def stop(self) -> None:
        """Begin no more runs."""
        self.stopped = True
        self.wake()

    async def run(self) -> None:
        """Work until stopped and the last run has ended. After a cancellation, `run` may be called again."""
        try:
            async with anyio.create_task_group() as tasks:
                while not self.stopped:
                    now = anyio.current_time()
                    self.changed = anyio.Event()
                    while self._is_free() and (work := self.queue.get(now)) is not None:
                        self.running[work.key] = work
                        tasks.start_soon(self._run, work)
                    next_at = self.queue.next_at(now) if self._is_free() else None
                    with anyio.CancelScope(deadline=inf if next_at is None else next_at):
                        await self.changed.wait()
        finally:
            now = anyio.current_time()
            for key, work in self.running.items():  # these were cancelled
                self.queue.add(key, now, priority=work.priority, reason=work.reason)
                self.queue.done(key, now)
            self.running.clear()

    def _is_free(self) -> bool:
        return len(self.running) < self.concurrency and (self.may_begin is None or self.may_begin())

    async def _run(self, work: Work[str]) -> None:
        error: Exception | None = None
        with anyio.CancelScope(deadline=anyio.current_time() + self.limit) as scope:
            try:
                if (awaitable := self.perform(work)) is not None:
                    await awaitable
            except Exception as raised:
                if not scope.cancel_called:
                    raise
                error = raised
        if scope.cancelled_caught or error is not None:
            self.on_timeout(work, error)
        del self.running[work.key]
        self.queue.done(work.key, anyio.current_time())
        self.wake()


async def plain_perform(reconciling: Any, work: Work[str]) -> None:
    """Reconcile the object of a key, and report the outcome."""
    self: ControllerRunner = reconciling
    started_at = anyio.current_time()
    entry = self._find(work.key)
    context = self._context(work, entry)
    subject: Any = work.key
    try:
        if not self.plan.by_key:
            if entry is None:
                self.queue.forget(work.key)
                return
            try:
                subject = decode(entry.raw, self.plan.kind, strict=True, resource=self.plan.resource)
            except InvalidObject as error:
                await self._refuse(work, entry, error, context, started_at)
                return
        action = await check_awaitable(self.plan.reconcile(subject, context))
    except failure_types() as error:
        self._fail(work, failure_of(error), context, started_at)
    else:
        self._succeed(work, action, context, started_at)

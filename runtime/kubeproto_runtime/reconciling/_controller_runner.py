"""`ControllerRunner`: runs a controller. It converts changes to keys, and calls `reconcile` for each key.

    caches ── changes ──► sources ── keys ──► queue ──► workers ──► reconcile
                                               ▲                        │
                                               └── requeue, retry ──────┘

A cache reports a change after its readers can see it, and a run reads the cache when it begins. So no run
sees a snapshot that is older than the event that caused the run. Runs begin when every source has synced.

`plain_perform` in `tests/runtime/plain_workers.py` is `_perform` without its shortcuts; random tests compare
the two.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from inspect import isawaitable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

import anyio

from kubeproto import Conflict, InvalidObject, decode
from kubeproto.control import Action, ExponentialBackoff, Work, WorkQueue

from ..tasks._error_texts import error_text, log_failure, make_formattable, type_name
from ..tasks._event_loop import loop_clock
from ..tasks._logged_lines import LoggedLines
from ..tasks._stray_cancellations import failure_of, failure_types, reconcile_error_types, supervise
from ._context import Context, ref_of
from ._failing_keys import FailingKey, error_summary
from ._key_feed import KeyFeed
from ._metrics import ReconcileStats
from ._plans import (
    ControllerPlan,
    ReconcileTimeout,
    Result,
    Terminal,
    WrongResult,
    check_action,
    check_awaitable,
)
from ._shown_writes import ShownWrites
from ._workers import Workers, resumed

if TYPE_CHECKING:
    from kubeproto.control import CachedObject
    from kubeproto.requests import AllNamespaces

    from ..caches._caches import Cache, Caches
    from ..calls._run_writes import ClientWrite
    from ._plans import ReconcileFunction
    from ._sources import KindSource

_COROUTINE: Final[type[Any]] = CoroutineType
_BACKOFF: Final = ExponentialBackoff()
_REPORT_PERIOD: Final = 30.0  # seconds between two log messages about a cache that has not synced


class ControllerRunner:
    """Runs one controller from its start to its end."""

    def __init__(self, plan: ControllerPlan, caches: Caches, leads: Callable[[], bool] | None = None) -> None:
        """`leads` is called before each run, where only the leader reconciles."""
        self.plan = plan
        self.queue: WorkQueue[str] = WorkQueue(
            backoff=self._back_off, rate=plan.rate, debounce=plan.debounce, max_wait=plan.max_wait
        )
        self.stats = ReconcileStats()
        self.caches: list[Cache[Any]] = []
        self.synced = False
        self.workers: Workers[str] = Workers(
            self.queue,
            self._perform,
            on_timeout=self._time_out,
            on_error=self._fail_cancelled,
            may_begin=leads,
            hold=self._hold,
            concurrency=plan.concurrency,
            limit=plan.timeout,
        )
        self.own_writes = ShownWrites(self.queue, self.workers.wake, self._read_clock)
        self.feed = KeyFeed(
            self.queue,
            log := logging.getLogger(f"kubeproto.controller.{plan.name}"),
            by_key=plan.by_key,
            wake_workers=self.workers.wake,
            forget_deleted=self._forget_deleted,
            read_clock=self._read_clock,
        )
        self._log = log
        self._caches = caches
        # One entry for each source, the controller's own first: another source may follow the same class in
        # other namespaces, by other labels, or as another `Dynamic` kind.
        self._caches_by_kind: dict[Any, list[dict[str, Cache[Any]]]] = {}
        self._own_caches: dict[str, Cache[Any]] = {}  # of the controller's kind, by namespace
        self._find: Callable[[str], CachedObject | None] = self._find_in_namespace
        self._clock: Callable[[], float] = anyio.current_time
        self._tracing = plan.client.tracing
        self._new_context: Callable[..., Context[Any]] = Context
        self._runs = 0
        self._reported: dict[str, str] = {}  # the reported versions of invalid objects
        self.failing: dict[str, FailingKey] = {}  # the last failure of each key that fails
        self._lines = LoggedLines()
        self._ready = anyio.Event()
        self._waiting = anyio.CancelScope()
        self._stopped = False

    async def follow(self) -> None:
        """Follow the sources until cancelled. Their keys stay in the queue until `work` runs."""
        self._clock = loop_clock()
        plan, id_prefix = self.plan, f"{int(self.plan.client.wall_clock().timestamp() * 1000):x}"
        self._new_context = partial(
            Context, plan.client, self._caches, plan.state,
            plan.resource, self._log, self._caches_by_kind, plan.kind, id_prefix,
        )  # fmt: skip
        for source in self.plan.sources:
            caches = self._own_caches if source is self.plan.sources[0] else {}
            for kind in (source.kind, (source.kind, source.resource)):
                self._caches_by_kind.setdefault(kind, []).append(caches)
            for namespace in source.namespaces:
                cache = self._open(source, namespace)
                caches[namespace if isinstance(namespace, str) else ""] = cache
                self.caches.append(cache)
                self.own_writes.follow(cache, source)
                cache.listen(self.feed.listener(source))
        if (all_namespaces := self._own_caches.get("")) is not None:
            self._find = all_namespaces.entry
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervise, self.feed.run)
            tasks.start_soon(supervise, self.own_writes.run)
            async with anyio.create_task_group() as syncing:
                for cache in self.caches:
                    syncing.start_soon(self._wait_synced, cache)
            self.synced = True
            self._ready.set()
            for keys in self.plan.triggers:
                tasks.start_soon(supervise, self.feed.add_trigger, keys)

    async def work(self) -> None:
        """Reconcile until stopped, and until the last run has ended."""
        if self._stopped and not self.synced:
            return  # stopped before this task was scheduled
        with anyio.CancelScope() as self._waiting:
            await self._ready.wait()
            await self.workers.run()

    def stop(self) -> None:
        """Begin no more runs."""
        self._stopped = True
        self.queue.stop()
        self.workers.stop()
        self.own_writes.stop()
        if not self.synced:
            self._waiting.cancel()

    def _read_clock(self) -> float:
        return self._clock()

    def _back_off(self, failures_in_row: int) -> float:
        """Return the delay of a retry. If the backoff of the plan fails, the default applies."""
        backoff = self.plan.backoff
        if type(backoff) is ExponentialBackoff:
            return backoff(failures_in_row)
        try:
            delay = float(backoff(failures_in_row))
            if not delay >= 0.0:
                raise ValueError(f"the backoff returned {delay!r} s")
        except failure_types() as error:
            log_failure(self._log, "the backoff failed, and the default one is used", error=error)
            return _BACKOFF(failures_in_row)
        return delay

    def _hold(self, key: str, writes: list[ClientWrite], began: float, now: float) -> bool:
        """Return whether a key waits until the caches show the writes of its run."""
        # Another client may write to another server, whose versions cannot be compared.
        own_writes = [write for client, write in writes if client is self.plan.client]
        return not self._stopped and self.own_writes.hold(key, own_writes, began, now)

    # From changes to keys

    def _open(self, source: KindSource, namespace: str | AllNamespaces) -> Cache[Any]:
        return self._caches.cache(
            source.kind,
            namespace=namespace,
            label_selector=source.label_selector,
            field_selector=source.field_selector,
            resource=source.resource,
            transform=source.transform,
            settings=self.plan.settings,
        )

    async def _wait_synced(self, cache: Cache[Any]) -> None:
        began = self._clock()
        async with anyio.create_task_group() as reporting:
            reporting.start_soon(self._report_waiting, cache)
            await cache.wait_synced(
                timeout=self.plan.sync_timeout, wait_for_definition=self.plan.wait_for_definition
            )
            reporting.cancel_scope.cancel()
        self._log.info(
            "the cache of %s synced: %d objects in %.3g s",
            cache.display_name,
            len(cache),
            self._clock() - began,
        )

    async def _report_waiting(self, cache: Cache[Any]) -> None:
        """Log repeatedly why the cache has not synced."""
        began = self._clock()
        while True:
            await anyio.sleep(_REPORT_PERIOD)
            self._log.warning(
                "the cache of %s has not synced after %.0f s, because %s",
                cache.display_name,
                self._clock() - began,
                cache.sync_status.reason,
            )

    def _forget_deleted(self, key: str) -> None:
        """Remove the state of a deleted object. With `run_keys`, its key stays in the queue."""
        self._reported.pop(key, None)
        self.failing.pop(key, None)
        if self.plan.by_key:
            self.queue.forget(key)
        else:
            self.queue.discard(key)

    def _find_in_namespace(self, key: str) -> CachedObject | None:
        """Return the object of a key; None if it does not exist or its namespace is not followed."""
        cache = self._own_caches.get(key.rpartition("/")[0])
        return None if cache is None else cache.entry(key)

    # From keys to calls

    def _perform(self, work: Work[str]) -> Coroutine[Any, Any, None] | None:
        """Begin a run. Return None if it has ended, or a coroutine that continues it.

        The user's coroutine is stepped with `send`. Most runs end in the first step, and a coroutine around
        the user's coroutine would take 1.2 of the 5.2 µs of an empty run.
        """
        plan, key = self.plan, work.key
        # Cached in local variables, because the lookup of attributes takes longer.
        read_clock, find, reconcile = self._clock, self._find, plan.reconcile
        began = read_clock()
        subject: Any = key
        entry = find(key)
        context = self._context(work, entry)
        try:
            if not plan.by_key:
                if entry is None:
                    self.queue.forget(key)
                    return None
                try:
                    subject = decode(entry.raw, plan.kind, strict=True, resource=plan.resource)
                except InvalidObject as error:
                    return self._refuse(work, entry, error, context, began)
            run: Any
            if (tracer := self._tracing.tracer(began)) is None:
                run = reconcile(subject, context)
            else:
                run = _reconcile_in_span(tracer, reconcile, subject, context)
            # Only coroutines have `send`. Other awaitables are wrapped in a coroutine, which also rejects
            # other values. If all runs were wrapped, each would take 0.2 µs longer.
            if type(run) is not _COROUTINE:
                run = _awaited(run)
        except reconcile_error_types() as error:
            self._fail(work, failure_of(error), context, began)
            return None
        try:
            trap = run.send(None)
        except StopIteration as ended:
            action = ended.value
        except reconcile_error_types() as error:
            self._fail(work, failure_of(error), context, began)
            return None
        else:
            return self._continue(work, resumed(run, trap), context, began)
        self._succeed(work, action, context, began)
        return None

    async def _continue(
        self, work: Work[str], run: Awaitable[Action | None], context: Context[Any], began: float
    ) -> None:
        try:
            action = await run
        except reconcile_error_types() as error:
            self._fail(work, failure_of(error), context, began)
        else:
            self._succeed(work, action, context, began)

    # The outcomes

    def _succeed(self, work: Work[str], action: Action | None, context: Context[Any], began: float) -> None:
        if action is not None:
            try:
                check_action(action, "the reconcile")
            except Exception as error:  # `isinstance` reads `__class__`, which a proxy may compute
                self._fail(work, error, context, began)
                return
        read_clock = self._clock
        now = read_clock()
        self.stats.observe(work.key, now - began, now)
        delay = None if action is None else action.requeue_after
        if action is not None and delay is not None:
            self.stats.requeued += 1
            self.queue.requeue(work.key, now, after=delay, priority=action.priority)
            if not self.plan.by_key and self._find(work.key) is None:
                self.queue.discard(work.key)  # deleted while it ran
                delay = None
        else:
            self.stats.succeeded += 1
            if work.attempt > 1:
                self.queue.forget(work.key)
        if self._reported:
            self._reported.pop(work.key, None)
        if self.failing:
            self.failing.pop(work.key, None)
        if self.plan.observe is not None:
            self._notify(work, now - began, delay, None)

    def _fail(self, work: Work[str], error: Exception, context: Context[Any], began: float) -> None:
        now = self._clock()
        stats, queue, log = self.stats, self.queue, context.logger
        stats.observe(work.key, now - began, now)
        error_type = type(error)  # `isinstance` would read `__class__`, which may be a failing property
        if issubclass(error_type, Conflict):
            stats.conflicts += 1
        else:
            stats.failed += 1
        action = self._decide(error, context)
        delay = None
        message = error_text(error)
        text = f"{type_name(error)}: {message}"
        previous = self.failing.get(work.key)
        repeated = previous is not None and previous.text == text
        self.failing[work.key] = FailingKey(text, error_summary(error), work.attempt, now)
        # The traceback is logged once; a repetition of the failure takes one line, with its count.
        traceback = (
            None
            if repeated or issubclass(error_type, ReconcileTimeout | WrongResult)
            else make_formattable(error)
        )
        if action is not None and action.requeue_after is not None:
            delay = queue.retry(work.key, now, after=action.requeue_after, priority=action.priority)
        elif action is None and issubclass(error_type, Terminal):
            stats.terminal += 1
        elif action is None:
            delay = queue.retry(work.key, now)
        if (delay is None or not self.plan.by_key) and self._find(work.key) is None:
            self._forget_deleted(work.key)  # no later event would remove its state
            delay = None
        if issubclass(error_type, Conflict) and delay is not None:
            # A conflict is normal: the object has changed since, and the next run sees its new state.
            level = self._lines.level(logging.INFO, (work.key, 0, text), now)
            log.log(level, "conflict, retried in %.3g s: %s", delay, message)
        else:
            level = self._lines.level(logging.ERROR, (work.key, work.attempt, text), now)
            if delay is None:
                log.log(level, "failed, and waits for a change: %s", message, exc_info=traceback)
            else:
                line = "attempt %d failed, the next in %.3g s: %s"
                log.log(level, line, work.attempt, delay, message, exc_info=traceback)
        self._notify(work, now - began, delay, error)

    def _decide(self, error: Exception, context: Context[Any]) -> Action | None:
        """Call `on_error`. If it fails itself, the default backoff applies."""
        if self.plan.on_error is None:
            return None
        try:
            action = self.plan.on_error(error, context)
            check_action(action, "on_error")
        except failure_types() as failure:
            log_failure(context.logger, "on_error failed, and the default backoff is used", error=failure)
            return None
        return action

    async def _refuse(
        self, work: Work[str], entry: CachedObject, error: InvalidObject, context: Context[Any], began: float
    ) -> None:
        """Report an object that does not fit its class, once for each version."""
        if self._reported.get(work.key) == entry.version:
            self.queue.forget(work.key)
            return
        self.stats.failed += 1
        self.stats.terminal += 1
        context.logger.error("cannot be reconciled as it is: %s", error)
        try:
            if self.plan.on_invalid is not None:
                returned = self.plan.on_invalid(error, context)
                if isawaitable(returned):
                    await returned
        except reconcile_error_types() as failure:
            self._fail(work, failure_of(failure, "on_invalid"), context, began)
            return
        self.queue.forget(work.key)  # only now: an `on_invalid` that fails is retried with a growing delay
        self._reported[work.key] = entry.version
        self._notify(work, self._clock() - began, None, error)

    def _time_out(self, work: Work[str], error: Exception | None) -> None:
        limit = self.plan.timeout or 0.0
        timeout = ReconcileTimeout(f"the reconcile of {work.key} took longer than {limit:g} s")
        timeout.__cause__ = error
        self.stats.timeouts += 1
        self._fail(work, timeout, self._context(work, self._find(work.key)), self._clock() - limit)

    def _fail_cancelled(self, work: Work[str], error: Exception) -> None:
        self._fail(work, error, self._context(work, self._find(work.key)), self._clock())

    def _context(self, work: Work[str], entry: CachedObject | None) -> Context[Any]:
        self._runs += 1
        new_context = self._new_context
        return new_context(work.key, work.reason, work.attempt, work.priority, entry, self._runs)

    def _notify(self, work: Work[str], seconds: float, delay: float | None, error: Exception | None) -> None:
        if self.plan.observe is not None:
            ref = ref_of(work.key, self.plan.resource)
            try:
                self.plan.observe(Result(ref, work.reason, work.attempt, seconds, delay, error))
            except failure_types() as failure:
                log_failure(self._log, "%s: observe failed, and its result is lost", ref, error=failure)


async def _awaited(returned: Awaitable[Action | None]) -> Action | None:
    return await check_awaitable(returned)


async def _reconcile_in_span(
    tracer: Any, reconcile: ReconcileFunction, subject: Any, context: Context[Any]
) -> Action | None:
    attributes = {
        "k8s.resource.kind": context.resource.kind,
        "k8s.resource.group": context.resource.group,
        "k8s.namespace.name": context.namespace,
        "k8s.object.name": context.name,
        "reconcile.reason": context.reason,
        "reconcile.attempt": context.attempt,
        "reconcile.id": context.reconcile_id,
    }
    with tracer.start_as_current_span(f"reconcile {context.resource.kind}", attributes=attributes):
        return await check_awaitable(reconcile(subject, context))

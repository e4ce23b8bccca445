"""`Reconciling`: a controller at work. Changes become keys, keys become calls, results become times.

    caches ── changes ──► sources ── keys ──► queue ──► workers ──► reconcile
                                               ▲                        │
                                               └── requeue, retry ──────┘

A cache tells of a change when its readers see it, and a run reads the cache when it begins: so no run sees a
snapshot older than the event that caused it. Runs begin when every source has synced.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

from kubeproto import Conflict, InvalidObject, KubeprotoError, ObjectRef, Resource, decode
from kubeproto.control import (
    LOW,
    Action,
    AwaitChange,
    Exponential,
    QueueBackoff,
    Rate,
    Requeue,
    Work,
    WorkQueue,
)
from kubeproto.watching import resync

from ..predicates import is_news_of_deletion
from ..tasks._stray_cancellations import complain, failures, is_stray
from ._context import Context, ref_of
from ._metrics import ReconcileStats
from ._shown_writes import ShownWrites
from ._tracing import find_tracer
from ._workers import Workers, clock

if TYPE_CHECKING:
    from kubeproto.control import CachedObject, Change
    from kubeproto.requests import AllNamespaces

    from ..caches._caches import Cache, Caches
    from ..calls._written import Written
    from ..client._client import Client
    from ._sources import KindSource

# Changes that are taken in one step of the event loop: a thousand cost a millisecond or two.
_STEP: Final = 1000

# Seconds between two reports of a list that does not come, such as one that is refused.
_REPORT: Final = 30.0

# A trigger is a connection to something outside, mostly, and that comes back within a minute or so.
_TRIGGER_RETRIES: Final = Exponential(1.0, 60.0)

ReconcileFunction: TypeAlias = Callable[[Any, Context[Any]], Awaitable[Action | None]]


class Terminal(KubeprotoError):
    """Raise it in a reconcile where trying again is of no use until something changes."""


class ReconcileTimeout(KubeprotoError, TimeoutError):
    """A reconcile took longer than it may, and was cancelled."""


class Result(Struct, frozen=True):
    """How a reconcile went: `error` if it failed, `after` if it comes again by itself, in seconds."""

    ref: ObjectRef[Any]
    reason: str
    attempt: int
    seconds: float
    after: float | None = None
    error: Exception | None = None


class ControllerPlan(Struct, frozen=True):
    """What a controller is to do; see `Controller` for what each of it means."""

    client: Client
    kind: type[Any]
    resource: Resource
    state: Any
    name: str
    sources: tuple[KindSource, ...]
    triggers: tuple[AsyncIterable[str], ...]
    reconcile: ReconcileFunction
    by_key: bool
    on_error: Callable[[Exception, Context[Any]], Action | None] | None
    on_invalid: Callable[[InvalidObject, Context[Any]], object] | None
    observe: Callable[[Result], None] | None
    concurrency: int
    timeout: float | None
    sync_timeout: float | None
    wait_for_definition: bool
    backoff: QueueBackoff
    rate: Rate | None
    debounce: float
    longest_wait: float | None
    settings: resync.Settings


class Reconciling:
    """One controller from its start to its end."""

    def __init__(self, plan: ControllerPlan, caches: Caches, leads: Callable[[], bool] | None = None) -> None:
        """`leads` is asked before each run, where only the leader reconciles."""
        self.plan = plan
        self.queue: WorkQueue[str] = WorkQueue(
            backoff=plan.backoff, rate=plan.rate, debounce=plan.debounce, longest_wait=plan.longest_wait
        )
        self.tally = ReconcileStats()
        self.caches: list[Cache[Any]] = []
        self.synced = False
        self.workers: Workers[str] = Workers(
            self.queue,
            self._perform,
            self._cut,
            concurrency=plan.concurrency,
            limit=plan.timeout,
            fail=self._answer_cancellation,
            may_begin=leads,
            hold=self._hold,
        )
        self.own_writes = ShownWrites(self.queue, self.workers.stir, self._read_clock)
        self._shared = caches
        self._log = logging.getLogger(f"kubeproto.controller.{plan.name}")
        # Sources are kept apart, the controller's own first: one of them may follow the same class in other
        # places, by other labels, or as another `Dynamic` kind.
        self._followed: dict[Any, list[dict[str, Cache[Any]]]] = {}
        self._own: dict[str, Cache[Any]] = {}
        self._find: Callable[[str], CachedObject | None] = self._find_in
        self._clock: Callable[[], float] = anyio.current_time
        self._tracer = find_tracer()
        self._backlog: deque[tuple[Callable[[list[Change[Any]]], None], list[Change[Any]]]] = deque()
        self._more = anyio.Event()
        self._reported: dict[str, str] = {}  # the versions of objects that do not fit their type
        self._failed: dict[str, str] = {}  # the last failure of each key that fails
        self._ready = anyio.Event()
        self._until_ready = anyio.CancelScope()
        self._stopped = False

    async def follow(self) -> None:
        """Follow the sources until cancelled; what they bring waits in the queue until `work` runs."""
        self._clock = clock()
        for source in self.plan.sources:
            caches = self._own if source is self.plan.sources[0] else {}
            for mark in (source.kind, (source.kind, source.resource)):
                self._followed.setdefault(mark, []).append(caches)
            for namespace in source.namespaces:
                cache = self._open(source, namespace)
                caches[namespace if isinstance(namespace, str) else ""] = cache
                self.caches.append(cache)
                self.own_writes.follow(cache, source)
                cache.listen(self._listener(source))
        if (everywhere := self._own.get("")) is not None:
            self._find = everywhere.entry
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(complain, self._feed)
            tasks.start_soon(complain, self.own_writes.run)
            async with anyio.create_task_group() as syncing:
                for cache in self.caches:
                    syncing.start_soon(self._until_synced, cache)
            self.synced = True
            self._ready.set()
            for keys in self.plan.triggers:
                tasks.start_soon(complain, self._take, keys)

    async def work(self) -> None:
        """Reconcile until stopped, and until the last run has ended."""
        if self._stopped and not self.synced:
            return  # before this had its turn
        with anyio.CancelScope() as self._until_ready:
            await self._ready.wait()
            await self.workers.run()

    def stop(self) -> None:
        """Begin no more runs."""
        self._stopped = True
        self.queue.stop()
        self.workers.stop()
        self.own_writes.end()
        if not self.synced:
            self._until_ready.cancel()

    def _read_clock(self) -> float:
        return self._clock()

    def _hold(self, key: str, written: list[Written], now: float) -> bool:
        """Whether a key waits until the caches show what its run wrote. Other clients see other servers."""
        own = [write for client, write in written if client is self.plan.client]
        return not self._stopped and self.own_writes.hold(key, own, now)

    # From changes to keys

    def _open(self, source: KindSource, namespace: str | AllNamespaces) -> Cache[Any]:
        return self._shared.cache(
            source.kind,
            namespace=namespace,
            label_selector=source.label_selector,
            field_selector=source.field_selector,
            resource=source.resource,
            transform=source.transform,
            settings=self.plan.settings,
        )

    async def _until_synced(self, cache: Cache[Any]) -> None:
        began = self._clock()
        async with anyio.create_task_group() as reporting:
            reporting.start_soon(self._report_waiting, cache)
            await cache.wait_synced(
                timeout=self.plan.sync_timeout, wait_for_definition=self.plan.wait_for_definition
            )
            reporting.cancel_scope.cancel()
        self._log.info(
            "the cache of %s synced: %d objects in %.3g s", cache.place, len(cache), self._clock() - began
        )

    async def _report_waiting(self, cache: Cache[Any]) -> None:
        """Say what keeps a first list from coming, now and then for as long as it does not."""
        began = self._clock()
        while True:
            await anyio.sleep(_REPORT)
            self._log.warning(
                "the cache of %s has not synced after %.0f s, because %s",
                cache.place,
                self._clock() - began,
                cache.sync_status.why,
            )

    def _listener(self, source: KindSource) -> Callable[[list[Change[Any]]], None]:
        queue, passes, when, keys_of = self.queue, self._passes, source.when, source.keys
        kind, by_key = source.resource.kind, self.plan.by_key
        reasons = {"ADDED": f"{kind} added", "MODIFIED": f"{kind} modified", "DELETED": f"{kind} deleted"}
        listed = f"{kind} listed"

        def take(changes: list[Change[Any]]) -> None:
            now = self._clock()
            for change in changes:
                if keys_of is None and change.type == "DELETED":
                    self._forget_deleted(change.key)  # whatever the predicate says
                if when is not None and not is_news_of_deletion(change) and not passes(when, change):
                    continue
                # What a list brings, or brings again unchanged, may wait until what has changed is done.
                news = not change.initial and change.old is not change.new
                priority, reason = (0, reasons[change.type]) if news else (LOW, listed)
                if keys_of is not None:
                    for key in keys_of(change):
                        queue.add(key, now, priority=priority, reason=reason)
                elif by_key or change.type != "DELETED":
                    queue.add(change.key, now, priority=priority, reason=reason)
            self.workers.stir()

        def listen(changes: list[Change[Any]]) -> None:
            if len(changes) <= _STEP and not self._backlog:
                take(changes)
            else:
                self._backlog.append((take, changes))
                self._more.set()

        return listen

    async def _feed(self) -> None:
        """Take what is too much for one step of the event loop: a list of many objects."""
        while True:
            while self._backlog:
                take, changes = self._backlog[0]
                for at in range(0, len(changes), _STEP):
                    take(changes[at : at + _STEP])
                    await checkpoint()
                self._backlog.popleft()  # only now: what comes meanwhile has to wait behind it
            self._more = anyio.Event()
            await self._more.wait()

    def _forget_deleted(self, key: str) -> None:
        """Keep nothing of an object that is gone. By key, what a run has asked for still comes."""
        self._reported.pop(key, None)
        self._failed.pop(key, None)
        if self.plan.by_key:
            self.queue.forget(key)
        else:
            self.queue.discard(key)

    def _passes(self, when: Callable[[Change[Any]], bool], change: Change[Any]) -> bool:
        try:
            return when(change)
        except failures():
            self._log.exception("a predicate has failed on %s, which passes therefore", change.key)
            return True

    def _find_in(self, key: str) -> CachedObject | None:
        """The object of a key, if there is one and its namespace is followed."""
        cache = self._own.get(key.rpartition("/")[0])
        return None if cache is None else cache.entry(key)

    async def _take(self, keys: AsyncIterable[str]) -> None:
        """Add what a trigger brings. One that fails is iterated anew if it can be; the others go on."""
        retries = _TRIGGER_RETRIES
        failed = 0
        while True:
            source = aiter(keys)
            try:
                async for key in source:
                    failed = 0
                    self.queue.add(key, self._clock(), reason="trigger")
                    self.workers.stir()
                return
            except Exception as error:
                failed += 1
                if source is keys:  # a generator has ended with its error
                    self._log.exception("the trigger %r failed and has ended: it adds no more keys", keys)
                    return
                wait = retries(failed)
                self._log.error("the trigger %r failed, retried in %.3g s", keys, wait, exc_info=error)
            await anyio.sleep(wait)

    # From keys to calls

    async def _perform(self, work: Work[str]) -> None:
        plan, key = self.plan, work.key
        began = self._clock()
        subject: Any = key
        entry = self._find(key)
        context = self._context(work, entry)
        try:
            if not plan.by_key:
                if entry is None:
                    self.queue.forget(key)
                    return
                try:
                    subject = decode(entry.raw, plan.kind, strict=True, resource=plan.resource)
                except InvalidObject as error:
                    await self._refuse(work, entry, error, context, began)
                    return
            if self._tracer is None:
                action = await _awaitable(plan.reconcile(subject, context))
            else:
                with self._tracer(context):
                    action = await _awaitable(plan.reconcile(subject, context))
            _check(action, "the reconcile")
        except Exception as error:
            self._fail(work, error, context, began)
        except anyio.get_cancelled_exc_class() as error:
            if not is_stray():
                raise
            stray = RuntimeError("what the reconcile waited for was cancelled")
            stray.__cause__ = error
            self._fail(work, stray, context, began)
        else:
            self._succeed(work, action, began)

    def _succeed(self, work: Work[str], action: Action | None, began: float) -> None:
        now = self._clock()
        self.tally.observe(now - began)
        after = None
        if isinstance(action, Requeue):
            after = action.after
            self.tally.requeued += 1
            self.queue.requeue(work.key, now, after=after, priority=action.priority)
            if not self.plan.by_key and self._find(work.key) is None:
                self.queue.discard(work.key)  # deleted while it ran
                after = None
        else:
            self.tally.succeeded += 1
            self.queue.forget(work.key)
        if self._reported:
            self._reported.pop(work.key, None)
        if self._failed:
            self._failed.pop(work.key, None)
        if self.plan.observe is not None:
            self._notify(work, now - began, after, None)

    def _fail(self, work: Work[str], error: Exception, context: Context[Any], began: float) -> None:
        now = self._clock()
        tally, queue, log = self.tally, self.queue, context.logger
        tally.observe(now - began)
        if isinstance(error, Conflict):
            tally.conflicts += 1
        else:
            tally.failed += 1
        action = self._decide(error, context)
        after = None
        text = f"{type(error).__name__}: {error}"
        again = self._failed.get(work.key) == text
        self._failed[work.key] = text
        # The traceback is shown once; what fails in the same way again takes a line, with its count.
        shown = None if again or isinstance(error, ReconcileTimeout | WrongResult) else error
        if isinstance(action, Requeue):
            after = queue.retry(work.key, now, after=action.after, priority=action.priority)
        elif action is None and isinstance(error, Terminal):
            tally.terminal += 1
        elif action is None:
            after = queue.retry(work.key, now)
        if (after is None or not self.plan.by_key) and self._find(work.key) is None:
            self._forget_deleted(work.key)  # nobody would tell of it again
            after = None
        if isinstance(error, Conflict) and after is not None:
            # Daily business: the run saw an object that has changed since, and the next one sees the new one.
            log.info("met a conflict, tried again in %.3g s: %s", after, error)
        elif after is None:
            log.error("failed, and waits for a change: %s", error, exc_info=shown)
        else:
            log.error("attempt %d failed, the next in %.3g s: %s", work.attempt, after, error, exc_info=shown)
        self._notify(work, now - began, after, error)

    def _decide(self, error: Exception, context: Context[Any]) -> Action | None:
        """Ask `on_error`. One that fails itself decides nothing: the key is retried as if there were none."""
        if self.plan.on_error is None:
            return None
        try:
            action = self.plan.on_error(error, context)
            _check(action, "on_error")
        except failures():
            context.logger.exception("on_error failed, and the default backoff is used")
            return None
        return action

    async def _refuse(
        self, work: Work[str], entry: CachedObject, error: InvalidObject, context: Context[Any], began: float
    ) -> None:
        """The object does not fit its type: at this version it never will, so it is reported once."""
        self.queue.forget(work.key)
        if self._reported.get(work.key) == entry.version:
            return
        self.tally.failed += 1
        self.tally.terminal += 1
        context.logger.error("cannot be reconciled as it is: %s", error)
        if self.plan.on_invalid is not None and isawaitable(told := self.plan.on_invalid(error, context)):
            await told
        self._reported[work.key] = entry.version
        self._notify(work, self._clock() - began, None, error)

    def _cut(self, work: Work[str], error: Exception | None) -> None:
        limit = self.plan.timeout or 0.0
        overdue = ReconcileTimeout(f"the reconcile of {work.key} took longer than {limit:g} s")
        overdue.__cause__ = error
        self.tally.overdue += 1
        self._fail(work, overdue, self._context(work, self._find(work.key)), self._clock() - limit)

    def _answer_cancellation(self, work: Work[str], error: Exception) -> None:
        self._fail(work, error, self._context(work, self._find(work.key)), self._clock())

    def _context(self, work: Work[str], entry: CachedObject | None) -> Context[Any]:
        plan = self.plan
        return Context(
            plan.client,
            self._shared,
            plan.state,
            work.key,
            work.reason,
            work.attempt,
            work.priority,
            plan.resource,
            self._log,
            self._followed,
            plan.kind,
            entry,
        )

    def _notify(self, work: Work[str], seconds: float, after: float | None, error: Exception | None) -> None:
        if self.plan.observe is not None:
            ref = ref_of(work.key, self.plan.resource)
            try:
                self.plan.observe(Result(ref, work.reason, work.attempt, seconds, after, error))
            except failures():
                self._log.exception("%s: observe failed, and its result is lost", ref)


class WrongResult(Terminal, TypeError):
    """A function of the user's returned something else than it should, as it would do each time."""


def _awaitable(returned: Awaitable[Action | None]) -> Awaitable[Action | None]:
    if not hasattr(returned, "__await__"):
        raise WrongResult(
            f"the reconcile returned {_shown(returned)} and no coroutine: define it with `async def`"
        )
    return returned


def _check(action: object, whose: str) -> None:
    """What is returned is the user's: nobody has to have run a type checker."""
    if not (action is None or isinstance(action, Requeue | AwaitChange)):
        raise WrongResult(
            f"{whose} returned {_shown(action)}: return requeue(after=...), await_change() or None"
        )


def _shown(value: object) -> str:
    """What came, for an error: its type alone if it is an object, of which the content may be private."""
    return repr(value) if isinstance(value, int | float | bool | None) else f"a {type(value).__name__}"

"""Programs under test: a replica of an operator with two controllers, and one that caches a kind."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

import kubeproto as kp
from kubeproto import RawRequest
from kubeproto.control import owner_reference, requeue
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.watching import resync
from kubeproto_runtime import Action, Context, Controller, Operator, await_change, finalizer
from kubeproto_runtime.caches import Cache, Caches
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import SimulatedClient
from kubeproto_sim import ServerResponse

from .kinds import BOOKS, FINALIZER, SHELVES, Book, Shelf
from .loop import Pausable, process_of
from .network import Network
from .provider import Provider, authorized

if TYPE_CHECKING:
    from .plan import FollowerPlan
    from .trial import Trial

LEASE: Final = "storm"
LEASE_DURATION: Final = 15.0


class Clock:
    """The monotonic clock of one machine: it runs at its own rate, and goes on while the machine sleeps."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.missed = 0.0

    def now(self) -> float:
        """The time."""
        return anyio.current_time() * self.rate + self.missed

    async def sleep_until(self, at: float) -> None:
        """Return when it is that time."""
        await anyio.sleep(max(0.0, (at - self.now()) / self.rate))


class Program(Pausable):
    """A process with a client of its own, which can be stopped, killed and started again."""

    def __init__(self, trial: Trial, name: str) -> None:
        super().__init__()
        self.trial = trial
        self.name = name
        self.network = Network(trial, name, checked=self.check_write)
        self.client = SimulatedClient(trial.cluster, self.network, seed=trial.plan.seed, namespace="default")
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.provider: Provider | None = None
        self._authorized: Any = None
        if trial.plan.credentials != "none":
            now = lambda: trial.cluster.now  # noqa: E731
            self.provider = Provider(Random(f"{trial.plan.seed} {name}"), now, trial.count)
            self._authorized = authorized(self.client.transport, self.provider, now, trial.plan.credentials)
            self.client.transport = self._authorized

    def check_write(self, request: RawRequest) -> None:
        """Look at a write as it leaves."""

    async def run(self) -> None:
        """Run until it ends or is killed."""
        process_of.set(self)
        try:
            with self.scope:
                await self.live()
        finally:
            if self._authorized is not None:
                with anyio.CancelScope(shield=True):
                    await self._authorized.aclose()
            self.network.settle()
            self.ended.set()

    async def live(self) -> None:
        """What the process does."""
        raise NotImplementedError

    def kill(self) -> None:
        """End it without a farewell: it sends nothing more."""
        self.network.dead = True
        self.scope.cancel()


class Follower(Program):
    """A program that follows one kind, and nothing else."""

    def __init__(self, trial: Trial, name: str, plan: FollowerPlan) -> None:
        super().__init__(trial, name)
        self.plan = plan
        kinds: dict[str, Any] = {"books": Book, "shelves": Shelf, "configmaps": ConfigMap}
        kind = kinds.get(plan.kind, kp.Metadata[Book])
        self.caches = Caches(self.client)
        self.cache: Cache[Any] = self.caches.cache(
            kind,
            namespace=plan.namespace or kp.ALL,
            label_selector=plan.selector,
            settings=resync.Settings(
                page_size=plan.page_size, streaming=plan.streaming, initial_version=plan.first
            ),
        )
        trial.oracle.follow(self.cache, plan.selector, f"{name} ({plan.kind})")

    async def live(self) -> None:
        """Follow."""
        async with self.caches:
            await anyio.sleep_forever()

    @property
    def agrees(self) -> bool:
        """Whether it shows what is there."""
        return self.trial.oracle.agrees(self.cache, self.plan.selector)


class Replica(Program):
    """An operator: a ConfigMap and a status for each Book, a finalizer on each Shelf."""

    def __init__(self, trial: Trial, name: str, number: int, life: int) -> None:
        super().__init__(trial, f"{name}.{life}")
        self.number, self.life = number, life
        self.rng = Random(f"{trial.plan.seed} {self.name}")
        self.clock = Clock(trial.plan.rates[number])
        self.doubtful_until = 0.0  # another clock may have run too fast for this one to trust the lease
        self.election = LeaderElector(self.client, name=LEASE, identity=self.name, clock=self.clock)
        self.operator = Operator(election=self.election, grace=5.0)
        self.running: set[tuple[str, str]] = set()
        self.seen: dict[tuple[str, str], str] = {}
        self.failure = ""
        self.resumed_at = -1.0
        self.claimed_until = 0.0  # on its own clock
        self.network.answered = self._answered

    async def live(self) -> None:
        """Run the operator."""
        books = Controller(self.client, Book, concurrency=3, timeout=20.0).owns(ConfigMap)
        shelves = Controller(self.client, Shelf, concurrency=2, timeout=20.0)
        clean = finalizer(FINALIZER, apply=self._put_up, cleanup=self._take_down)

        async def shelve(shelf: Shelf, ctx: Context[None]) -> Action:
            return await self._once(SHELVES, ctx, shelf, clean(shelf, ctx))

        async def label(book: Book, ctx: Context[None]) -> Action:
            return await self._once(BOOKS, ctx, book, self._label(book, ctx))

        runs = books.run(label), shelves.run(shelve)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_caches)
            try:
                await self.operator.run(*runs)
            except* kp.DeadlineExceeded as late:  # beside it a cancellation, if it is killed just then
                self.failure = str(late.exceptions[0])  # its caches have not synced for two minutes
            tasks.cancel_scope.cancel()

    async def _watch_caches(self) -> None:
        await anyio.sleep(0.001)
        for reconciling in self.operator._controllers.values():
            for cache in reconciling.caches:
                self.trial.oracle.follow(cache, "", f"{self.name} ({cache.resource})")

    @property
    def agrees(self) -> bool:
        """Whether all caches show what is there."""
        return all(
            self.trial.oracle.agrees(cache, "")
            for reconciling in self.operator._controllers.values()
            for cache in reconciling.caches
        )

    # What a run does

    async def _once(self, what: str, ctx: Context[None], obj: Book | Shelf, work: Any) -> Action:
        mark = what, ctx.key
        if mark in self.running:
            self.trial.found(f"{self.name} runs {what} {ctx.key} twice at once")
        if not self.election.is_leader:
            self.trial.found(f"{self.name} begins a run of {what} {ctx.key} and does not lead")
        self.running.add(mark)
        try:
            await self._trouble()
            action: Action = await work
            work = None
        finally:
            self.running.discard(mark)
            if work is not None:
                work.close()
        self.seen[mark] = obj.metadata.resource_version
        return action

    async def _trouble(self) -> None:
        trial, now = self.trial, self.trial.time
        if now < trial.slow_until and not trial.calm:
            trial.count("slow handlers")
            await anyio.sleep(self.rng.choice((0.5, 3.0, 40.0)))
        if now < trial.failing_until and not trial.calm and self.rng.random() < 0.5:
            trial.count("failing handlers")
            raise RuntimeError("this handler fails now and then")

    async def _label(self, book: Book, ctx: Context[None]) -> Action:
        wanted = {"title": book.spec.title}
        child = ctx.cache(ConfigMap).get(ctx.name, ctx.namespace)
        if child is None or child.data != wanted:
            metadata = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)])
            api = ctx.client.api(ConfigMap, namespace=ctx.namespace)
            await api.apply(ConfigMap(metadata=metadata, data=wanted), field_manager="storm", force=True)
        if book.status is None or book.status.label != book.spec.title:
            books = ctx.client.api(Book, namespace=ctx.namespace)
            await books.patch_status(book, {"label": book.spec.title})
        return requeue(after=300) if self.rng.random() < 0.1 else await_change()

    async def _put_up(self, shelf: Shelf, _: Context[None]) -> Action:
        self.trial.external.add(shelf.metadata.uid)
        return await_change()

    async def _take_down(self, shelf: Shelf, _: Context[None]) -> Action | None:
        await anyio.sleep(self.rng.choice((0.0, 1.0)))
        if self.rng.random() < 0.2 and not self.trial.calm:
            return requeue(after=2.0)
        self.trial.external.discard(shelf.metadata.uid)
        return None

    # What leaves, and what the lease says

    def check_write(self, request: RawRequest) -> None:
        """No request of a run leaves after the lease has expired on this one's clock."""
        trial, now = self.trial, self.clock.now()
        if trial.time == self.resumed_at:
            return  # it was on its way when the process was stopped, and nobody could call it back
        if now > self.claimed_until:
            late = now - self.claimed_until
            trial.found(
                f"{self.name} sends {request.method} {request.target} {late:.3f} s after its lease expired"
            )
        for other in trial.replicas:
            if other is not self and other.election.is_leader and not self._may_overlap(other):
                trial.found(f"{self.name} sends {request.method} {request.target} while {other.name} leads")

    def _may_overlap(self, other: Replica) -> bool:
        doubtful = max(self.doubtful_until, other.doubtful_until, self.trial.lease_doubtful_until)
        ratio = max(self.clock.rate, other.clock.rate) / min(self.clock.rate, other.clock.rate)
        return other.network.dead or other.ended.is_set() or self.trial.time < doubtful or ratio > 1.45

    def _answered(self, request: RawRequest, response: ServerResponse) -> None:
        if "/leases" not in request.target or request.method not in ("PUT", "POST") or response.status >= 300:
            return
        spec: dict[str, Any] = msgspec.json.decode(request.body)["spec"]
        if spec.get("holderIdentity") == self.name:
            self.claimed_until = self.clock.now() + LEASE_DURATION

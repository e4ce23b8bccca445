"""Programs under test: a replica of an operator with two controllers, and a program that caches a kind."""

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
    """The monotonic clock of a machine: it runs at its own rate, and continues while the machine sleeps."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.missed = 0.0

    def now(self) -> float:
        """Return the time."""
        return anyio.current_time() * self.rate + self.missed

    async def sleep_until(self, deadline: float) -> None:
        """Return at this time."""
        await anyio.sleep(max(0.0, (deadline - self.now()) / self.rate))


class Program(Pausable):
    """A process with its own client, which can be paused, killed and restarted."""

    def __init__(self, trial: Trial, name: str) -> None:
        super().__init__()
        self.trial = trial
        self.name = name
        self.network = Network(trial, name, checked=self.check_write)
        self.client = SimulatedClient(trial.cluster, self.network, seed=trial.plan.seed, namespace="default")
        self.scope = anyio.CancelScope()
        self.finished = anyio.Event()
        self.provider: Provider | None = None
        self._authorized: Any = None
        if trial.plan.credentials != "none":
            now = lambda: trial.cluster.now  # noqa: E731
            self.provider = Provider(Random(f"{trial.plan.seed} {name}"), now, trial.count)
            self._authorized = authorized(self.client.transport, self.provider, now, trial.plan.credentials)
            self.client.transport = self._authorized

    def check_write(self, request: RawRequest) -> None:
        """Check a write when it is sent."""

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
            self.finished.set()

    async def live(self) -> None:
        """Run the program."""
        raise NotImplementedError

    def kill(self) -> None:
        """Kill the process: it sends nothing more."""
        self.network.dead = True
        self.scope.cancel()


class Follower(Program):
    """A program that only follows a kind."""

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
        """Follow the kind."""
        async with self.caches:
            await anyio.sleep_forever()

    @property
    def agrees(self) -> bool:
        """Return whether the cache shows the current objects."""
        return self.trial.oracle.agrees(self.cache, self.plan.selector)


class Replica(Program):
    """An operator: a ConfigMap and a status for each Book, a finalizer on each Shelf."""

    def __init__(self, trial: Trial, name: str, number: int, life: int) -> None:
        super().__init__(trial, f"{name}.{life}")
        self.number, self.life = number, life
        self.rng = Random(f"{trial.plan.seed} {self.name}")
        self.clock = Clock(trial.plan.rates[number])
        self.doubtful_until = 0.0  # another clock may run too fast for this clock to trust the lease
        self.election = LeaderElector(self.client, name=LEASE, identity=self.name, clock=self.clock)
        self.operator = Operator(election=self.election, grace=5.0)
        self.running: set[tuple[str, str]] = set()
        self.reconciled_versions: dict[tuple[str, str], str] = {}
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
            # a cancellation is raised as well if the replica is killed at this moment
            except* kp.DeadlineExceeded as late:
                self.failure = str(late.exceptions[0])  # its caches have not synced for two minutes
            tasks.cancel_scope.cancel()

    async def _watch_caches(self) -> None:
        await anyio.sleep(0.001)
        for reconciling in self.operator._controllers.values():
            for cache in reconciling.caches:
                self.trial.oracle.follow(cache, "", f"{self.name} ({cache.resource})")

    @property
    def agrees(self) -> bool:
        """Return whether all caches show the current objects."""
        return all(
            self.trial.oracle.agrees(cache, "")
            for reconciling in self.operator._controllers.values()
            for cache in reconciling.caches
        )

    # The actions of a run

    async def _once(self, controller_name: str, ctx: Context[None], obj: Book | Shelf, work: Any) -> Action:
        run_key = controller_name, ctx.key
        if run_key in self.running:
            self.trial.report_violation(f"{self.name} runs {controller_name} {ctx.key} twice at once")
        if not self.election.is_leader:
            self.trial.report_violation(
                f"{self.name} begins a run of {controller_name} {ctx.key} and does not lead"
            )
        self.running.add(run_key)
        try:
            await self._cause_handler_faults()
            action: Action = await work
            work = None
        finally:
            self.running.discard(run_key)
            if work is not None:
                work.close()
        self.reconciled_versions[run_key] = obj.metadata.resource_version
        return action

    async def _cause_handler_faults(self) -> None:
        trial, now = self.trial, self.trial.time
        if now < trial.slow_until and not trial.calm:
            trial.count("slow handlers")
            await anyio.sleep(self.rng.choice((0.5, 3.0, 40.0)))
        if now < trial.failing_until and not trial.calm and self.rng.random() < 0.5:
            trial.count("failing handlers")
            raise RuntimeError("this handler fails now and then")

    async def _label(self, book: Book, ctx: Context[None]) -> Action:
        desired = {"title": book.spec.title}
        child = ctx.cache(ConfigMap).get(ctx.name, ctx.namespace)
        if child is None or child.data != desired:
            metadata = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)])
            api = ctx.client.api(ConfigMap, namespace=ctx.namespace)
            await api.apply(ConfigMap(metadata=metadata, data=desired), field_manager="storm", force=True)
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

    # Outgoing requests and the lease

    def check_write(self, request: RawRequest) -> None:
        """Check that no request of a run is sent after the lease has expired on the replica's clock."""
        trial, now = self.trial, self.clock.now()
        if trial.time == self.resumed_at:
            return  # it was in flight when the process was paused, and could not be recalled
        if now > self.claimed_until:
            delay = now - self.claimed_until
            trial.report_violation(
                f"{self.name} sends {request.method} {request.target} {delay:.3f} s after its lease expired"
            )
        for other in trial.replicas:
            if other is not self and other.election.is_leader and not self._may_overlap(other):
                trial.report_violation(
                    f"{self.name} sends {request.method} {request.target} while {other.name} leads"
                )

    def _may_overlap(self, other: Replica) -> bool:
        doubtful = max(self.doubtful_until, other.doubtful_until, self.trial.lease_doubtful_until)
        ratio = max(self.clock.rate, other.clock.rate) / min(self.clock.rate, other.clock.rate)
        return other.network.dead or other.finished.is_set() or self.trial.time < doubtful or ratio > 1.45

    def _answered(self, request: RawRequest, response: ServerResponse) -> None:
        if "/leases" not in request.target or request.method not in ("PUT", "POST") or response.status >= 300:
            return
        spec: dict[str, Any] = msgspec.json.decode(request.body)["spec"]
        if spec.get("holderIdentity") == self.name:
            self.claimed_until = self.clock.now() + LEASE_DURATION

"""The actions of people and machines on a cluster and its programs: writes, restarts, backups, kills."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

import kubeproto as kp
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.kinds.core_v1 import ConfigMap

from .kinds import NAMESPACES, Book, BookSpec, Shelf, ShelfSpec
from .processes import LEASE, Program

if TYPE_CHECKING:
    from kubeproto_runtime.client import BoundApi

    from .episode import StormTrial
    from .plan import Planned
    from .trial import Trial

TIERS = ("gold", "silver")


def _book(rng: Random, name: str, namespace: str) -> Book:
    metadata = kp.ObjectMeta(name=name, namespace=namespace, labels={"tier": rng.choice(TIERS)})
    return Book(metadata=metadata, spec=BookSpec(title=f"title {rng.randrange(10_000)}"))


class User(Program):
    """A user who reads and writes over a connection like every other program."""

    def __init__(self, trial: Trial, name: str) -> None:
        super().__init__(trial, name)
        self.rng = Random(f"{trial.plan.seed} {name}")

    async def live(self) -> None:
        """Send requests at intervals until the faults have ended."""
        while not self.trial.calm:
            await anyio.sleep(self.rng.expovariate(1 / self.trial.plan.pace))
            self.trial.user_requests += 1
            try:
                with anyio.move_on_after(120):
                    await self._act()
            except kp.KubeprotoError as error:
                self.trial.note(f"{self.name}: {type(error).__name__}")

    async def _act(self) -> None:
        rng = self.rng
        namespace, name = rng.choice(NAMESPACES), f"b{rng.randrange(self.trial.plan.objects)}"
        books, shelves = (
            self.client.api(Book, namespace=namespace),
            self.client.api(Shelf, namespace=namespace),
        )
        match rng.randrange(14):
            case 0 | 1:
                self._acknowledged(await self.create(books, _book(rng, name, namespace)))
            case 2 | 3 | 4:
                patch = {"spec": {"title": f"title {rng.randrange(10_000)}"}}
                self._acknowledged(await books.merge_patch(name, patch))
            case 5 | 6:
                self._acknowledged(await books.update(name, self._relabel))
            case 7:
                await books.delete(name)
            case 8:
                metadata = kp.ObjectMeta(name=name, namespace=namespace)
                shelf = Shelf(metadata=metadata, spec=ShelfSpec(width=3))
                self._acknowledged(await self.create(shelves, shelf))
            case 9:
                await shelves.delete(name)
            case 10:
                self._acknowledged(await shelves.apply(self._shelf(name, namespace), field_manager=self.name))
            case 11:
                await books.list(limit=rng.choice((0, 2)))
            case 12:
                async for _ in books.items(limit=2):
                    pass
            case _:
                await books.get_or_none(name)

    async def create(self, api: BoundApi[Any], obj: Any) -> Any:
        """Create an object, and return it as the server stored it."""
        return await api.create(obj)

    def _shelf(self, name: str, namespace: str) -> Shelf:
        metadata = kp.ObjectMeta(name=name, namespace=namespace)
        return Shelf(metadata=metadata, spec=ShelfSpec(width=self.rng.randrange(100)))

    def _relabel(self, book: Book) -> None:
        book.metadata.labels = {"tier": self.rng.choice(TIERS)}
        book.spec.pages += 1

    def _acknowledged(self, obj: kp.KubeObject) -> None:
        meta = obj.metadata
        if (f"{meta.namespace}/{meta.name}", meta.resource_version) not in self.trial.oracle.written:
            self.trial.report_violation(
                f"{self.name} was told that {meta.name} is at {meta.resource_version}: it never was"
            )


def perform(trial: StormTrial, planned: Planned) -> None:
    """Perform a planned happening."""
    rng, now = Random(planned.draw), trial.time
    trial.note(f"happens: {planned.happening}")
    cluster = trial.cluster
    match planned.happening:
        case "restart":
            cluster.end_watches()
        case "compaction":
            cluster.compact(cluster.version - rng.choice((0, 0, 5)))
        case "backup":
            if trial.backup is None or rng.random() < 0.5:
                trial.backup = cluster.snapshot()
                return
            _restore(trial)
        case "lag":
            cluster.lag = rng.choice((1, 5, 50))
            cluster.later(rng.choice((1.0, 10.0, 60.0)), lambda: setattr(cluster, "lag", 0))
        case "replica lag":
            for program in trial.programs:
                if rng.random() < 0.5:
                    program.network.behind_until = cluster.now + rng.choice((5.0, 60.0))
        case "conflicting writer":
            _meddle(trial, rng)
        case "lease deleted":
            if cluster.get(Lease, LEASE) is None:
                return
            cluster.remove(Lease, LEASE)
            trial.lease_doubtful_until = now + 30.0
        case "lease stolen":
            if cluster.get(Lease, LEASE) is None:
                return
            cluster.edit(Lease, LEASE, _steal)
        case "clock jump":
            replica = rng.choice(trial.replicas)
            replica.clock.missed += rng.choice((1.0, 12.0, 20.0))
            replica.doubtful_until = now + 30.0
        case "pause":
            trial.pause(rng.choice(trial.replicas), rng.choice((1.0, 8.0, 14.0, 30.0)))
            return  # counted by the loop, if it supports it
        case "kill":
            trial.kill(rng.choice(trial.replicas), rng.choice((0.5, 20.0)))
        case "network down":
            for program in trial.programs:
                if rng.random() < 0.4:
                    program.network.refuses_until = cluster.now + rng.choice((1.0, 20.0, 120.0))
            return  # counted for each refused request
        case "slow handlers":
            trial.slow_until = now + rng.choice((10.0, 60.0))
            return  # counted for each run
        case "failing handlers":
            trial.failing_until = now + rng.choice((10.0, 60.0))
            return
    trial.count(planned.happening)


def _meddle(trial: Trial, rng: Random) -> None:
    """Write to objects that others are working on."""
    cluster, namespace = trial.cluster, rng.choice(NAMESPACES)
    children = [
        config_map["metadata"]
        for config_map in cluster.objects(ConfigMap)
        if "title" in config_map.get("data", {})
    ]
    if children and rng.random() < 0.5:
        meta = rng.choice(children)
        if rng.random() < 0.5:
            cluster.remove(ConfigMap, meta["name"], meta["namespace"])
        else:
            cluster.edit(ConfigMap, meta["name"], _scribble, meta["namespace"])
        return
    cluster.put(_book(rng, f"b{rng.randrange(trial.plan.objects)}", namespace))


def _scribble(obj: dict[str, Any]) -> None:
    obj["data"]["title"] = "not mine"


def _steal(lease: dict[str, Any]) -> None:
    spec = lease.setdefault("spec", {})
    spec["holderIdentity"] = "somebody else"
    spec["leaseDurationSeconds"] = 15
    spec["leaseTransitions"] = spec.get("leaseTransitions", 0) + 1


def _restore(trial: StormTrial) -> None:
    """Restore a backup as etcd documents it for Kubernetes: with a higher revision."""
    cluster, backup = trial.cluster, trial.backup
    assert backup is not None
    trial.backup = None
    # A uid is never used twice, and a uid of the backup would be: stale caches know it.
    raised = msgspec.structs.replace(backup, version=cluster.version + 1000, seed=cluster.seed)
    trial.oracle.restore(backup.version)
    cluster.restore(raised)
    trial.restored()
    trial.lease_doubtful_until = trial.time + 30.0

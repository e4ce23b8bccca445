"""`Trial`: the cluster of a run, its transcript and its findings."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from kubeproto_sim import Snapshot, StoredObject

from .kinds import FINALIZER, SHELVES, Shelf, new_cluster
from .oracle import Oracle

if TYPE_CHECKING:
    from .plan import Plan
    from .processes import Follower, Replica


class Trial:
    """The parts that the programs of a run share. The programs see only the cluster."""

    def __init__(self, plan: Plan, *, keep: bool = False) -> None:
        self.plan = plan
        self.cluster = new_cluster(plan.modes, plan.window, plan.garbage, plan.seed)
        self.start_time = self.cluster.now
        self.calm = False
        self.counts: Counter[str] = Counter()
        self.struck: list[tuple[str, int]] = []
        self.besides = 0  # further faults of a request that already had one
        self.violations: list[str] = []
        self.transcript: list[str] | None = [] if keep else None
        self.external: set[str] = set()  # uids of shelves with an external resource
        self.unguarded: set[str] = set()  # uids of shelves whose finalizer disappeared with a restored backup
        self.slow_until = self.failing_until = 0.0
        self.user_requests = 0  # requests of users
        self.lease_doubtful_until = 0.0  # until this time a user may have changed the lease
        self.backup: Snapshot | None = None
        self.followers: list[Follower] = []
        self.replicas: list[Replica] = []
        self.oracle = Oracle(lambda: self.cluster.now, self.report_violation)
        self._uids: dict[str, str] = {}
        self._hash = hashlib.blake2b(digest_size=16)
        self.cluster.on_change = self._change

    @property
    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self.cluster.now - self.start_time

    def restored(self) -> None:
        """Read the uid of each shelf: a restored backup causes no change events."""
        self._uids = {}
        for shelf in self.cluster.objects(Shelf):
            meta = shelf["metadata"]
            self._uids[f"{meta['namespace']}/{meta['name']}"] = meta["uid"]
            if not meta.get("finalizers"):
                # External resources are in no backup: they stay, and nothing guards them now.
                self.unguarded.add(meta["uid"])
        self.external &= set(self._uids.values())

    def note(self, line: str) -> None:
        """Add a line to the hash of the run, and to its transcript if there is one."""
        text = f"{self.time:10.3f}  {line}"
        self._hash.update(text.encode())
        if self.transcript is not None:
            self.transcript.append(text)

    def count(self, fault: str) -> None:
        """Count a fault."""
        self.counts[fault] += 1

    def report_violation(self, problem: str) -> None:
        """Record a violation."""
        self.note(f"FOUND: {problem}")
        self.violations.append(f"{self.time:.3f} s: {problem}")

    @property
    def digest(self) -> str:
        """A hash that is equal for two runs of the same seed."""
        return self._hash.hexdigest()

    @property
    def faults(self) -> int:
        """The number of faults."""
        return self.counts.total()

    def _change(self, obj: StoredObject) -> Any:
        self.oracle.change(obj)
        if obj.resource == SHELVES:
            self._check_finalizer(obj)
        if self.transcript is not None:
            self.note(f"stored {obj.resource} {obj.key} at {obj.version}{'' if obj.data else ': gone'}")

    def _check_finalizer(self, obj: StoredObject) -> None:
        if obj.data is not None:
            _, _, after_uid = obj.data.partition(b'"uid":"')
            self._uids[obj.key] = uid = after_uid[:36].decode()
            if FINALIZER.encode() in obj.data:
                self.unguarded.discard(uid)
        elif (uid := self._uids.pop(obj.key, "")) in self.external and uid not in self.unguarded:
            self.report_violation(f"shelf {obj.key} went before its finalizer had cleaned up")

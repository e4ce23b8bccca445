"""`Trial`: the cluster of one run, what happened in it, and what was found."""

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
    """What the programs of a run share. Nothing of it is seen by them but the cluster."""

    def __init__(self, plan: Plan, *, keep: bool = False) -> None:
        self.plan = plan
        self.cluster = new_cluster(plan.modes, plan.window, plan.garbage, plan.seed)
        self.begun = self.cluster.now
        self.calm = False
        self.counts: Counter[str] = Counter()
        self.struck: list[tuple[str, int]] = []
        self.besides = 0  # faults of a request that met one already
        self.violations: list[str] = []
        self.transcript: list[str] | None = [] if keep else None
        self.external: set[str] = set()  # uids of shelves that have something outside of the cluster
        self.unguarded: set[str] = set()  # uids of shelves whose finalizer went with a restored backup
        self.slow_until = self.failing_until = 0.0
        self.asked = 0  # requests that people wanted
        self.lease_doubtful_until = 0.0  # somebody has meddled with the lease itself
        self.backup: Snapshot | None = None
        self.followers: list[Follower] = []
        self.replicas: list[Replica] = []
        self.oracle = Oracle(lambda: self.cluster.now, self.found)
        self._uids: dict[str, str] = {}
        self._hash = hashlib.blake2b(digest_size=16)
        self.cluster.on_change = self._change

    @property
    def time(self) -> float:
        """Seconds since the beginning."""
        return self.cluster.now - self.begun

    def restored(self) -> None:
        """Learn which shelf has which uid: a restored backup is not a change."""
        self._uids = {}
        for one in self.cluster.objects(Shelf):
            meta = one["metadata"]
            self._uids[f"{meta['namespace']}/{meta['name']}"] = meta["uid"]
            if not meta.get("finalizers"):
                # What is outside of the cluster is in no backup: it stays, and nothing guards it now.
                self.unguarded.add(meta["uid"])
        self.external &= set(self._uids.values())

    def note(self, line: str) -> None:
        """Write down what happens: into the hash of the run, and into its transcript if it is kept."""
        text = f"{self.time:10.3f}  {line}"
        self._hash.update(text.encode())
        if self.transcript is not None:
            self.transcript.append(text)

    def count(self, fault: str) -> None:
        """Count a fault."""
        self.counts[fault] += 1

    def found(self, what: str) -> None:
        """Something that must not be."""
        self.note(f"FOUND: {what}")
        self.violations.append(f"{self.time:.3f} s: {what}")

    @property
    def digest(self) -> str:
        """What two runs of one seed have in common."""
        return self._hash.hexdigest()

    @property
    def faults(self) -> int:
        """How many things went wrong."""
        return self.counts.total()

    def _change(self, one: StoredObject) -> Any:
        self.oracle.change(one)
        if one.resource == SHELVES:
            self._check_finalizer(one)
        if self.transcript is not None:
            self.note(f"stored {one.resource} {one.key} at {one.version}{'' if one.data else ': gone'}")

    def _check_finalizer(self, one: StoredObject) -> None:
        if one.data is not None:
            _, _, rest = one.data.partition(b'"uid":"')
            self._uids[one.key] = uid = rest[:36].decode()
            if FINALIZER.encode() in one.data:
                self.unguarded.discard(uid)
        elif (uid := self._uids.pop(one.key, "")) in self.external and uid not in self.unguarded:
            self.found(f"shelf {one.key} went before its finalizer had cleaned up")

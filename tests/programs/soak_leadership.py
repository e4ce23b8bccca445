"""The long run of an election between two processes, whose leader is stopped (SIGSTOP) repeatedly.

`make soak` runs it with a reconcile that waits and a reconcile that blocks its event loop; ``--stops 2``
makes it shorter. Every write arrives at the simulated server of this process, which knows the current holder
of the lease. Each run reports its start by the clock of the machine. The test fails if a process writes while
the other process holds the lease, if a run starts between two runs of the other process in the same term, or
if there is no leader for a minute.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Final

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_serve import serving

CANDIDATES: Final = {"one": "asyncio", "two": "trio"}
MIN_PAUSE, MAX_PAUSE = 3.0, 23.0  # seconds; a lease lasts for 15, its term for 10
PATIENCE: Final = 90.0  # seconds until somebody must lead

PROGRAM: Final = """
import random, sys, time
import anyio
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Controller, LeaderElector, LeaseLost, Operator, connect, connect_blocking
from kubeproto_runtime import requeue

kubeconfig, name, backend, blocks = sys.argv[1:5]
chance = random.Random(name)

def report(event):
    print(event, time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)

async def main():
    async with connect(kubeconfig=kubeconfig) as client:
        with connect_blocking(kubeconfig=kubeconfig) as blocking:

            async def reconcile(subject, ctx):
                report("begin")
                with anyio.CancelScope(shield=True):  # the fence must refuse what a cancellation does not end
                    if blocks == "blocks":
                        time.sleep(chance.choice([0.1] * 40 + [4.0, 11.0, 14.0, 18.0]))
                    else:
                        await anyio.sleep(0.2)
                    try:
                        await client.api(ConfigMap).merge_patch(ctx.name, {"data": {"writer": name}})
                        report("sent")
                        write = blocking.api(ConfigMap).merge_patch
                        await anyio.to_thread.run_sync(write, ctx.name, {"data": {"thread": name}})
                        report("sent")
                    except LeaseLost:
                        report("refused")
                return requeue(after=0.1)

            election = LeaderElector(client, name="soak", identity=name)
            await Operator(election=election, signals=True).run(Controller(client, ConfigMap).run(reconcile))

anyio.run(main, backend=backend)
"""


class AuditedCluster(sim.Cluster):
    """A server that notes each write of a process, and who held the lease when it arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.keeps_log = False
        self.writes = 0
        self.late: list[str] = []
        self.holders: list[str] = []  # without repetitions

    def respond(
        self, request: kp.RawRequest, user: sim.User | str | None = None, replies: Any = None
    ) -> sim.ServerResponse:
        holder = self.holder()
        if request.method == "PATCH" and "/configmaps/" in request.target:
            (writer,) = json.loads(request.body)["data"].values()
            self.writes += 1
            if holder != writer:
                self.late.append(f"{writer} wrote while {holder or 'nobody'} held the lease")
        response = super().respond(request, user, replies)
        if (holder := self.holder()) != (self.holders or [""])[-1] and holder:
            self.holders.append(holder)
        return response

    def holder(self) -> str:
        lease = self.get(Lease, "soak") or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")


class Candidate:
    """One of the two processes."""

    def __init__(self, name: str, kubeconfig: Path, folder: Path, blocks: str) -> None:
        self.name = name
        self.output = folder / f"{name}.{blocks}"
        self._file: IO[bytes] = self.output.open("wb")
        arguments = [str(kubeconfig), name, CANDIDATES[name], blocks]
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=self._file)

    def events(self, event: str) -> list[int]:
        """Return the times of the events of this name."""
        lines = (line.split() for line in self.output.read_text().splitlines())
        return [int(event_time) for reported, event_time in lines if reported == event]

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=PATIENCE) == 0, f"{self.name} failed"
        self._file.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=9)
    stops: int = parser.parse_known_args()[0].stops
    with tempfile.TemporaryDirectory() as folder:
        for blocks in ("waits", "blocks"):
            stop_leaders(Path(folder), blocks, stops)


def stop_leaders(folder: Path, blocks: str, stops: int) -> None:
    """Stop the leader some times, and continue it after a while."""
    cluster, chance, start = AuditedCluster(), random.Random(stops), time.monotonic()
    cluster.put(ConfigMap(metadata=kp.ObjectMeta(name="soak")))
    with serving(cluster) as server:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig)
        candidates = {name: Candidate(name, kubeconfig, folder, blocks) for name in CANDIDATES}
        pauses: list[float] = []
        try:
            for _ in range(stops):
                wait_for_writes(cluster)
                leader = candidates[cluster.holder()]
                pauses.append(round(chance.uniform(MIN_PAUSE, MAX_PAUSE), 1))
                leader.process.send_signal(signal.SIGSTOP)
                time.sleep(pauses[-1])
                leader.process.send_signal(signal.SIGCONT)
            wait_for_writes(cluster)
            for candidate in candidates.values():
                candidate.end()
        finally:
            for candidate in candidates.values():
                candidate.process.kill()
        assert cluster.holder() == "", "the lease was not released"
    refused = sum(len(candidate.events("refused")) for candidate in candidates.values())
    begins = sorted(
        (begin_time, candidate.name)
        for candidate in candidates.values()
        for begin_time in candidate.events("begin")
    )
    terms = [name for (_, name), (_, last) in zip(begins, [(0, ""), *begins], strict=False) if name != last]
    took = f"{time.monotonic() - start:.0f} s"
    _report(
        f"a reconcile that {blocks}: leader stopped {stops} times for {min(pauses)} to {max(pauses)} s,"
        f" {len(terms)} terms, {len(begins)} runs, {cluster.writes} writes, {refused} refused by the fence,"
        f" {len(cluster.late)} late ({took})"
    )
    assert not cluster.late, cluster.late
    # Each term of the runs is one of the lease, in the same order: no two processes began runs by turns.
    remaining = iter(cluster.holders)
    assert all(name in remaining for name in terms), (terms, cluster.holders)


def wait_for_writes(cluster: AuditedCluster) -> None:
    """Wait until the holder of the lease has written something more."""
    deadline, goal = time.monotonic() + PATIENCE, cluster.writes + 12
    while cluster.writes < goal or cluster.holder() not in CANDIDATES:
        assert time.monotonic() < deadline, (
            f"{cluster.holder() or 'nobody'} holds the lease, and writes too little"
        )
        time.sleep(0.05)


def _report(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

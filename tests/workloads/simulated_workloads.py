"""The simulated cluster behind the cases of controllers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from workload_steps import Case, Json, take
from workload_summary import Summary

import kubeproto_sim as sim
from kubeproto.wire import RawRequest


class SimulatedCluster:
    """A simulated server with its controllers."""

    def __init__(self) -> None:
        self.cluster = sim.Cluster(populated=True, controllers=True)

    def send(
        self, method: str, target: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", "application/json"), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        answer = self.cluster.respond(RawRequest(method, target, headers, data))
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)

    def pass_time(self, seconds: float) -> None:
        self.cluster.advance(seconds)

    def stamp(self) -> str:
        """The time as a kubelet would write it."""
        return sim_stamp(self.cluster)


def settle(cluster: sim.Cluster) -> None:
    """Advance the time while something is due within about a second, the time for which a controller gathers
    changes.
    """
    cluster.settle()
    while (next_time := cluster.next_due) is not None and next_time <= cluster.now + 1.05:
        cluster.advance_to(next_time)
    cluster.advance(1.1)


def sim_stamp(cluster: sim.Cluster) -> str:
    """The time of a cluster as objects carry it."""
    import datetime

    return datetime.datetime.fromtimestamp(int(cluster.now), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def outcomes(case: Case) -> Iterator[Json]:
    """Return the outcome after each step of a case."""
    simulated = SimulatedCluster()
    yield from course(simulated, case)


def course(simulated: SimulatedCluster, case: Case) -> Iterator[Json]:
    """Take the steps of a case in an existing cluster."""
    namespace = f"w-{case.name}"
    simulated.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    simulated.cluster.settle()
    summary = Summary(simulated, namespace)
    for step in case.steps:
        answer = take(simulated, namespace, step)
        settle(simulated.cluster)
        state = summary.take()
        yield {"answer": summary.plain(answer), **state}

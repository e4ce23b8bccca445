"""An operator is killed at moments that a seed chooses, and must leave a correct state.

A moment is a number of visible changes of its objects or Deployments. The next process must carry out the
user's changes.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
from anyio.abc import TaskStatus
from anyio.from_thread import start_blocking_portal
from msgspec import Struct
from program_rig import LIMIT, LOOKS, Site

import kubeproto as kp
from kubeproto_runtime import connect

# Each round changes three objects, and the server or the operator changes each of them again.
CHANGES: Final = 4
OBJECTS: Final = 3


class Operator(Struct, frozen=True):
    """A program whose objects become Deployments of the same name and number of replicas."""

    program: str
    kind: str
    manifest: Callable[[str, int], str]


def kill_and_check(site: Site, operator: Operator, seeds: Iterable[int]) -> None:
    """Kill the operator once for each seed, then stop it, and check the Deployments."""
    desired: dict[str, int] = {}
    for seed in seeds:
        rng = random.Random(seed)
        with (
            watching(site, rng.choice((operator.kind, "deployment"))) as changes,
            site.running(operator.program) as running,
        ):
            change(site, operator, desired, seed, rng)
            for _ in range(rng.randrange(1, CHANGES + 1)):
                assert changes.acquire(timeout=LIMIT), running.printed
            running.kill()
        # The operator does not run now. A name is used once: an object may still wait for its finalizer.
        deleted = rng.choice(sorted(desired))
        del desired[deleted]
        site.kubectl(f"delete {operator.kind}/{deleted} --wait=false")
    with site.running(operator.program) as running:
        wait_until_settled(site, operator, desired)
        site.kubectl(f"delete {operator.kind} --all --timeout={LIMIT:.0f}s")
        wait_until_settled(site, operator, {})
        assert running.terminate() == 0, running.printed


def change(site: Site, operator: Operator, desired: dict[str, int], seed: int, rng: random.Random) -> None:
    """Change the replicas of existing objects, and create new objects."""
    for number in range(OBJECTS - len(desired)):
        desired[f"of-{seed}-{number}"] = 0
    for name in desired:
        desired[name] = desired[name] % 9 + rng.randrange(1, 9)
    site.kubectl(
        "apply -f -", "---\n".join(operator.manifest(name, count) for name, count in desired.items())
    )


def wait_until_settled(site: Site, operator: Operator, desired: dict[str, int]) -> None:
    """Wait until each object has its Deployment with its replicas, and nothing else exists."""
    looks, last_difference = threading.Event(), None
    for _ in range(LOOKS):
        if (last_difference := difference(site, operator, desired)) is None:
            return
        looks.wait(0.2)
    raise AssertionError(last_difference)


def difference(site: Site, operator: Operator, desired: dict[str, int]) -> str | None:
    everything = json.loads(site.kubectl(f"get {operator.kind},deployment,replicaset,pod -o json"))["items"]
    of: dict[str, list[dict[str, Any]]] = {"Deployment": [], "ReplicaSet": [], "Pod": []}
    for obj in everything:
        of.setdefault(obj["kind"], []).append(obj)
    owners = {
        obj["metadata"]["uid"]: obj["metadata"]["name"]
        for obj in everything
        if "finalizers" in obj["metadata"]
    }
    deployed = {
        owners.get(obj["metadata"]["ownerReferences"][0]["uid"], "nobody"): obj["spec"]["replicas"]
        for obj in of["Deployment"]
    }
    counts = [len(of["Deployment"]), len(owners), len(of["ReplicaSet"]), len(of["Pod"])]
    if deployed == desired and counts == [*[len(desired)] * 3, sum(desired.values())]:
        return None
    return (
        f"wanted are {desired}, and there is {deployed}; owners are {owners}, and these are counted: {counts}"
    )


@contextmanager
def watching(site: Site, kind: str) -> Generator[threading.Semaphore]:
    """Count changes of a kind from now on; each releases the semaphore once."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(_watched(site, kind)) as changes,
    ):
        yield changes


@asynccontextmanager
async def _watched(site: Site, kind: str) -> AsyncGenerator[threading.Semaphore]:
    changes = threading.Semaphore(0)

    async def count(*, task_status: TaskStatus[None]) -> None:
        api, counting = await client.resource(kind), False
        async with api.follow() as events:
            async for event in events:
                if counting:
                    changes.release()
                elif isinstance(event, kp.Bookmark):
                    counting = True
                    task_status.started()

    async with connect(kubeconfig=site.kubeconfig) as client, anyio.create_task_group() as tasks:
        await tasks.start(count)
        yield changes
        tasks.cancel_scope.cancel()

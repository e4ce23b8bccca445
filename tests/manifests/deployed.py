"""A program on a simulated cluster, under the account and the rights of its own manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import anyio
import msgspec
from packaged import Packaged

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime import Client
from kubeproto_runtime.manifests import OperatorLike, Packaging, description_of, manifests
from kubeproto_runtime.operator import ProgramDescription
from kubeproto_runtime.testing import AccessRecorder, connect_webhooks, run, simulated

ADMIN: Final = sim.User("admin", groups=("system:masters",))
ROLES: Final = ("Role", "ClusterRole")
FORBIDDEN: Final = 403


def described(describe: Callable[[Client], OperatorLike], namespace: str = "library") -> ProgramDescription:
    """What a program consists of, without a cluster of its own."""

    async def body() -> ProgramDescription:
        async with simulated(sim.Cluster(), namespace=namespace) as client:
            return description_of(describe(client))

    return run(body)


def objects_of(describe: Callable[[Client], OperatorLike], packaging: Packaging) -> list[dict[str, Any]]:
    """The manifests, as plain values."""
    made = manifests(described(describe, packaging.namespace), packaging)
    return [msgspec.json.decode(kp.encode(obj)) for obj in made]


def packaged_objects(program: Packaged) -> list[dict[str, Any]]:
    """The manifests of a program, with the rights that its story needs."""
    access = frozenset(recorded(program).needed)
    packaging = Packaging(name=program.name, namespace=program.namespace, access=access)
    return objects_of(program.describe, packaging)


def recorded(program: Packaged) -> AccessRecorder:
    """Which rights a story needs, where everybody may do everything."""
    recorder = AccessRecorder(namespace=program.namespace)
    cluster = sim.Cluster(crds=[] if program.webhooks else list(program.kinds))
    cluster.namespace(program.namespace)
    if program.webhooks is not None:
        for one in program.webhooks.manifests(f"{program.name}-hellos", program.where):
            cluster.put(one)
        cluster.advance(5)
    _play(program, cluster, None, recorder)
    return recorder


def refusals(program: Packaged, cluster: sim.Cluster, objects: Iterable[dict[str, Any]]) -> set[str]:
    """The first request that is refused when a program runs under the account of its manifests."""
    for obj in objects:
        cluster.put(obj)
    cluster.advance(5)  # definitions take a moment until they are served
    cluster.log.clear()
    try:
        _play(program, cluster, program.account, None)
    except (kp.KubeprotoError, TimeoutError):
        if not any(one.status == FORBIDDEN for one in cluster.log):
            raise
    return {
        f"{one.request.method} {one.request.target.partition('?')[0]}"
        for one in cluster.log
        if one.status == FORBIDDEN
    }


def less_by_one(objects: list[dict[str, Any]]) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """The manifests without one verb of one rule, for each verb of each rule."""
    for index, obj in enumerate(objects):
        if obj["kind"] not in ROLES:
            continue
        for number, rule in enumerate(obj["rules"]):
            for verb in rule["verbs"]:
                less = msgspec.json.decode(msgspec.json.encode(objects))
                less[index]["rules"][number]["verbs"].remove(verb)
                less[index]["rules"] = [one for one in less[index]["rules"] if one["verbs"]]
                yield f"{verb} {rule['resources'][0]} {rule.get('resourceNames', '')}".strip(), less


def _play(
    program: Packaged, cluster: sim.Cluster, account: str | None, recorder: AccessRecorder | None
) -> None:
    if program.webhooks is not None:
        connect_webhooks(cluster, program.webhooks, program.where)

    async def body() -> None:
        async with (
            simulated(cluster, user=ADMIN) as user,
            simulated(cluster, namespace=program.namespace, user=account, recorder=recorder) as client,
            anyio.create_task_group() as tasks,
        ):
            said: list[str] = []
            server = program.server(client, program.where) if program.server else None
            client.start(program.run(client, said, server))
            tasks.start_soon(_end_when_refused, cluster, tasks.cancel_scope)
            await program.story(user, said)
            tasks.cancel_scope.cancel()

    run(body)


async def _end_when_refused(cluster: sim.Cluster, scope: anyio.CancelScope) -> None:
    """What a program does after a refusal is of no interest, and would go on for a minute."""
    seen = 0
    while not any(one.status == FORBIDDEN for one in cluster.log[seen:]):
        seen = len(cluster.log)
        await anyio.sleep(0.1)
    scope.cancel()

"""An operator on a simulated cluster, under the account and the rights of its own manifests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from stories import Make, Story

import kubeproto as kp
from kubeproto import sim
from kubeproto_runtime.manifests import OperatorLike, Packaging, description_of, manifests
from kubeproto_runtime.operator import Operator, OperatorDescription
from kubeproto_runtime.testing import AccessRecorder, run, simulated

ADMIN: Final = sim.User("admin", groups=("system:masters",))
ROLES: Final = ("Role", "ClusterRole")


def described(make: Make) -> OperatorDescription:
    """What an operator consists of, without a cluster of its own."""

    async def body() -> OperatorDescription:
        async with simulated(sim.Cluster()) as client:
            return description_of(make(client))

    return run(body)


def objects_of(make: Make, packaging: Packaging) -> list[dict[str, Any]]:
    """The manifests, as plain values."""
    return [msgspec.json.decode(kp.encode(obj)) for obj in manifests(described(make), packaging)]


def recorded(make: Make, story: Story, cluster: sim.Cluster, namespace: str) -> AccessRecorder:
    """Which rights a story needs, where everybody may do everything."""
    recorder = AccessRecorder(namespace=namespace)
    cluster.namespace(namespace)
    _play(make, story, cluster, namespace, None, recorder)
    return recorder


def refusals(
    make: Make, story: Story, cluster: sim.Cluster, objects: Iterable[dict[str, Any]], account: str
) -> set[str]:
    """The requests that are refused when the operator runs under the account of its manifests."""
    for obj in objects:
        cluster.put(obj)
    cluster.advance(5)  # definitions take a moment until they are served
    cluster.log.clear()
    namespace = account.split(":")[2]
    try:
        _play(make, story, cluster, namespace, account, None)
    except (kp.KubeprotoError, TimeoutError):
        if not any(one.status == 403 for one in cluster.log):
            raise
    return {
        f"{one.head.method} {one.head.target.partition('?')[0]}" for one in cluster.log if one.status == 403
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
    make: Make, story: Story, cluster: sim.Cluster, namespace: str, account: str | None,
    recorder: AccessRecorder | None,
) -> None:  # fmt: skip
    async def body() -> None:
        async with (
            simulated(cluster, user=ADMIN) as user,
            simulated(cluster, namespace=namespace, user=account, recorder=recorder) as client,
        ):
            client.start(operated(make(client)))
            await story(user)

    run(body)


async def operated(made: OperatorLike) -> None:
    """Run an operator, whatever a program calls so."""
    if isinstance(made, Operator):
        await made.run()
    else:
        await Operator().run(*(made if isinstance(made, Iterable) else [made]))

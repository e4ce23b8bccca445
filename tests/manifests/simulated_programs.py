"""Programs on a simulated cluster, with the account and the permissions of their manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import anyio
import msgspec
from packaged_programs import PackagedProgram

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime import Client
from kubeproto_runtime.manifests import OperatorLike, Packaging, description_of, manifests
from kubeproto_runtime.operator import ProgramDescription
from kubeproto_runtime.testing import AccessRecorder, connect_webhooks, run, simulated

ADMIN: Final = sim.User("admin", groups=("system:masters",))
ROLES: Final = ("Role", "ClusterRole")
FORBIDDEN: Final = 403


def describe_program(
    describe: Callable[[Client], OperatorLike], namespace: str = "library"
) -> ProgramDescription:
    """Return the description of a program, using an empty cluster."""

    async def body() -> ProgramDescription:
        async with simulated(sim.Cluster(), namespace=namespace) as client:
            return description_of(describe(client))

    return run(body)


def objects_of(describe: Callable[[Client], OperatorLike], packaging: Packaging) -> list[dict[str, Any]]:
    """Return the manifests as plain values."""
    manifest_objects = manifests(describe_program(describe, packaging.namespace), packaging)
    return [msgspec.json.decode(kp.encode(obj)) for obj in manifest_objects]


def packaged_objects(program: PackagedProgram) -> list[dict[str, Any]]:
    """Return the manifests of a program, with the permissions that its scenario needs."""
    access = frozenset(record_access(program).needed)
    packaging = Packaging(name=program.name, namespace=program.namespace, access=access)
    return objects_of(program.describe, packaging)


def record_access(program: PackagedProgram) -> AccessRecorder:
    """Record the permissions that a scenario needs, on a cluster without authorization."""
    recorder = AccessRecorder(namespace=program.namespace)
    cluster = sim.Cluster(crds=[] if program.webhooks else list(program.kinds))
    cluster.namespace(program.namespace)
    if program.webhooks is not None:
        for obj in program.webhooks.manifests(f"{program.name}-hellos", program.webhook_address):
            cluster.put(obj)
        cluster.advance(5)
    _run_scenario(program, cluster, None, recorder)
    return recorder


def find_refused_requests(
    program: PackagedProgram, cluster: sim.Cluster, objects: Iterable[dict[str, Any]]
) -> set[str]:
    """Run a program under the account of its manifests, and return the first refused request."""
    for obj in objects:
        cluster.put(obj)
    cluster.advance(5)  # new definitions are served after a delay
    cluster.log.clear()
    try:
        _run_scenario(program, cluster, program.account, None)
    except (kp.KubeprotoError, TimeoutError):
        if not any(entry.status == FORBIDDEN for entry in cluster.log):
            raise
    return {
        f"{entry.request.method} {entry.request.target.partition('?')[0]}"
        for entry in cluster.log
        if entry.status == FORBIDDEN
    }


def without_each_verb(objects: list[dict[str, Any]]) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """Return the manifests without a verb of a rule, for each verb of each rule."""
    for index, obj in enumerate(objects):
        if obj["kind"] not in ROLES:
            continue
        for rule_index, rule in enumerate(obj["rules"]):
            for verb in rule["verbs"]:
                reduced_objects = msgspec.json.decode(msgspec.json.encode(objects))
                reduced_objects[index]["rules"][rule_index]["verbs"].remove(verb)
                reduced_objects[index]["rules"] = [
                    rule for rule in reduced_objects[index]["rules"] if rule["verbs"]
                ]
                yield (
                    f"{verb} {rule['resources'][0]} {rule.get('resourceNames', '')}".strip(),
                    reduced_objects,
                )


def _run_scenario(
    program: PackagedProgram, cluster: sim.Cluster, account: str | None, recorder: AccessRecorder | None
) -> None:
    if program.webhooks is not None:
        connect_webhooks(cluster, program.webhooks, program.webhook_address)

    async def body() -> None:
        async with (
            simulated(cluster, user=ADMIN) as user,
            simulated(cluster, namespace=program.namespace, user=account, recorder=recorder) as client,
            anyio.create_task_group() as tasks,
        ):
            output: list[str] = []
            server = program.server(client, program.webhook_address) if program.server else None
            client.start(program.run(client, output, server))
            tasks.start_soon(_cancel_after_refusal, cluster, tasks.cancel_scope)
            await program.scenario(user, output)
            tasks.cancel_scope.cancel()

    run(body)


async def _cancel_after_refusal(cluster: sim.Cluster, scope: anyio.CancelScope) -> None:
    """End the scenario after a refusal: the program would otherwise retry for a minute."""
    log_length = 0
    while not any(entry.status == FORBIDDEN for entry in cluster.log[log_length:]):
        log_length = len(cluster.log)
        await anyio.sleep(0.1)
    scope.cancel()

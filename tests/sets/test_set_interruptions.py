"""Random sets are applied in sequence and killed at any request: the next plan completes the change.

The model is the last desired set. Afterwards the server has exactly the objects of that set, and foreign
objects and members of another set are unchanged.
"""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import example, given, strategies as st
from sets_rig import (
    PARENT,
    Killed,
    KillingTransport,
    account,
    client_of,
    config,
    definition,
    gadget,
    namespace,
    secret,
)

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime.sets import StalePlan
from kubeproto_runtime.testing import simulated_blocking

# Parts of sets: objects in two namespaces, cluster-scoped objects, and a kind that needs its definition.
PARTS: Final[dict[str, kp.Dynamic]] = {
    "a": config("a", k="1"),
    "a'": config("a", k="2"),
    "b": config("b", "other"),
    "secret": secret("s", k="v"),
    "robot": account("robot"),
    "ours": namespace("ours"),
    "inside": config("inside", "ours"),
    "defined": definition(),
    "gadget": gadget("g"),
}
KINDS: Final = ("v1/ConfigMap", "v1/Secret", "v1/ServiceAccount", "v1/Namespace",
                "apiextensions.k8s.io/v1/CustomResourceDefinition", "example.com/v1/Gadget")  # fmt: skip
FOREIGN: Final = (config("foreign"), config("foreign", "other"), secret("foreign"), namespace("other"))


def make_set(names: frozenset[str]) -> list[kp.Dynamic]:
    """Return a valid set: with the prerequisites of its parts, and with only obj version of an object."""
    parts = set(names)
    if "inside" in parts:
        parts.add("ours")
    if "gadget" in parts:
        parts.add("defined")
    if "a" in parts:
        parts.discard("a'")
    return [PARTS[name] for name in sorted(parts)]


@cache
def prepared_cluster() -> sim.Cluster:
    cluster = sim.Cluster()
    for obj in sorted(FOREIGN, key=lambda obj: obj.kind != "Namespace"):
        cluster.put(obj)
    with simulated_blocking(cluster) as client:
        client.perform(client.plan([config("theirs"), secret("theirs")], "configmaps/neighbour"))
    return cluster


def new_cluster() -> sim.Cluster:
    return prepared_cluster().fork()


def inventory(cluster: sim.Cluster) -> dict[tuple[str, str, str], Any]:
    """Return data and set label of each object, by kind, namespace and name."""
    objects_by_key: dict[tuple[str, str, str], Any] = {}
    for kind in KINDS:
        try:
            objects = cluster.objects(kind)
        except kp.LocalProtocolError:
            continue  # the kind is not defined
        for obj in objects:
            metadata = obj["metadata"]
            key = obj["kind"], metadata.get("namespace", ""), metadata["name"]
            objects_by_key[key] = (
                obj.get("data", {}),
                metadata.get("labels", {}).get("applyset.kubernetes.io/part-of"),
            )
    return objects_by_key


def desired_keys(desired: list[kp.Dynamic]) -> set[tuple[str, str, str]]:
    cluster_scoped = ("Namespace", "CustomResourceDefinition")
    return {
        (
            obj.kind,
            "" if obj.kind in cluster_scoped else obj.metadata.namespace or "default",
            obj.metadata.name,
        )
        for obj in desired
    }


INTERRUPTIONS: Final = st.tuples(
    st.frozensets(st.sampled_from(sorted(PARTS))), st.integers(1, 60), st.booleans()
)


@given(st.lists(INTERRUPTIONS, min_size=1, max_size=3), st.frozensets(st.sampled_from(sorted(PARTS))))
def test_the_next_plan_completes_interrupted_changes(
    interrupted_changes: list[tuple[frozenset[str], int, bool]], last_names: frozenset[str]
) -> None:
    cluster = new_cluster()
    initial_inventory = inventory(cluster)
    for names, request_number, is_executed in interrupted_changes:
        client = client_of(cluster, KillingTransport(cluster, request_number, is_executed=is_executed))
        with contextlib.suppress(Killed):
            client.perform(client.plan(make_set(names), PARENT))
        cluster.advance(60)  # the server deletes a definition asynchronously
    with simulated_blocking(cluster) as client_without_fault:
        desired = make_set(last_names)
        client_without_fault.perform(client_without_fault.plan(desired, PARENT))
        cluster.advance(60)
        assert client_without_fault.plan(desired, PARENT).clean
    final_inventory = inventory(cluster)
    parent = ("ConfigMap", "default", "shop")
    assert final_inventory.keys() - initial_inventory.keys() - {parent} == desired_keys(desired)
    assert {key: final_inventory.get(key) for key in initial_inventory} == initial_inventory
    for obj in desired:
        if obj.kind == "ConfigMap":
            namespace_name = obj.metadata.namespace or "default"
            assert final_inventory[obj.kind, namespace_name, obj.metadata.name][0] == obj.get("data")


@pytest.mark.thorough("the property test kills at some of these requests, in other sequences")
@pytest.mark.parametrize("is_executed", [False, True])
def test_the_next_plan_completes_a_change_killed_at_any_request(is_executed: bool) -> None:
    first_set = make_set(frozenset({"a", "b", "secret", "defined", "gadget"}))
    second_set = make_set(frozenset({"a'", "robot", "inside"}))
    for request_number in range(1, 100):
        cluster = new_cluster()
        with simulated_blocking(cluster) as client_without_fault:
            client_without_fault.perform(client_without_fault.plan(first_set, PARENT))
        client = client_of(cluster, KillingTransport(cluster, request_number, is_executed=is_executed))
        try:
            client.perform(client.plan(second_set, PARENT))
        except Killed:
            pass
        else:
            assert request_number > 20  # every request of the change was tested
            return
        with simulated_blocking(cluster) as client_without_fault:
            client_without_fault.perform(client_without_fault.plan(second_set, PARENT))
            assert client_without_fault.plan(second_set, PARENT).clean
            assert client_without_fault.plan([], PARENT).summary == "4 to delete"


@given(
    st.frozensets(st.sampled_from(sorted(PARTS))),
    st.frozensets(st.sampled_from(sorted(PARTS))),
    st.integers(1, 40),
)
@example(frozenset(), frozenset({"a"}), 5)  # the first client planned without a parent
def test_concurrent_clients_of_a_set_lose_no_member(
    obj: frozenset[str], other_names: frozenset[str], request_number: int
) -> None:
    cluster = new_cluster()
    initial_inventory = inventory(cluster)
    slow = client_of(cluster, KillingTransport(cluster, request_number, is_executed=True))
    try:
        slow_plan = slow.plan(make_set(obj), PARENT)
        with simulated_blocking(cluster) as fast:
            fast.perform(fast.plan(make_set(other_names), PARENT))
        slow.perform(slow_plan)
    except (Killed, StalePlan):
        pass
    with simulated_blocking(cluster) as client_without_fault:
        client_without_fault.perform(client_without_fault.plan([], PARENT))
    cluster.advance(60)
    final_inventory = inventory(cluster)
    assert final_inventory.keys() - {("ConfigMap", "default", "shop")} == initial_inventory.keys()

"""Random sets, applied in sequence and killed at any request: the next plan completes what was begun.

The model is the set that was wanted last. What the server has of our kinds afterwards is exactly that, and
what belongs to nobody, or to another set, is as it was.
"""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import example, given, strategies as st
from sets_rig import (
    PARENT,
    Cutting,
    Killed,
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

# What a set may consist of: names of two namespaces, kinds with and without one, one that has to be defined.
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
    """A set that can be applied: with what its parts need, and one of two that are the same object."""
    client_without_fault = set(names)
    if "inside" in client_without_fault:
        client_without_fault.add("ours")
    if "gadget" in client_without_fault:
        client_without_fault.add("defined")
    if "a" in client_without_fault:
        client_without_fault.discard("a'")
    return [PARTS[name] for name in sorted(client_without_fault)]


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
    """What there is, by kind, namespace and name, without what a server adds."""
    objects_by_key: dict[tuple[str, str, str], Any] = {}
    for kind in KINDS:
        try:
            objects = cluster.objects(kind)
        except kp.LocalProtocolError:
            continue  # the kind is not defined
        for one in objects:
            metadata = one["metadata"]
            key = one["kind"], metadata.get("namespace", ""), metadata["name"]
            objects_by_key[key] = one.get("data", {}), metadata.get("labels", {}).get("applyset.kubernetes.io/part-of")
    return objects_by_key


def desired_keys(desired: list[kp.Dynamic]) -> set[tuple[str, str, str]]:
    cluster_scoped = ("Namespace", "CustomResourceDefinition")
    return {
        (one.kind, "" if one.kind in cluster_scoped else one.metadata.namespace or "default", one.metadata.name)
        for one in desired
    }


INTERRUPTIONS: Final = st.tuples(st.frozensets(st.sampled_from(sorted(PARTS))), st.integers(1, 60), st.booleans())


@given(st.lists(INTERRUPTIONS, min_size=1, max_size=3), st.frozensets(st.sampled_from(sorted(PARTS))))
def test_whatever_is_interrupted_the_next_plan_completes(
    interrupted_changes: list[tuple[frozenset[str], int, bool]], last_names: frozenset[str]
) -> None:
    cluster = new_cluster()
    initial_inventory = inventory(cluster)
    for names, request_number, carried_out in interrupted_changes:
        client = client_of(cluster, Cutting(cluster, request_number, carried_out=carried_out))
        with contextlib.suppress(Killed):
            client.perform(client.plan(make_set(names), PARENT))
        cluster.advance(60)  # a definition goes in its own time
    with simulated_blocking(cluster) as client_without_fault:
        desired = make_set(last_names)
        client_without_fault.perform(client_without_fault.plan(desired, PARENT))
        cluster.advance(60)
        assert client_without_fault.plan(desired, PARENT).clean
    final_inventory = inventory(cluster)
    parent = ("ConfigMap", "default", "shop")
    assert final_inventory.keys() - initial_inventory.keys() - {parent} == desired_keys(desired)
    assert {key: final_inventory.get(key) for key in initial_inventory} == initial_inventory
    for one in desired:
        if one.kind == "ConfigMap":
            namespace_name = one.metadata.namespace or "default"
            assert final_inventory[one.kind, namespace_name, one.metadata.name][0] == one.get("data")


@pytest.mark.thorough("the property cuts at some of these requests, in other sequences")
@pytest.mark.parametrize("carried_out", [False, True])
def test_at_each_request_of_one_change_a_cut_does_no_harm(carried_out: bool) -> None:
    first_set = make_set(frozenset({"a", "b", "secret", "defined", "gadget"}))
    second_set = make_set(frozenset({"a'", "robot", "inside"}))
    for request_number in range(1, 100):
        cluster = new_cluster()
        with simulated_blocking(cluster) as client_without_fault:
            client_without_fault.perform(client_without_fault.plan(first_set, PARENT))
        client = client_of(cluster, Cutting(cluster, request_number, carried_out=carried_out))
        try:
            client.perform(client.plan(second_set, PARENT))
        except Killed:
            pass
        else:
            assert request_number > 20  # the whole change was cut at each of its requests
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
@example(frozenset(), frozenset({"a"}), 5)  # the parent did not exist for the first of them
def test_two_who_work_on_one_set_lose_no_member(one: frozenset[str], other_names: frozenset[str], request_number: int) -> None:
    cluster = new_cluster()
    initial_inventory = inventory(cluster)
    slow = client_of(cluster, Cutting(cluster, request_number, carried_out=True))
    try:
        slow_plan = slow.plan(make_set(one), PARENT)
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

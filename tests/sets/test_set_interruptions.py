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


def a_set(names: frozenset[str]) -> list[kp.Dynamic]:
    """A set that can be applied: with what its parts need, and one of two that are the same object."""
    whole = set(names)
    if "inside" in whole:
        whole.add("ours")
    if "gadget" in whole:
        whole.add("defined")
    if "a" in whole:
        whole.discard("a'")
    return [PARTS[name] for name in sorted(whole)]


@cache
def _prepared() -> sim.Cluster:
    cluster = sim.Cluster()
    for obj in sorted(FOREIGN, key=lambda obj: obj.kind != "Namespace"):
        cluster.put(obj)
    with simulated_blocking(cluster) as client:
        client.perform(client.plan([config("theirs"), secret("theirs")], "configmaps/neighbour"))
    return cluster


def prepared() -> sim.Cluster:
    return _prepared().fork()


def inventory(cluster: sim.Cluster) -> dict[tuple[str, str, str], Any]:
    """What there is, by kind, namespace and name, without what a server adds."""
    found: dict[tuple[str, str, str], Any] = {}
    for kind in KINDS:
        try:
            objects = cluster.objects(kind)
        except kp.LocalProtocolError:
            continue  # the kind is not defined
        for one in objects:
            metadata = one["metadata"]
            key = one["kind"], metadata.get("namespace", ""), metadata["name"]
            found[key] = one.get("data", {}), metadata.get("labels", {}).get("applyset.kubernetes.io/part-of")
    return found


def wanted_keys(wanted: list[kp.Dynamic]) -> set[tuple[str, str, str]]:
    flat = ("Namespace", "CustomResourceDefinition")
    return {
        (one.kind, "" if one.kind in flat else one.metadata.namespace or "default", one.metadata.name)
        for one in wanted
    }


CUTS: Final = st.tuples(st.frozensets(st.sampled_from(sorted(PARTS))), st.integers(1, 60), st.booleans())


@given(st.lists(CUTS, min_size=1, max_size=3), st.frozensets(st.sampled_from(sorted(PARTS))))
def test_whatever_is_interrupted_the_next_plan_completes(
    begun: list[tuple[frozenset[str], int, bool]], last: frozenset[str]
) -> None:
    cluster = prepared()
    before = inventory(cluster)
    for names, at, carried_out in begun:
        client = client_of(cluster, Cutting(cluster, at, carried_out=carried_out))
        with contextlib.suppress(Killed):
            client.perform(client.plan(a_set(names), PARENT))
        cluster.advance(60)  # a definition goes in its own time
    with simulated_blocking(cluster) as whole:
        wanted = a_set(last)
        whole.perform(whole.plan(wanted, PARENT))
        cluster.advance(60)
        assert whole.plan(wanted, PARENT).clean
    after = inventory(cluster)
    parent = ("ConfigMap", "default", "shop")
    assert after.keys() - before.keys() - {parent} == wanted_keys(wanted)
    assert {key: after.get(key) for key in before} == before
    for one in wanted:
        if one.kind == "ConfigMap":
            place = one.metadata.namespace or "default"
            assert after[one.kind, place, one.metadata.name][0] == one.get("data")


@pytest.mark.thorough("the property cuts at some of these requests, in other sequences")
@pytest.mark.parametrize("carried_out", [False, True])
def test_at_each_request_of_one_change_a_cut_does_no_harm(carried_out: bool) -> None:
    first = a_set(frozenset({"a", "b", "secret", "defined", "gadget"}))
    then = a_set(frozenset({"a'", "robot", "inside"}))
    for at in range(1, 100):
        cluster = prepared()
        with simulated_blocking(cluster) as whole:
            whole.perform(whole.plan(first, PARENT))
        client = client_of(cluster, Cutting(cluster, at, carried_out=carried_out))
        try:
            client.perform(client.plan(then, PARENT))
        except Killed:
            pass
        else:
            assert at > 20  # the whole change was cut at each of its requests
            return
        with simulated_blocking(cluster) as whole:
            whole.perform(whole.plan(then, PARENT))
            assert whole.plan(then, PARENT).clean
            assert whole.plan([], PARENT).summary == "4 to delete"


@given(
    st.frozensets(st.sampled_from(sorted(PARTS))),
    st.frozensets(st.sampled_from(sorted(PARTS))),
    st.integers(1, 40),
)
@example(frozenset(), frozenset({"a"}), 5)  # the parent did not exist for the first of them
def test_two_who_work_on_one_set_lose_no_member(one: frozenset[str], other: frozenset[str], at: int) -> None:
    cluster = prepared()
    before = inventory(cluster)
    slow = client_of(cluster, Cutting(cluster, at, carried_out=True))
    try:
        mine = slow.plan(a_set(one), PARENT)
        with simulated_blocking(cluster) as fast:
            fast.perform(fast.plan(a_set(other), PARENT))
        slow.perform(mine)
    except (Killed, StalePlan):
        pass
    with simulated_blocking(cluster) as whole:
        whole.perform(whole.plan([], PARENT))
    cluster.advance(60)
    after = inventory(cluster)
    assert after.keys() - {("ConfigMap", "default", "shop")} == before.keys()

"""Watches of the same events share the bytes of their lines, and each watch gets the same events as alone."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from raw_client import RawClient

import kubeproto_sim as sim

PLACES = (
    "/api/v1/configmaps",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/kube-public/configmaps",
)
# A write to a namespace, or a watch that takes its events.
WRITES = st.sampled_from(["default", "kube-public", "default", "kube-system"])
TAKES = st.integers(0, 5)


def write(cluster: sim.Cluster, namespace: str, number: int) -> None:
    meta = {"name": f"a{number % 3}", "namespace": namespace}
    if number % 5 == 4 and cluster.get("v1/ConfigMap", meta["name"], namespace) is not None:
        cluster.remove("v1/ConfigMap", meta["name"], namespace)
    else:
        cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": str(number)}})


@given(st.lists(WRITES | TAKES, max_size=30))
def test_a_watch_beside_others_gets_the_same_events_as_alone(acts: list[str | int]) -> None:
    client = RawClient()
    since = client.cluster.version
    watches = [client.watch(f"{path}?resourceVersion={since}") for path in PLACES * 2]
    received = [b""] * len(watches)
    for number, act in enumerate(acts):
        if isinstance(act, int):
            received[act] += watches[act].take()
        else:
            write(client.cluster, act, number)
    for index, watch in enumerate(watches):
        alone = client.watch(f"{PLACES[index % 3]}?resourceVersion={since}")
        assert received[index] + watch.take() == alone.take()


def test_watches_of_the_same_events_get_the_same_bytes() -> None:
    client = RawClient()
    since = client.cluster.version
    watches = [client.watch(f"{PLACES[1]}?resourceVersion={since}") for _ in range(3)]
    client.config("a")
    client.config("b")
    first, *others = [watch.take() for watch in watches]
    assert first.count(b"\n") == 2
    assert all(other is first for other in others)


@pytest.mark.parametrize("count", [60, 70])
def test_shared_lines_are_released_at_the_next_event(count: int) -> None:
    client = RawClient()
    watch = client.watch(f"{PLACES[0]}?resourceVersion={client.cluster.version}")
    for number in range(count):
        client.config(f"a{number}")
    watch.take()
    [opened] = client.cluster.watches
    lines = opened.storage.lines
    assert bool(lines) == (count == 60)
    client.config("b")
    assert not lines

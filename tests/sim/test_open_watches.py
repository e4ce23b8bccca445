"""The watches that a write wakes, and the times of watches that act by themselves: an index agrees with a
search.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given, strategies as st
from raw_client import BOOKS, MERGE, RawClient

import kubeproto_sim as sim

MAPS = "/api/v1/configmaps"
HERE = "/api/v1/namespaces/default/configmaps"
THERE = "/api/v1/namespaces/kube-system/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


def count_wakes(client: RawClient, *targets: str) -> dict[str, int]:
    """Open a watch of each target, and count how often its reader is woken."""
    counted = dict.fromkeys(targets, 0)

    def counting(target: str) -> None:
        def wake() -> None:
            counted[target] += 1

        client.watch(target).wake = wake

    for target in targets:
        counting(target)
    return counted


def config_map(namespace: str, name: str = "a", text: str = "1") -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": text}}


def test_a_write_wakes_the_watches_of_its_resource_in_its_namespace_and_in_all() -> None:
    client = RawClient()
    woken = count_wakes(client, HERE, THERE, MAPS, SECRETS)
    client.cluster.put(config_map("default"))
    assert woken == {HERE: 1, THERE: 0, MAPS: 1, SECRETS: 0}
    client.cluster.remove("v1/ConfigMap", "a")
    assert woken == {HERE: 2, THERE: 0, MAPS: 2, SECRETS: 0}
    client.cluster.put(config_map("kube-system"))
    assert woken == {HERE: 2, THERE: 1, MAPS: 3, SECRETS: 0}


def test_while_watches_lag_a_write_of_any_resource_makes_older_writes_visible() -> None:
    client = RawClient()
    client.cluster.lag = 1
    watch = client.watch(f"{HERE}?resourceVersion={client.cluster.version}")
    woken = count_wakes(client, HERE)
    client.cluster.put(config_map("default"))
    assert (woken, watch.take()) == ({HERE: 1}, b"")
    client.cluster.put({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    assert woken == {HERE: 2}
    assert watch.take()


def test_a_driver_of_the_clock_is_notified_of_a_watch_that_was_opened() -> None:
    client = RawClient()
    cluster = client.cluster
    due_times: list[float | None] = []
    cluster.on_due = lambda: due_times.append(cluster.next_due)
    client.watch(f"{HERE}?timeoutSeconds=3")
    assert due_times == [cluster.now + 3]


def test_a_new_schema_wakes_the_watches_that_it_ends() -> None:
    client = RawClient()
    woken = count_wakes(client, BOOKS, HERE)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/books.example.io"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = client.fetch("GET", path)["spec"]["versions"][0] | {"schema": schema}
    client.fetch("PATCH", path, {"spec": {"versions": [version]}}, MERGE)
    assert client.status == 200
    assert woken == {BOOKS: 1, HERE: 0}


def test_a_deleted_definition_wakes_the_watches_of_its_objects() -> None:
    client = RawClient()
    woken = count_wakes(client, BOOKS)
    client.fetch("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/books.example.io")
    client.cluster.settle()
    assert woken == {BOOKS: 1}


def test_ended_watches_are_released_before_their_timeout() -> None:
    cluster = sim.Cluster()
    client = RawClient(cluster)
    ended_watches = list[weakref.ref[sim.Stream]]()

    def open_and_close() -> None:
        watch = client.watch(HERE)
        watch.close()
        ended_watches.append(weakref.ref(watch))

    for _ in range(500):
        open_and_close()
    cluster.log.clear()
    gc.collect()
    assert cluster.watches == []
    assert sum(reference() is not None for reference in ended_watches) < 100


steps = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.sampled_from((HERE, THERE, MAPS, SECRETS)), st.integers(1, 300)),
        st.tuples(st.just("close"), st.integers(0, 9), st.none()),
        st.tuples(st.just("write"), st.sampled_from(("default", "kube-system")), st.none()),
        st.tuples(st.just("advance"), st.integers(0, 200), st.none()),
    ),
    max_size=40,
)


@given(steps)
def test_the_index_of_watches_agrees_with_a_search_of_all_watches(actions: list[Any]) -> None:
    cluster = sim.Cluster()
    client = RawClient(cluster)
    opened = list[Any]()
    for number, (action, value, seconds) in enumerate(actions):
        if action == "open":
            opened.append(client.watch(f"{value}?timeoutSeconds={seconds}&allowWatchBookmarks=true"))
        elif action == "close":
            for watch in opened[value : value + 1]:
                watch.close()
        elif action == "write":
            cluster.put(config_map(value, text=str(number)))
        else:
            cluster.advance(value)
        still = [watch for watch in opened if not watch.ended]
        assert cluster.watches == still
        assert cluster.next_due == min((watch.next_due for watch in still), default=None)
        assert all(watch.next_due > cluster.now for watch in still)


@pytest.mark.parametrize("count", [1, 3])
def test_watches_that_are_due_at_the_same_time_all_act(count: int) -> None:
    client = RawClient()
    watches = [client.watch(f"{HERE}?timeoutSeconds=10") for _ in range(count)]
    client.cluster.advance(10)
    assert all(watch.ended for watch in watches)

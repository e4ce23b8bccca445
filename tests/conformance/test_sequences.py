"""Random sequences of requests on the simulated server alone: what holds whatever is asked."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings, strategies as st

import kubeproto_sim as sim
from conformance.client import Client
from conformance.comparing import Ask, Difference, Side, compare
from conformance.kinds import BAR, BAZ, FOO
from conformance.sequences import KINDS, asks
from conformance.servers import Simulated
from kubeproto.wire import RawRequest

LENGTH: Final = 30


def cluster(**options: Any) -> sim.Cluster:
    made = sim.Cluster(crds=[FOO, BAR, BAZ], version=100, **options)
    made.namespace("n")
    return made


def side(of: sim.Cluster) -> Side:
    return Side(Client(Simulated(of), "n"))


@settings(max_examples=25)
@given(st.lists(asks(), max_size=LENGTH))
def test_a_refusal_says_why_and_has_changed_nothing(sequence: list[Ask]) -> None:
    server = cluster()
    asking = side(server)
    for ask in sequence:
        before = server.version
        answer = asking.respond(ask)
        if answer.status >= 400:
            assert server.version == before
            assert answer.body.strip()
        elif ask.method == "GET" or "dryRun=All" in ask.target:
            assert server.version == before


@settings(max_examples=25)
@given(st.lists(asks(), max_size=LENGTH))
def test_a_watch_from_the_beginning_ends_at_what_is_listed(sequence: list[Ask]) -> None:
    server = cluster()
    client = Client(Simulated(server), "n")
    targets = sorted({kind.home.replace("<ns>", "n") for kind in KINDS})
    watches = {target: server.respond(_watch(target, server.version)) for target in targets}
    asking = Side(client)
    for ask in sequence:
        asking.respond(ask)
    for target, watch in watches.items():
        there: dict[str, Any] = {}
        versions = [0]
        assert isinstance(watch.body, sim.Watch)
        for line in watch.body.take().splitlines():
            event = json.loads(line)
            obj = event["object"]
            versions.append(int(obj["metadata"]["resourceVersion"]))
            if event["type"] == "DELETED":
                del there[obj["metadata"]["name"]]
            else:
                there[obj["metadata"]["name"]] = obj["metadata"]["resourceVersion"]
        listed = client.get(target)["items"]
        assert {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in listed} == there
        assert versions == sorted(set(versions))


def _watch(target: str, version: int) -> RawRequest:
    return RawRequest("GET", f"{target}?watch=true&resourceVersion={version}")


@settings(max_examples=15)
@given(st.lists(asks(), max_size=LENGTH), st.integers(1, 9))
def test_two_servers_that_draw_other_names_answer_the_same(sequence: list[Ask], number: int) -> None:
    left, right = side(cluster()), side(cluster(seed=number))
    for ask in sequence:
        compare(left, right, ask)


def test_the_comparison_finds_what_differs() -> None:
    create = Ask(
        "POST", "/api/v1/namespaces/<ns>/configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}}
    )
    other = cluster()
    other.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})
    for right in (cluster(managed_fields=False), other):
        left = side(cluster())
        with pytest.raises(Difference, match=r"^POST /api/v1/namespaces/<ns>/configmaps"):
            compare(left, side(right), create)


def test_a_write_that_one_server_makes_for_nothing_is_a_difference() -> None:
    create = Ask(
        "POST", "/api/v1/namespaces/<ns>/configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}}
    )
    read = Ask("GET", "/api/v1/namespaces/<ns>/configmaps/a")
    one, other = cluster(), cluster()
    left, right = side(one), side(other)
    compare(left, right, create)
    other.edit("v1/ConfigMap", "a", lambda obj: obj["metadata"].update(labels={"l": "1"}), "n")
    other.edit("v1/ConfigMap", "a", lambda obj: obj["metadata"].pop("labels"), "n")
    assert left.plain(left.respond(read)) != right.plain(right.respond(read))

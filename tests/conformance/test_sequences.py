"""Random sequences of requests on the simulated server alone: invariants that hold for any requests."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings, strategies as st

import kubeproto_sim as sim
from conformance.client import Client
from conformance.comparing import ComparedServer, Difference, RequestTemplate, compare
from conformance.kinds import BAR, BAZ, FOO
from conformance.sequences import KINDS, draw_template
from conformance.servers import Simulated
from kubeproto.wire import RawRequest

LENGTH: Final = 30


def cluster(**options: Any) -> sim.Cluster:
    new_cluster = sim.Cluster(crds=[FOO, BAR, BAZ], version=100, **options)
    new_cluster.namespace("n")
    return new_cluster


def compared_server(of: sim.Cluster) -> ComparedServer:
    return ComparedServer(Client(Simulated(of), "n"))


@settings(max_examples=25)
@given(st.lists(draw_template(), max_size=LENGTH))
def test_a_refusal_has_a_reason_and_changes_nothing(sequence: list[RequestTemplate]) -> None:
    server = cluster()
    asking = compared_server(server)
    for template in sequence:
        initial_version = server.version
        answer = asking.respond(template)
        if answer.status >= 400:
            assert server.version == initial_version
            assert answer.body.strip()
        elif template.method == "GET" or "dryRun=All" in template.target:
            assert server.version == initial_version


@settings(max_examples=25)
@given(st.lists(draw_template(), max_size=LENGTH))
def test_a_watch_from_the_beginning_adds_up_to_the_list(sequence: list[RequestTemplate]) -> None:
    server = cluster()
    client = Client(Simulated(server), "n")
    targets = sorted({kind.home.replace("<ns>", "n") for kind in KINDS})
    watches = {target: server.respond(_watch(target, server.version)) for target in targets}
    asking = ComparedServer(client)
    for template in sequence:
        asking.respond(template)
    for target, watch in watches.items():
        watched: dict[str, Any] = {}
        versions = [0]
        assert isinstance(watch.body, sim.Watch)
        for line in watch.body.take().splitlines():
            event = json.loads(line)
            obj = event["object"]
            versions.append(int(obj["metadata"]["resourceVersion"]))
            if event["type"] == "DELETED":
                del watched[obj["metadata"]["name"]]
            else:
                watched[obj["metadata"]["name"]] = obj["metadata"]["resourceVersion"]
        listed = client.get(target)["items"]
        assert {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed} == watched
        assert versions == sorted(set(versions))


def _watch(target: str, version: int) -> RawRequest:
    return RawRequest("GET", f"{target}?watch=true&resourceVersion={version}")


@settings(max_examples=15)
@given(st.lists(draw_template(), max_size=LENGTH), st.integers(1, 9))
def test_two_servers_with_different_random_names_respond_the_same(
    sequence: list[RequestTemplate], number: int
) -> None:
    first, second = compared_server(cluster()), compared_server(cluster(seed=number))
    for template in sequence:
        compare(first, second, template)


def test_the_comparison_detects_differences() -> None:
    create = RequestTemplate(
        "POST", "/api/v1/namespaces/<ns>/configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}}
    )
    other = cluster()
    other.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})
    for second in (cluster(managed_fields=False), other):
        first = compared_server(cluster())
        with pytest.raises(Difference, match=r"^POST /api/v1/namespaces/<ns>/configmaps"):
            compare(first, compared_server(second), create)


def test_an_unnecessary_write_of_a_single_server_is_a_difference() -> None:
    create = RequestTemplate(
        "POST", "/api/v1/namespaces/<ns>/configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}}
    )
    read = RequestTemplate("GET", "/api/v1/namespaces/<ns>/configmaps/a")
    first_cluster, second_cluster = cluster(), cluster()
    first, second = compared_server(first_cluster), compared_server(second_cluster)
    compare(first, second, create)
    second_cluster.edit("v1/ConfigMap", "a", lambda obj: obj["metadata"].update(labels={"l": "1"}), "n")
    second_cluster.edit("v1/ConfigMap", "a", lambda obj: obj["metadata"].pop("labels"), "n")
    assert first.plain(first.respond(read)) != second.plain(second.respond(read))

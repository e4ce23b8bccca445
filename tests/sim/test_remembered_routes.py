"""A route that is cached by the path of a collection equals the route of a new search."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from raw_client import BOOKS, Book, RawClient

import kubeproto_sim as sim
from kubeproto_sim.kinds._kind_registry import KindRegistry
from kubeproto_sim.kinds._kubernetes_releases import NEWEST
from kubeproto_sim.reading._routes import Routes, find_route
from kubeproto_sim.storage._storage import Storage

SEGMENTS = (
    "namespaces", "default", "pods", "a", "status", "finalize", "scale", "watch", "nodes", "", ".", "..",
    "a%", "configmaps", "deployments", "unheard",
)  # fmt: skip
ROOTS = st.sampled_from(["/api/v1", "/apis/apps/v1", "/api/v2", "/apis", ""])
PATHS = st.tuples(ROOTS, st.lists(st.sampled_from(SEGMENTS), max_size=5)).map(
    lambda parts: "/".join([parts[0], *parts[1]])
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"])
QUERIES: st.SearchStrategy[dict[str, str]] = st.sampled_from([{}, {"watch": "1"}, {"watch": "0"}])
KINDS = KindRegistry(Storage(), NEWEST)
REMEMBERING = Routes(KINDS)


def route_or_refusal(find: Any, *requests: Any) -> Any:
    """Return a route, or its refusal."""
    try:
        return find(*requests)
    except Exception as refused:
        return type(refused), str(refused)


@given(st.lists(st.tuples(METHODS, PATHS, QUERIES), max_size=8))
def test_a_cached_route_equals_the_searched_route(
    requests: list[tuple[str, str, dict[str, str]]],
) -> None:
    for method, path, query in [*requests, *requests]:
        searched = route_or_refusal(find_route, KINDS, method, path, query)
        assert route_or_refusal(REMEMBERING.find, method, path, query) == searched


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize(
    "path_end",
    ["namespaces", "namespaces/a", "namespaces/a/pods", "namespaces/a/pods/status", "nodes", "watch/nodes"],
)
def test_each_end_of_a_path_is_routed_correctly_after_any_other(path_end: str, method: str) -> None:
    for first in SEGMENTS:
        for second in SEGMENTS:
            remembering = Routes(KINDS)
            for end in (first, second):
                path = f"/api/v1/{path_end}/{end}"
                searched = route_or_refusal(find_route, KINDS, method, path, {})
                assert route_or_refusal(remembering.find, method, path, {}) == searched


def test_cached_routes_end_with_their_kind() -> None:
    client = RawClient()
    client.book("a")
    assert client.fetch("GET", f"{BOOKS}/a")["spec"]["title"] == "Moby-Dick"
    client.cluster.remove("apiextensions.k8s.io/v1/CustomResourceDefinition", "books.example.io")
    client.cluster.settle()
    assert client.send("GET", f"{BOOKS}/a").status == 404
    assert client.send("POST", BOOKS, {}).status == 404


def test_a_later_kind_is_routed() -> None:
    client = RawClient(sim.Cluster())
    assert client.send("GET", f"{BOOKS}/a").status == 404
    client.cluster.define(Book)
    client.book("a")
    assert client.send("GET", f"{BOOKS}/a").status == 200


@pytest.mark.parametrize(("method", "end"), [("POST", "pods"), ("GET", "pods/a")])
def test_the_number_of_cached_paths_is_limited(method: str, end: str) -> None:
    remembering = Routes(KINDS)
    served = remembering.find("POST", "/api/v1/namespaces/first/pods", {})
    assert remembering.find("POST", "/api/v1/namespaces/first/pods", {}) is served
    for number in range(1100):
        remembering.find(method, f"/api/v1/namespaces/n{number}/{end}", {})
    assert remembering.find("POST", "/api/v1/namespaces/first/pods", {}) is not served

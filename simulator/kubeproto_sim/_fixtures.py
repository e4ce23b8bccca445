"""Fixtures for pytest: a simulated cluster for a test, and its last requests when the test fails.

Pytest finds them by entry point. A project defines its custom resources once, in its `conftest.py`::

    @pytest.fixture
    def sim_crds():
        return [Book]

and its tests take `sim_cluster`, a fresh `kubeproto_sim.Cluster` in each of them::

    def test_a_book_is_put_on_a_shelf(sim_cluster):
        sim_cluster.put(Book(...))
        reconcile_once(sim_cluster.blocking_transport())
        assert sim_cluster.get(Book, "moby-dick")["status"] == {"shelf": "sea"}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ._cluster import Cluster
from ._direct_objects import Definition

# The number of requests that the report of a failed test shows: the latest led to the failure.
_MAX_REPORTED_REQUESTS = 50


@pytest.fixture
def sim_crds() -> Sequence[Definition]:
    """The custom resources of `sim_cluster`: classes or definitions. Override it in a conftest."""
    return ()


@pytest.fixture
def sim_clusters(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """A function that creates clusters, for tests that need options or several clusters."""
    clusters: list[Cluster] = []

    def make(**options: Any) -> Cluster:
        cluster = Cluster(**options)
        clusters.append(cluster)
        return cluster

    yield make
    for cluster in clusters:
        lines = [str(exchange) for exchange in cluster.log[-_MAX_REPORTED_REQUESTS:]]
        if lines:
            request.node.add_report_section("teardown", "requests to the simulated cluster", "\n".join(lines))


@pytest.fixture
def sim_cluster(sim_clusters: Callable[..., Cluster], sim_crds: Sequence[Definition]) -> Cluster:
    """A simulated cluster that serves `sim_crds`."""
    return sim_clusters(crds=sim_crds)

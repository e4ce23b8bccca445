"""Fixtures for pytest: a simulated cluster for a test, and its last requests when the test fails.

Pytest finds them by entry point. A project defines once, in its `conftest.py`, which custom resources it
has::

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

# How many requests a failing test shows: the last ones led to the failure.
_SHOWN = 50


@pytest.fixture
def sim_crds() -> Sequence[Definition]:
    """The custom resources of `sim_cluster`: classes or definitions. Override it in a conftest."""
    return ()


@pytest.fixture
def sim_clusters(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """A function that makes clusters, for tests that need a seed, modes or more than one."""
    made: list[Cluster] = []

    def make(**options: Any) -> Cluster:
        cluster = Cluster(**options)
        made.append(cluster)
        return cluster

    yield make
    for cluster in made:
        lines = [str(exchange) for exchange in cluster.log[-_SHOWN:]]
        if lines:
            request.node.add_report_section("teardown", "requests to the simulated cluster", "\n".join(lines))


@pytest.fixture
def sim_cluster(sim_clusters: Callable[..., Cluster], sim_crds: Sequence[Definition]) -> Cluster:
    """A simulated cluster that serves `sim_crds`."""
    return sim_clusters(crds=sim_crds)

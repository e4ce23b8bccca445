"""Fixtures for pytest: the simulated cluster of a test, on a port.

Pytest finds them by entry point. A test takes `sim_server` and passes its URL to any program::

    def test_kubectl_sees_the_book(sim_server, sim_cluster):
        sim_cluster.put(book)
        subprocess.run(["kubectl", "--server", sim_server.url, "get", "books"], check=True)

It serves `sim_cluster`, the fixture of `kubeproto_sim`, with the custom resources of `sim_crds`. The server
runs in a thread of its own; `sim_server.call` runs a function there, between two requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ._thread_server import SimServer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubeproto_sim import Cluster


@pytest.fixture
def sim_server(sim_cluster: Cluster) -> Iterator[SimServer]:
    """`sim_cluster` on a port."""
    with serving(sim_cluster) as server:
        yield server

"""Fixtures for pytest: the simulated cluster of a test, on a port.

Pytest finds them by entry point. A test takes `sim_server` and gives its URL to any program::

    def test_kubectl_sees_the_book(sim_server, sim_cluster):
        sim_cluster.put(book)
        subprocess.run(["kubectl", "--server", sim_server.url, "get", "books"], check=True)

It serves `sim_cluster`, the fixture of `kubeproto.sim`, with the custom resources of `sim_crds`. The server
runs in a thread of its own; `sim_server.call` runs a function there, between two requests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from kubeproto.sim import Cluster

T = TypeVar("T")


class SimServer:
    """A simulated cluster on a port: its URL, its kubeconfig, and the cluster."""

    def __init__(self, url: str, kubeconfig: str, cluster: Cluster, portal: BlockingPortal) -> None:
        self.url = url
        self.kubeconfig = kubeconfig
        self.cluster = cluster
        self._portal = portal

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function in the thread of the server, where nothing changes the cluster meanwhile."""
        return self._portal.call(function, *args)


@contextmanager
def serving(cluster: Cluster, **options: Any) -> Generator[SimServer]:
    """Serve a cluster in a thread for as long as a block of code runs; options as for `serve`."""
    # Imported here: pytest loads this module in every run, with the extra or without it.
    from anyio.from_thread import start_blocking_portal

    from ._serve import serve

    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serve(cluster, **options)) as url,
    ):
        yield SimServer(str(url), url.kubeconfig, cluster, portal)


@pytest.fixture
def sim_server(sim_cluster: Cluster) -> Iterator[SimServer]:
    """`sim_cluster` on a port."""
    with serving(sim_cluster) as server:
        yield server

"""`serving`: a simulated cluster on a port, in another thread, for the duration of a block of code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from anyio.from_thread import BlockingPortal

    from kubeproto_sim import Cluster

T = TypeVar("T")


class SimServer:
    """A simulated cluster on a port: its URL, its kubeconfig, and the cluster."""

    def __init__(self, url: str, kubeconfig: str, cluster: Cluster, portal: BlockingPortal) -> None:
        self.url = url
        self.kubeconfig = kubeconfig
        self.cluster = cluster
        self._portal = portal

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function in the thread of the server, between two requests."""
        return self._portal.call(function, *args)


@contextmanager
def serving(cluster: Cluster, **options: Any) -> Generator[SimServer]:
    """Serve a cluster in a thread, for the duration of a block of code. The options are those of `serve`."""
    # Imported here: pytest loads the fixtures in every run, even without the extra `serve`.
    from anyio.from_thread import start_blocking_portal

    from ._port_server import serve

    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serve(cluster, **options)) as url,
    ):
        yield SimServer(str(url), url.kubeconfig, cluster, portal)

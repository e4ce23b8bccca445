"""The interface of the suite: the operations of a server, simulated or real."""

from __future__ import annotations

from typing import Protocol

from asked_release import RELEASE

import kubeproto_sim as sim
from kubeproto.wire import BlockingTransport


class Server(Protocol):
    """A Kubernetes API server to which a test may write without limits."""

    real: bool
    transport: BlockingTransport

    def compact(self) -> None:
        """Compact all history, so that older versions expire."""
        ...

    def wait(self, seconds: float) -> None:
        """Let this much of the server's time pass."""
        ...

    def stop(self) -> None:
        """Stop the server."""
        ...


class Simulated:
    """The simulated server; its time passes when a test waits."""

    real = False

    def __init__(self, cluster: sim.Cluster | None = None) -> None:
        self.cluster = cluster or sim.Cluster(version=100, kubernetes=RELEASE)
        self.cluster.keeps_log = False
        self.transport: BlockingTransport = self.cluster.blocking_transport()

    def compact(self) -> None:
        self.cluster.compact()

    def wait(self, seconds: float) -> None:
        self.cluster.advance(seconds)

    def stop(self) -> None:
        pass

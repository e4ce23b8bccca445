"""The interface of the suite: what a test asks of a server, the simulated one or a real one."""

from __future__ import annotations

from typing import Protocol

from asked_release import RELEASE

import kubeproto_sim as sim
from kubeproto.wire import BlockingTransport


class Server(Protocol):
    """A Kubernetes API server that a test may write to as it likes."""

    real: bool
    transport: BlockingTransport

    def compact(self) -> None:
        """Forget all history, so that older versions are gone."""
        ...

    def wait(self, seconds: float) -> None:
        """Let that much of the server's time pass."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class Simulated:
    """The simulated server; its time passes when it is waited for."""

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

"""A blocking client of a simulated cluster. Its clock advances instead of waiting."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from kubeproto import DeadlineExceeded

from ..blocking._blocking_client import BlockingClient

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kubeproto_sim import Cluster, Faults

T = TypeVar("T")


class SimulatedBlockingClient(BlockingClient):
    """A blocking client of a simulated cluster, with methods to wait."""

    def __init__(self, cluster: Cluster, faults: Faults | None, *, seed: int, namespace: str) -> None:
        self.cluster = cluster
        self.faults = faults
        super().__init__(
            cluster.blocking_transport() if faults is None else faults.blocking_transport(),
            namespace=namespace,
            clock=lambda: cluster.now,
            sleep=cluster.advance,
            rng=random.Random(seed),  # tests are deterministic
        )

    def until(self, condition: Callable[[], T | None], *, within: float = 60.0, every: float = 0.1) -> T:
        """Advance time until a condition returns a true value, and return this value.

        Raise `DeadlineExceeded` after `within` seconds.
        """
        deadline = self.now() + within
        while not (result := condition()):
            if self.now() >= deadline:
                raise DeadlineExceeded(f"the condition did not hold within {within:g} s")
            self.cluster.advance(every)
        return result


@contextmanager
def simulated_blocking(
    cluster: Cluster, *, faults: Faults | None = None, seed: int = 0, namespace: str = "default"
) -> Generator[SimulatedBlockingClient]:
    """Provide a blocking client on the clock of a simulated cluster, so that waiting takes no time.

    Several clients may be open at the same time, in the same thread. `faults` are injected between this
    client and the cluster. Reflectors (`reflect`) run in separate threads, and need an ordinary client
    instead.
    """
    if faults is not None and faults.cluster is not cluster:
        raise ValueError("these faults belong to another cluster")
    yield SimulatedBlockingClient(cluster, faults, seed=seed, namespace=namespace)

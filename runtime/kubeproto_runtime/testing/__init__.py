"""Tests of programs against a simulated cluster, with injected faults and in virtual time.

::

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            ...

    run(main, backend="trio")

Time is a property of the event loop. `run` uses a loop whose clock jumps to the next timer as soon as there
is no work, so an hour of sleeping takes no time. This applies to deadlines, backoffs and the sleeps of a
reconcile. `simulated` also works on an ordinary loop, in real time. The clock does not wait for your own
threads: it jumps while they run.

`install_webhooks` registers the webhooks of a program in the cluster, which calls them in process.
`connect_webhooks` does the same for webhooks whose configurations exist already. `AccessRecorder` records the
permissions that the requests of a program need.

Without an event loop, `simulated_blocking` provides a `BlockingClient` on the clock of the cluster.
"""

try:
    import kubeproto_sim as _simulator

    del _simulator  # imported to check that it is installed
except ModuleNotFoundError as _error:
    if _error.name != "kubeproto_sim":
        raise
    raise ModuleNotFoundError(
        "kubeproto_runtime.testing needs the simulator: pip install 'kubeproto[testing]'",
        name="kubeproto_sim",
    ) from None

from ._access_recorder import AccessRecorder
from ._exploration import Difference, Exploration, explore
from ._fault_injection import InjectedFault, Injection
from ._simulated_blocking import SimulatedBlockingClient, simulated_blocking
from ._simulated_webhooks import connect_webhooks as connect_webhooks, install_webhooks
from ._simulation import (
    BACKENDS as BACKENDS,
    Backend as Backend,
    SimulatedClient,
    options as options,
    run,
    simulated,
)

__all__ = [
    "AccessRecorder",
    "Difference",
    "Exploration",
    "InjectedFault",
    "Injection",
    "SimulatedBlockingClient",
    "SimulatedClient",
    "explore",
    "install_webhooks",
    "run",
    "simulated",
    "simulated_blocking",
]

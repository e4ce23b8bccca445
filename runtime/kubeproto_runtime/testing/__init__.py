"""A simulated cluster for the tests of a program: a client of it, faults, and time that takes none.

::

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            ...

    run(main, backend="trio")

Time is a property of the event loop. `run` takes one whose clock jumps to the next thing that is due as soon
as nothing is left to do, so an hour of sleeping costs nothing, and it is virtual for everything that runs on
it: deadlines, backoffs, the sleeps of a reconciler. On an ordinary loop `simulated` works too, in real time.
The clock does not wait for threads of your own; it jumps while they run.

`install_webhooks` lets the cluster call the webhooks of a program in process, as does `connect_webhooks`
where their configurations are there already. `AccessRecorder` notes which rights the requests of a program
need.

Without an event loop, `simulated_blocking` gives a `BlockingClient` on the clock of the cluster.
"""

try:
    import kubeproto_sim as _simulator

    del _simulator  # only its presence matters here
except ModuleNotFoundError as _error:
    if _error.name != "kubeproto_sim":
        raise
    raise ModuleNotFoundError(
        "kubeproto_runtime.testing needs the simulator: pip install 'kubeproto[testing]'",
        name="kubeproto_sim",
    ) from None

from ._access_recorder import AccessRecorder
from ._blocking import SimulatedBlockingClient, simulated_blocking
from ._exploring import Difference, Exploration, explore
from ._injecting import INJECTED_FAULTS, InjectedFault, Injection, ObservedWrite
from ._simulation import BACKENDS, Backend, SimulatedClient, VirtualLoop, options, run, simulated
from ._webhooks import connect_webhooks, install_webhooks

__all__ = [
    "BACKENDS",
    "INJECTED_FAULTS",
    "AccessRecorder",
    "Backend",
    "Difference",
    "Exploration",
    "InjectedFault",
    "Injection",
    "ObservedWrite",
    "SimulatedBlockingClient",
    "SimulatedClient",
    "VirtualLoop",
    "connect_webhooks",
    "explore",
    "install_webhooks",
    "options",
    "run",
    "simulated",
    "simulated_blocking",
]

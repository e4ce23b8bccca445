"""The Echo operator at work under failures of network and server: `python examples/echo/demo.py`.

Operator, API server and users are in this process, and time is virtual: minutes take no time. The server
is simulated; the operator is that of `echo.py`, unchanged.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

import anyio
from echo import Echo, EchoSpec, controller

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Change
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import Caches
from kubeproto_runtime.testing import run, simulated

COLOURS: Final = {"user": "1", "trouble": "31", "operator": "36", "Echo": "33", "Deployment": "32"}


class LogPrinter(logging.Handler):
    """Prints the log of the runtime: failures and retries."""

    def __init__(self, demo: Demo) -> None:
        super().__init__(logging.INFO)
        self.demo = demo

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        self.demo.log("operator", record.getMessage())


class Demo:
    """A cluster, the output, and the steps of the demonstration."""

    def __init__(self, *, colour: bool) -> None:
        self.cluster = sim.Cluster(crds=[Echo])
        self.faults = sim.Faults(self.cluster)
        self.colour = colour
        self.start_time = self.cluster.now

    def log(self, actor: str, message: str) -> None:
        """Print a line of the log."""
        name = f"{actor:>10}"
        label = f"\033[{COLOURS.get(actor, '0')}m{name}\033[0m" if self.colour else name
        print(f"{self.cluster.now - self.start_time:8.1f} s {label}  {message}", flush=True)

    async def main(self) -> None:
        """Run the demonstration."""
        logging.getLogger("kubeproto").addHandler(LogPrinter(self))
        async with (
            simulated(self.cluster, faults=self.faults) as client,
            Caches(client) as caches,
        ):
            caches.cache(Echo).listen(self.show)
            caches.cache(Deployment).listen(self.show)
            client.start(controller(client))
            await self.play()

    async def play(self) -> None:
        """Play the user and the failures. The user's own connection to the server never fails."""
        async with simulated(self.cluster) as user:
            echoes = user.api(Echo)
            self.log("user", "creates an Echo with two replicas")
            await echoes.create(Echo(metadata=kp.ObjectMeta(name="canyon"), spec=EchoSpec(replicas=2)))
            await user.until(lambda: self.replicas() == 2)
            await anyio.sleep(30)

            self.log("trouble", "every connection breaks, the next ones in the middle of an event")
            self.faults.script += [sim.Cut(after=700), sim.Cut(after=300)]
            self.cluster.end_watches()
            self.log("user", "asks for five replicas meanwhile")
            await echoes.merge_patch("canyon", {"spec": {"replicas": 5}})
            await user.until(lambda: self.replicas() == 5)
            await anyio.sleep(30)

            self.log(
                "trouble",
                "the watches end, and the server forgets its history: 410 for a client that comes back",
            )
            self.cluster.end_watches()
            self.log("user", "asks for three replicas meanwhile, and somebody deletes the Deployment")
            await echoes.merge_patch("canyon", {"spec": {"replicas": 3}})
            self.cluster.remove(Deployment, "canyon")
            self.cluster.compact()
            await user.until(lambda: self.replicas() == 3)
            await anyio.sleep(30)

            self.log("user", "deletes the Echo")
            await echoes.delete("canyon")
            await user.until(lambda: self.cluster.get(Echo, "canyon") is None)
        await anyio.sleep(5)
        remaining = self.cluster.objects(Deployment)
        self.log("user", "nothing is left" if not remaining else f"{len(remaining)} Deployments ARE LEFT")
        if remaining:
            sys.exit(1)

    def replicas(self) -> int | None:
        """Return the number of replicas in the Deployment."""
        deployment = self.cluster.get(Deployment, "canyon")
        return None if deployment is None else int(deployment["spec"]["replicas"])

    def show(self, changes: list[Change[Echo]] | list[Change[Deployment]]) -> None:
        """Print the changes that readers of a cache see."""
        for change in changes:
            obj = change.object
            replicas = f", {obj.spec.replicas} replicas"
            finalizer_note = ", held by its finalizer" if obj.metadata.finalizers else ""
            deletion_note = ", is being deleted" if obj.metadata.deletion_timestamp else ""
            text = f"{obj.metadata.name} {change.type.lower()}{replicas}{finalizer_note}{deletion_note}"
            self.log(type(obj).__name__, text)


if __name__ == "__main__":
    run(Demo(colour=sys.stdout.isatty()).main)

"""`Nodes`: the nodes of a simulated cluster, and what a test does to them and to the pods on them."""

from __future__ import annotations

from copy import copy
from typing import TypedDict

from kubeproto import LocalProtocolError

from .._state import ServerState
from . import node_health, pod_lifecycle
from ._containers import RunningContainer
from ._kubelets import PodRun
from ._node_controller import NodeController
from ._programs import Program


class NodeOptions(TypedDict, total=False):
    """How nodes and the pods on them behave: the fields of `Behaviour`, by the same names."""

    ready_after: float
    init_takes: float
    jobs_take: float
    ends_after: float | None
    programs: dict[str, Program]


class Nodes(NodeController):
    """The nodes of a cluster, from `cluster.nodes()`.

    Pods are bound to them, run, end and are reported on, in virtual time. `behaviour` determines how, and
    `programs` does so for single images. The methods cause unplanned events: containers that exit, pods that
    are no longer ready, nodes that go silent.
    """

    def enter(self) -> None:
        """Become a part of the cluster."""
        self.state.nodes = self
        self.state.extensions.append(self)
        self.learn()

    def fork(self, state: ServerState) -> Nodes:
        """Return the same nodes for a forked cluster. Connections to a pod stay with this cluster."""
        twin = Nodes(state, copy(self.behaviour))
        twin.behaviour.programs = dict(self.behaviour.programs)
        twin.adopt(self)
        state.nodes = twin
        state.extensions.append(twin)
        return twin

    @property
    def programs(self) -> dict[str, Program]:
        """What the containers of an image do, by its name; for containers that start from now on."""
        return self.behaviour.programs

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return list(self._runs)

    # What a test causes

    def exit(
        self, pod: str, code: int = 1, *, container: str = "", namespace: str = "default", reason: str = "",
        message: str = "",
    ) -> None:  # fmt: skip
        """Make a container exit: the only one, or the one that is named."""
        run = self._run(pod, namespace)
        name = container or self._only(run)
        self._kubelets.happen(run, pod_lifecycle.ContainerExited(name, code, reason, message))

    def set_ready(self, pod: str, *, ready: bool, container: str = "", namespace: str = "default") -> None:
        """Make the readiness probe of a container, or of all containers of a pod, succeed or fail."""
        run = self._run(pod, namespace)
        self._kubelets.happen(run, pod_lifecycle.ReadinessChanged(ready, container))

    def evict(
        self, pod: str, message: str = "The node was low on resource: memory.", *, namespace: str = "default"
    ) -> None:
        """Evict a pod by its kubelet, as when its node runs out of memory: the pod fails."""
        self._kubelets.happen(self._run(pod, namespace), pod_lifecycle.Evicted(message))

    def container(self, pod: str, container: str = "", *, namespace: str = "default") -> RunningContainer:
        """Return what runs in a container: its files, its log."""
        run = self._run(pod, namespace)
        name = container or self._only(run)
        if name not in run.containers:
            raise LocalProtocolError(f"container {name!r} of pod {namespace}/{pod} has not started")
        return run.containers[name]

    def log(self, pod: str, text: str | bytes, *, container: str = "", namespace: str = "default") -> None:
        """Write to the log of a container."""
        self.container(pod, container, namespace=namespace).log(text)

    def stop(self, node: str) -> None:
        """Make a node go silent, as when its machine loses power: nothing happens on it any more."""
        self._change(node, node_health.Stopped())

    def start(self, node: str) -> None:
        """Make a node that was silent run again."""
        self._change(node, node_health.Started())

    def fail(self, node: str, message: str = "container runtime is down") -> None:
        """Make the kubelet of a node report that it is not ready."""
        self._change(node, node_health.Failed(message))

    def recover(self, node: str) -> None:
        """Make a node that has failed ready again."""
        self._change(node, node_health.Recovered())

    def _run(self, pod: str, namespace: str) -> PodRun:
        key = self._served("pods").key(namespace, pod)
        run = self._kubelets.runs.get(key)
        if run is None:
            raise LocalProtocolError(f"pod {namespace}/{pod} is not on a simulated node")
        return run

    def _only(self, run: PodRun) -> str:
        mains = [one.name for one in run.state.containers if one.role == "main"]
        if len(mains) != 1:
            raise LocalProtocolError(f"the pod has the containers {', '.join(mains)}: name one of them")
        return mains[0]

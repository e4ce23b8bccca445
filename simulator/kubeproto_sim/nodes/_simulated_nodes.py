"""`Nodes`: the nodes of a simulated cluster, as a test controls them and the pods on them."""

from __future__ import annotations

from copy import copy
from typing import TypedDict

from kubeproto import LocalProtocolError

from .._state import ServerState
from ..nodes import node_health, pod_lifecycle
from ._container_programs import Program
from ._kubelets import PodRun
from ._node_controller import NodeController
from ._running_container import RunningContainer


class NodeOptions(TypedDict, total=False):
    """The fields of `Behaviour`, by the same names."""

    ready_after: float
    init_takes: float
    jobs_take: float
    ends_after: float | None
    programs: dict[str, Program]


class Nodes(NodeController):
    """The nodes of a cluster, from `cluster.nodes()`.

    Pods are bound to them, run, end and report their status, in virtual time. `behaviour` determines their
    times, and `programs` the containers of single images. The methods cause unplanned events: containers that
    exit, pods that become unready, nodes that go silent.
    """

    def register(self) -> None:
        """Register the nodes as an extension of the cluster."""
        self.state.nodes = self
        self.state.extensions.append(self)
        self.add_existing()

    def fork(self, state: ServerState) -> Nodes:
        """Return a copy for a forked cluster. Connections to a pod stay with this cluster."""
        clone = Nodes(state, copy(self.behaviour))
        clone.behaviour.programs = dict(self.behaviour.programs)
        clone.adopt(self)
        state.nodes = clone
        state.extensions.append(clone)
        return clone

    @property
    def programs(self) -> dict[str, Program]:
        """The programs by image; changes apply to containers that start later."""
        return self.behaviour.programs

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return list(self._runs)

    # Unplanned events

    def exit(
        self, pod: str, code: int = 1, *, container: str = "", namespace: str = "default", reason: str = "",
        message: str = "",
    ) -> None:  # fmt: skip
        """Make a container exit; its name may be omitted if the pod has one main container."""
        run = self._pod_run(pod, namespace)
        name = container or self._only_container(run)
        self._kubelets.handle(run, pod_lifecycle.ContainerExited(name, code, reason, message))

    def set_ready(self, pod: str, *, ready: bool, container: str = "", namespace: str = "default") -> None:
        """Make the readiness probe of a container, or of all containers of a pod, succeed or fail."""
        run = self._pod_run(pod, namespace)
        self._kubelets.handle(run, pod_lifecycle.ReadinessChanged(ready, container))

    def evict(
        self, pod: str, message: str = "The node was low on resource: memory.", *, namespace: str = "default"
    ) -> None:
        """Evict a pod by its kubelet, as when its node runs out of memory: the pod fails."""
        self._kubelets.handle(self._pod_run(pod, namespace), pod_lifecycle.Evicted(message))

    def container(self, pod: str, container: str = "", *, namespace: str = "default") -> RunningContainer:
        """Return a running container, with its files and its log."""
        run = self._pod_run(pod, namespace)
        name = container or self._only_container(run)
        if name not in run.containers:
            raise LocalProtocolError(f"container {name!r} of pod {namespace}/{pod} has not started")
        return run.containers[name]

    def log(self, pod: str, text: str | bytes, *, container: str = "", namespace: str = "default") -> None:
        """Write to the log of a container."""
        self.container(pod, container, namespace=namespace).log(text)

    def stop(self, node: str) -> None:
        """Make a node go silent, as when its machine loses power: nothing more happens on it."""
        self._change_health(node, node_health.Stopped())

    def start(self, node: str) -> None:
        """Start a silent node again."""
        self._change_health(node, node_health.Started())

    def fail(self, node: str, message: str = "container runtime is down") -> None:
        """Make the kubelet of a node report that it is not ready."""
        self._change_health(node, node_health.Failed(message))

    def recover(self, node: str) -> None:
        """Make a failed node ready again."""
        self._change_health(node, node_health.Recovered())

    def _pod_run(self, pod: str, namespace: str) -> PodRun:
        key = self._served("pods").key(namespace, pod)
        run = self._kubelets.runs.get(key)
        if run is None:
            raise LocalProtocolError(f"pod {namespace}/{pod} is not on a simulated node")
        return run

    def _only_container(self, run: PodRun) -> str:
        names = [container.name for container in run.state.containers if container.role == "main"]
        if len(names) != 1:
            raise LocalProtocolError(f"the pod has the containers {', '.join(names)}: name one of them")
        return names[0]

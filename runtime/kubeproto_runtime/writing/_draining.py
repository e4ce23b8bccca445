"""`drain`: a node is cordoned, and its pods are evicted as their disruption budgets allow, as by kubectl.

`decide_eviction` decides from a pod itself whether it is evicted. If a pod would be lost, because nothing
replaces it or its data are on the node, nothing is evicted until the caller allows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec import Struct

from kubeproto import ALL, Conflict, Dynamic, KubeprotoError, NotFound, ObjectRef, Resource, TooManyRequests

from .._documents import plain
from ..calls._core import call
from ..calls._effects import SleepUntil
from ..calls._reading import get_or_none
from ..watching._pages import Paging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubeproto import Api

    from ..calls._core import ClientCore
    from ..calls._effects import Effects
    from ..watching._pages import Selection

_PODS: Final = Resource("", "v1", "Pod", "pods")
_NODES: Final = Resource("", "v1", "Node", "nodes", namespaced=False)

_AGAIN: Final = 5.0  # seconds until an eviction is retried, as by kubectl
_LOOK: Final = 1.0
_TIMEOUT: Final = 600.0
_PAGE: Final = 500
_MIRROR_POD: Final = "kubernetes.io/config.mirror"
_ENDED: Final = ("Succeeded", "Failed")


class Draining(TypedDict, total=False):
    """How a node is drained.

    `force` evicts pods that no controller replaces, `delete_local_data` those with an emptyDir volume: both
    are lost. `grace_period` replaces that of the pods. `timeout` bounds all of it. `progress` is called
    with the node once it is cordoned, and with a pod and what is happening to it each time that it is looked
    at.
    """

    force: bool
    delete_local_data: bool
    grace_period: int | None
    timeout: float
    progress: Callable[[ObjectRef[Any], str], object]


class Drained(Struct, frozen=True):
    """The pods that were evicted and have gone, and those that were left, each with the reason."""

    evicted: tuple[ObjectRef[Any], ...] = ()
    left: tuple[tuple[ObjectRef[Any], str], ...] = ()


class DrainError(KubeprotoError):
    """A node could not be drained. It stays cordoned; `pods` are those in the way, each with the reason."""

    def __init__(self, node: str, pods: tuple[tuple[ObjectRef[Any], str], ...]) -> None:
        super().__init__(node, pods)
        self.node = node
        self.pods = pods

    def __str__(self) -> str:
        told = "; ".join(f"{ref}: {why}" for ref, why in self.pods)
        return f"Node {self.node} is cordoned and not drained: {told}"


def decide_eviction(
    pod: Mapping[str, Any], *, force: bool = False, delete_local_data: bool = False
) -> tuple[str, str]:
    """Return "evict", "leave" or "refuse", and why, for a pod as JSON."""
    metadata: Mapping[str, Any] = pod["metadata"]
    owners: list[Mapping[str, Any]] = metadata.get("ownerReferences") or []
    controller = next((one for one in owners if one.get("controller")), None)
    if _MIRROR_POD in (metadata.get("annotations") or {}):
        return "leave", "it mirrors a static pod, which the kubelet runs"
    status: Mapping[str, Any] = pod.get("status") or {}
    ended = status.get("phase") in _ENDED
    if controller is not None and controller.get("kind") == "DaemonSet" and not ended:
        return "leave", "a DaemonSet runs it on every node"
    if ended:
        return "evict", ""
    if controller is None and not force:
        return "refuse", "no controller makes another one; drain with force=True to lose it"
    spec: Mapping[str, Any] = pod.get("spec") or {}
    volumes: list[Mapping[str, Any]] = spec.get("volumes") or []
    if not delete_local_data and any("emptyDir" in volume for volume in volumes):
        return "refuse", "its data are in an emptyDir; drain with delete_local_data=True to lose them"
    return "evict", ""


def drain(client: ClientCore, node: str, options: Draining) -> Effects[Drained]:
    """Cordon a node, and evict its pods; see `Draining`."""
    end = client.now() + options.get("timeout", _TIMEOUT)
    cordon = client.requests(Dynamic, resource=_NODES).merge_patch(node, {"spec": {"unschedulable": True}})
    yield from call(client, cordon)
    progress = options.get("progress", _ignore)
    progress(ObjectRef("", "Node", "", node), "it is cordoned")
    force, local = options.get("force", False), options.get("delete_local_data", False)
    evicted: list[_Evicted] = []
    left: list[tuple[ObjectRef[Any], str]] = []
    refused: list[tuple[ObjectRef[Any], str]] = []
    for pod in (yield from _pods_on(client, node)):
        ref: ObjectRef[Any] = ObjectRef("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        what, why = decide_eviction(pod, force=force, delete_local_data=local)
        if what == "evict":
            evicted.append(_Evicted(ref, pod["metadata"]["uid"]))
        else:
            (left if what == "leave" else refused).append((ref, why))
    if refused:
        raise DrainError(node, tuple(refused))
    while waiting := [one for one in evicted if not one.gone]:
        for one in waiting:
            yield from one.advance(client, options.get("grace_period"))
            progress(one.ref, "it has gone" if one.gone else one.why)
        if waiting := [one for one in waiting if not one.gone]:
            if client.now() >= end:
                raise DrainError(node, tuple((one.ref, one.why) for one in waiting))
            yield SleepUntil(min(end, client.now() + _LOOK))
    return Drained(tuple(one.ref for one in evicted), tuple(left))


def _ignore(ref: ObjectRef[Any], what: str) -> None:
    pass


class _Evicted:
    """A pod to evict: it is evicted once its budgets allow it, and followed until it is gone."""

    def __init__(self, ref: ObjectRef[Any], uid: str) -> None:
        self.ref = ref
        self.uid = uid
        self.gone = False
        self.why = "it was not evicted yet"
        self._sent = False
        self._at = 0.0

    def advance(self, client: ClientCore, grace_period: int | None) -> Effects[None]:
        api = client.requests(Dynamic, namespace=self.ref.namespace, resource=_PODS)
        if self._sent:
            self.gone = yield from self._has_gone(client, api)
            return
        if client.now() < self._at:
            return
        try:
            yield from call(client, api.evict(self.ref.name, uid=self.uid, grace_period=grace_period))
            self._sent, self.why = True, "it was evicted, and has not gone"
        except NotFound:
            self.gone = True
        except Conflict as error:
            self.gone = yield from self._has_gone(client, api)
            self._at, self.why = client.now() + _AGAIN, error.status.message
        except TooManyRequests as error:
            self._at = client.now() + _AGAIN
            causes = [cause.message for cause in error.status.details.causes]
            self.why = "; ".join(causes) or error.status.message

    def _has_gone(self, client: ClientCore, api: Api[Dynamic]) -> Effects[bool]:
        found = yield from get_or_none(client, api, self.ref.name, "")
        # Another pod of this name is the next one of a StatefulSet.
        return found is None or found.metadata.uid != self.uid


def _pods_on(client: ClientCore, node: str) -> Effects[list[dict[str, Any]]]:
    api = client.requests(Dynamic, namespace=ALL, resource=_PODS)
    selection: Selection = {"field_selector": f"spec.nodeName={node}"}
    pages = Paging(client, api, limit=_PAGE, on_expired="go on", selection=selection)
    pods: list[dict[str, Any]] = []
    while (page := (yield from pages.next())) is not None:
        pods += map(plain, page.items)
    return pods

"""`drain`: cordons a node, and evicts its pods as their disruption budgets allow, like kubectl.

`decide_eviction` decides whether a pod is evicted. Some pods would be lost (no controller replaces them), or
their data (an emptyDir). Unless the caller allows that, no pod of the node is evicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec import Struct

from kubeproto import (
    ALL,
    ApiError,
    Conflict,
    Dynamic,
    KubeprotoError,
    NotFound,
    ObjectRef,
    Resource,
    TooManyRequests,
)

from .._documents import to_builtins
from ..calls._core import call
from ..calls._effects import SleepUntil
from ..calls._object_reads import get_or_none
from ..watching._list_pages import Paging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubeproto import Api

    from ..calls._core import ClientCore
    from ..calls._effects import Effects
    from ..watching._list_pages import Selection

_PODS: Final = Resource("", "v1", "Pod", "pods")
_NODES: Final = Resource("", "v1", "Node", "nodes", namespaced=False)

_RETRY_DELAY: Final = 5.0  # seconds until an eviction is retried, as in kubectl
_POLL_PERIOD: Final = 1.0
_TIMEOUT: Final = 600.0
_PAGE_SIZE: Final = 500
_MIRROR_POD: Final = "kubernetes.io/config.mirror"
_SEVERAL_BUDGETS: Final = "more than one PodDisruptionBudget"
_FINISHED_PHASES: Final = ("Succeeded", "Failed")


class DrainOptions(TypedDict, total=False):
    """The options of draining a node.

    `force` evicts pods that no controller replaces, and `delete_local_data` evicts pods with emptyDir
    volumes, whose data is lost. `grace_period` replaces the grace period of the pods. `timeout` limits the
    whole drain, in seconds. `progress` is called with the node when it is cordoned, and with each pod and its
    state whenever the pod is checked.
    """

    force: bool
    delete_local_data: bool
    grace_period: int | None
    timeout: float
    progress: Callable[[ObjectRef[Any], str], object]


class DrainResult(Struct, frozen=True):
    """The evicted pods, which no longer exist, and the skipped pods, each with the reason."""

    evicted: tuple[ObjectRef[Any], ...] = ()
    skipped: tuple[tuple[ObjectRef[Any], str], ...] = ()


class DrainError(KubeprotoError):
    """A node was not drained, and stays cordoned. `pods` are the pods that prevent it, with the reasons."""

    def __init__(self, node: str, pods: tuple[tuple[ObjectRef[Any], str], ...]) -> None:
        super().__init__(node, pods)
        self.node = node
        self.pods = pods

    def __str__(self) -> str:
        pods = "; ".join(f"{ref}: {reason}" for ref, reason in self.pods)
        return f"Node {self.node} is cordoned and not drained: {pods}"


def decide_eviction(
    pod: Mapping[str, Any], *, force: bool = False, delete_local_data: bool = False
) -> tuple[str, str]:
    """Return "evict", "skip" or "refuse", and the reason, for a pod as JSON."""
    metadata: Mapping[str, Any] = pod["metadata"]
    owners: list[Mapping[str, Any]] = metadata.get("ownerReferences") or []
    controller = next((owner for owner in owners if owner.get("controller")), None)
    if _MIRROR_POD in (metadata.get("annotations") or {}):
        return "skip", "it mirrors a static pod, which the kubelet runs"
    status: Mapping[str, Any] = pod.get("status") or {}
    finished = status.get("phase") in _FINISHED_PHASES
    if controller is not None and controller.get("kind") == "DaemonSet" and not finished:
        return "skip", "a DaemonSet runs it on every node"
    if finished:
        return "evict", ""
    if controller is None and not force:
        return "refuse", "no controller would replace it; drain with force=True to delete it anyway"
    spec: Mapping[str, Any] = pod.get("spec") or {}
    volumes: list[Mapping[str, Any]] = spec.get("volumes") or []
    if not delete_local_data and any("emptyDir" in volume for volume in volumes):
        return "refuse", "its emptyDir would be lost; drain with delete_local_data=True to delete it anyway"
    return "evict", ""


def drain(client: ClientCore, node: str, options: DrainOptions) -> Effects[DrainResult]:
    """Cordon a node, and evict its pods; see `DrainOptions`."""
    deadline = client.now() + options.get("timeout", _TIMEOUT)
    cordon = client.requests(Dynamic, resource=_NODES).merge_patch(node, {"spec": {"unschedulable": True}})
    yield from call(client, cordon)
    progress = options.get("progress", _ignore)
    progress(ObjectRef("", "Node", "", node), "it is cordoned")
    force, delete_local_data = options.get("force", False), options.get("delete_local_data", False)
    evictions: list[_Eviction] = []
    skipped: list[tuple[ObjectRef[Any], str]] = []
    refused: list[tuple[ObjectRef[Any], str]] = []
    for pod in (yield from _pods_on(client, node)):
        ref: ObjectRef[Any] = ObjectRef("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        decision, reason = decide_eviction(pod, force=force, delete_local_data=delete_local_data)
        if decision == "evict":
            evictions.append(_Eviction(ref, pod["metadata"]["uid"]))
        else:
            (skipped if decision == "skip" else refused).append((ref, reason))
    if refused:
        raise DrainError(node, tuple(refused))
    while pending := [eviction for eviction in evictions if not (eviction.finished or eviction.refused)]:
        for eviction in pending:
            yield from eviction.advance(client, options.get("grace_period"))
            progress(eviction.ref, "it is deleted" if eviction.finished else eviction.state)
        if any(not (eviction.finished or eviction.refused) for eviction in pending):
            if client.now() >= deadline:
                break
            yield SleepUntil(min(deadline, client.now() + _POLL_PERIOD))
    if remaining := [eviction for eviction in evictions if not eviction.finished]:
        raise DrainError(node, tuple((eviction.ref, eviction.state) for eviction in remaining))
    return DrainResult(tuple(eviction.ref for eviction in evictions), tuple(skipped))


def _ignore(ref: ObjectRef[Any], state: str) -> None:
    pass


class _Eviction:
    """Evicts a pod as soon as its budgets allow that, and observes it until it no longer exists."""

    def __init__(self, ref: ObjectRef[Any], uid: str) -> None:
        self.ref = ref
        self.uid = uid
        self.finished = False
        self.refused = False  # no later attempt can succeed
        self.state = "it is not evicted yet"
        self._sent = False
        self._retry_at = 0.0

    def advance(self, client: ClientCore, grace_period: int | None) -> Effects[None]:
        api = client.requests(Dynamic, namespace=self.ref.namespace, resource=_PODS)
        if self._sent:
            self.finished = yield from self._is_deleted(client, api)
            return
        if client.now() < self._retry_at:
            return
        try:
            yield from call(client, api.evict(self.ref.name, uid=self.uid, grace_period=grace_period))
            self._sent, self.state = True, "it is evicted, and terminating"
        except NotFound:
            self.finished = True
        except Conflict as error:
            self.finished = yield from self._is_deleted(client, api)
            self._retry_at, self.state = client.now() + _RETRY_DELAY, error.status.message
        except TooManyRequests as error:
            self._retry_at = client.now() + _RETRY_DELAY
            causes = [cause.message for cause in error.status.details.causes]
            self.state = "; ".join(causes) or error.status.message
        except ApiError as error:
            # The other pods are still evicted: they do not depend on a person who corrects the budgets.
            if _SEVERAL_BUDGETS not in error.status.message:
                raise
            self.refused = True
            self.state = (
                "several disruption budgets select it, so the server refuses each eviction: change one"
            )

    def _is_deleted(self, client: ClientCore, api: Api[Dynamic]) -> Effects[bool]:
        pod = yield from get_or_none(client, api, self.ref.name, "")
        # A StatefulSet creates the next pod with the same name.
        return pod is None or pod.metadata.uid != self.uid


def _pods_on(client: ClientCore, node: str) -> Effects[list[dict[str, Any]]]:
    api = client.requests(Dynamic, namespace=ALL, resource=_PODS)
    selection: Selection = {"field_selector": f"spec.nodeName={node}"}
    pages = Paging(client, api, limit=_PAGE_SIZE, on_expired="go on", selection=selection)
    pods: list[dict[str, Any]] = []
    while (page := (yield from pages.next())) is not None:
        pods += map(to_builtins, page.items)
    return pods

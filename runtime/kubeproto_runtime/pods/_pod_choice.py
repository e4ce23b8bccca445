"""The pods of ``web-0``, ``deploy/shop`` or ``svc/shop``, as kubectl reads such a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubeproto import Dynamic, InvalidRequest, KubeprotoError, Resource
from kubeproto.objects import Selector

from .._documents import to_builtins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..client._client import Client
    from ..watching._pages import Selection

    Json = dict[str, Any]

PODS: Final = Resource("", "v1", "Pod", "pods")
_POD_TYPES: Final = ("pod", "pods", "po")
# Their selector is a map of labels; that of every other kind is a LabelSelector.
_KINDS_WITH_LABEL_MAP: Final = ("Service", "ReplicationController")


class PodChoice(Struct, frozen=True, kw_only=True):
    """The pods of a name or a selector. `description` names them in messages; `owner` has the selector."""

    namespace: str
    description: str
    name: str = ""
    selector: str = ""
    owner: dict[str, Any] = {}

    @property
    def selection(self) -> Selection:
        """The parameters of a list or a watch of the pods."""
        if self.name:
            return {"field_selector": f"metadata.name={self.name}"}
        return {"label_selector": self.selector}


class NoRunningPod(KubeprotoError):
    """None of the chosen pods runs, so that there is nothing to connect to."""

    def __init__(self, description: str) -> None:
        super().__init__(f"{description}: no pod of it runs")


async def choose_pods(client: Client, target: str = "", selector: str = "", namespace: str = "") -> PodChoice:
    """Return a choice of pods: by the name of a pod, of an object that selects pods, or by labels."""
    namespace = namespace or client.namespace
    if bool(target) == bool(selector):
        raise InvalidRequest("name a pod or an object that selects pods, or use a selector: one is required")
    if selector:
        description = f"pods with {selector} in {namespace}"
        return PodChoice(namespace=namespace, description=description, selector=selector)
    kind, slash, name = target.rpartition("/")
    if not name or (slash and not kind):
        raise InvalidRequest(f"{target!r} names no object: expected NAME, pod/NAME or KIND/NAME")
    if not slash or kind.lower() in _POD_TYPES:
        return PodChoice(namespace=namespace, description=f"Pod {namespace}/{name}", name=name)
    api = await client.resource(kind, namespace=namespace)
    owner: Json = to_builtins(await api.get(name))
    description = f"{owner['kind']} {namespace}/{name}"
    selector = _selector(owner, description)
    return PodChoice(namespace=namespace, description=description, selector=selector, owner=owner)


def _selector(owner: Json, description: str) -> str:
    spec: Mapping[str, Any] = owner.get("spec") or {}
    plain_selector: Mapping[str, Any] = spec.get("selector") or {}
    if owner["kind"] in _KINDS_WITH_LABEL_MAP:
        selector = str(Selector.of(plain_selector))
    else:
        selector = str(Selector.from_object(plain_selector))
    if not selector:
        raise InvalidRequest(f"{description} selects no pods by its spec.selector")
    return selector


async def chosen_pods(client: Client, choice: PodChoice) -> list[Json]:
    """Return the existing pods, by name."""
    api = client.api(Dynamic, namespace=choice.namespace, resource=PODS)
    if choice.name:
        return [to_builtins(await api.get(choice.name))]
    pods: list[Json] = [to_builtins(pod) async for pod in api.items(**choice.selection)]
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


async def serving_pod(client: Client, choice: PodChoice) -> Json:
    """Return a pod to connect to: the oldest running one, and a ready one if there is any."""
    pods = [pod for pod in await chosen_pods(client, choice) if pod["status"].get("phase") == "Running"]
    pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]] or pods
    if not pods:
        raise NoRunningPod(choice.description)
    return min(pods, key=lambda pod: (not _is_ready(pod), pod["metadata"].get("creationTimestamp", "")))


def _is_ready(pod: Json) -> bool:
    conditions: list[Json] = pod["status"].get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

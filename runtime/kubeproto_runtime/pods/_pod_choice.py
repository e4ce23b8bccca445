"""The choice of pods by a name in kubectl's form (``web-0``, ``deploy/shop``, ``svc/shop``) or by labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubeproto import Dynamic, InvalidRequest, KubeprotoError, Resource
from kubeproto.objects import Selector

from .._documents import to_builtins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..client._client import Client
    from ..watching._list_pages import Selection

    Json = dict[str, Any]

PODS: Final = Resource("", "v1", "Pod", "pods")
_POD_TYPES: Final = ("pod", "pods", "po")
# The selector of these kinds is a map of labels; that of every other kind is a LabelSelector.
_KINDS_WITH_LABEL_MAP: Final = ("Service", "ReplicationController")


class PodChoice(Struct, frozen=True, kw_only=True):
    """A choice of pods by name or selector. `owner` is the object whose selector it is, if any.

    `description` names the pods in messages.
    """

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
    """None of the chosen pods is running."""

    def __init__(self, description: str) -> None:
        super().__init__(f"{description}: none of its pods is running")


async def choose_pods(client: Client, target: str = "", selector: str = "", namespace: str = "") -> PodChoice:
    """Return a choice of pods: by the name of a pod, of an object that selects pods, or by labels."""
    namespace = namespace or client.namespace
    if bool(target) == bool(selector):
        raise InvalidRequest("expected either the name of a pod or of an object with pods, or a selector")
    if selector:
        description = f"pods with {selector} in {namespace}"
        return PodChoice(namespace=namespace, description=description, selector=selector)
    kind, slash, name = target.rpartition("/")
    if not name or (slash and not kind):
        raise InvalidRequest(f"{target!r} is not the name of an object: expected NAME, pod/NAME or KIND/NAME")
    if not slash or kind.lower() in _POD_TYPES:
        return PodChoice(namespace=namespace, description=f"Pod {namespace}/{name}", name=name)
    api = await client.resource(kind, namespace=namespace)
    owner: Json = to_builtins(await api.get(name))
    description = f"{owner['kind']} {namespace}/{name}"
    selector = _selector_of(owner, description)
    return PodChoice(namespace=namespace, description=description, selector=selector, owner=owner)


def _selector_of(owner: Json, description: str) -> str:
    spec: Mapping[str, Any] = owner.get("spec") or {}
    plain_selector: Mapping[str, Any] = spec.get("selector") or {}
    if owner["kind"] in _KINDS_WITH_LABEL_MAP:
        selector = str(Selector.of(plain_selector))
    else:
        selector = str(Selector.from_object(plain_selector))
    if not selector:
        raise InvalidRequest(f"{description} has no spec.selector that selects pods")
    return selector


async def chosen_pods(client: Client, choice: PodChoice) -> list[Json]:
    """Return the existing pods of a choice, in the order of their names."""
    api = client.api(Dynamic, namespace=choice.namespace, resource=PODS)
    if choice.name:
        return [to_builtins(await api.get(choice.name))]
    pods: list[Json] = [to_builtins(pod) async for pod in api.items(**choice.selection)]
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


async def find_ready_pod(client: Client, choice: PodChoice) -> Json:
    """Return the oldest ready pod or, if no pod is ready, the oldest running pod."""
    pods = [pod for pod in await chosen_pods(client, choice) if pod["status"].get("phase") == "Running"]
    pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]] or pods
    if not pods:
        raise NoRunningPod(choice.description)
    return min(pods, key=lambda pod: (not _is_ready(pod), pod["metadata"].get("creationTimestamp", "")))


def _is_ready(pod: Json) -> bool:
    conditions: list[Json] = pod["status"].get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

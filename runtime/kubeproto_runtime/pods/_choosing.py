"""The pods that ``web-0``, ``deploy/shop`` or ``svc/shop`` mean, as kubectl reads such a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubeproto import Dynamic, InvalidRequest, KubeprotoError, Resource
from kubeproto.objects import Selector

from .._documents import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..client._client import Client
    from ..watching._pages import Selection

    Json = dict[str, Any]

PODS: Final = Resource("", "v1", "Pod", "pods")
_POD_NAMES: Final = ("pod", "pods", "po")
# Their selector is a map of labels; that of every other kind is a LabelSelector.
_MAPS: Final = ("Service", "ReplicationController")


class PodChoice(Struct, frozen=True, kw_only=True):
    """The pods of a name or a selector. `about` names them in messages; `owner` is what selects them."""

    namespace: str
    about: str
    name: str = ""
    selector: str = ""
    owner: dict[str, Any] = {}

    @property
    def selection(self) -> Selection:
        """The parameters of a list or a watch of them."""
        if self.name:
            return {"field_selector": f"metadata.name={self.name}"}
        return {"label_selector": self.selector}


class NoRunningPod(KubeprotoError):
    """No pod of a choice runs, so that there is nothing to connect to."""

    def __init__(self, about: str) -> None:
        super().__init__(f"{about}: no pod of it runs")


async def choose_pods(client: Client, target: str = "", selector: str = "", namespace: str = "") -> PodChoice:
    """Return a choice of pods: by the name of a pod, of an object that selects pods, or by labels."""
    place = namespace or client.namespace
    if bool(target) == bool(selector):
        raise InvalidRequest("name a pod or an object that selects pods, or give a selector: one of the two")
    if selector:
        return PodChoice(namespace=place, about=f"pods with {selector} in {place}", selector=selector)
    kind, slash, name = target.rpartition("/")
    if not name or (slash and not kind):
        raise InvalidRequest(f"{target!r} names no object: expected NAME, pod/NAME or KIND/NAME")
    if not slash or kind.lower() in _POD_NAMES:
        return PodChoice(namespace=place, about=f"Pod {place}/{name}", name=name)
    owner: Json = plain(await (await client.resource(kind, namespace=place)).get(name))
    about = f"{owner['kind']} {place}/{name}"
    return PodChoice(namespace=place, about=about, selector=_selector(owner, about), owner=owner)


def _selector(owner: Json, about: str) -> str:
    spec: Mapping[str, Any] = owner.get("spec") or {}
    found: Mapping[str, Any] = spec.get("selector") or {}
    selector = str(Selector.of(found) if owner["kind"] in _MAPS else Selector.from_object(found))
    if not selector:
        raise InvalidRequest(f"{about} selects no pods by its spec.selector")
    return selector


async def chosen_pods(client: Client, choice: PodChoice) -> list[Json]:
    """Return the existing pods, by name."""
    api = client.api(Dynamic, namespace=choice.namespace, resource=PODS)
    if choice.name:
        return [plain(await api.get(choice.name))]
    pods: list[Json] = [plain(pod) async for pod in api.items(**choice.selection)]
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


async def serving_pod(client: Client, choice: PodChoice) -> Json:
    """Return a pod that can be connected to: a ready one if there is any, then the oldest that runs."""
    pods = [pod for pod in await chosen_pods(client, choice) if pod["status"].get("phase") == "Running"]
    pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]] or pods
    if not pods:
        raise NoRunningPod(choice.about)
    return min(pods, key=lambda pod: (not is_ready(pod), pod["metadata"].get("creationTimestamp", "")))


def is_ready(pod: Json) -> bool:
    """Return whether the pod is ready."""
    conditions: list[Json] = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

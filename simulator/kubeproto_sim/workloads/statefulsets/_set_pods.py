"""The pods of a StatefulSet: their ordinals, names and volumes, and what state they are in."""

from __future__ import annotations

import re
from typing import Final

from ...storage._json_values import copied, listed, member
from ..facts._objects import Json
from ..facts._pods import is_available, is_ready, is_terminating, phase
from ..loops._history import POD_HASH, template_of
from ..loops._pod_control import pod_from

_NAMED: Final = re.compile(r"(.*)-([0-9]+)")
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


def parent_of(pod: Json) -> str:
    """Return the name of the set that a pod belongs to by its own name."""
    found = _NAMED.fullmatch(pod["metadata"]["name"])
    return found[1] if found else ""


def ordinal_of(pod: Json) -> int:
    """Return the ordinal in the name of a pod; -1 if there is none."""
    found = _NAMED.fullmatch(pod["metadata"]["name"])
    return int(found[2]) if found else -1


def first_ordinal(owner: Json) -> int:
    """Return the ordinal at which a set begins."""
    start: int = member(owner["spec"], "ordinals").get("start", 0)
    return start


def ordinals(owner: Json) -> range:
    """Return the ordinals that a set wants."""
    start = first_ordinal(owner)
    return range(start, start + owner["spec"].get("replicas", 1))


def claim_name(owner: Json, template: Json, ordinal: int) -> str:
    """Return the name of a claim of one pod."""
    return f"{template['metadata']['name']}-{owner['metadata']['name']}-{ordinal}"


def claim_templates(owner: Json) -> list[Json]:
    """Return the templates of the claims that each pod has."""
    return listed(owner["spec"], "volumeClaimTemplates")


def new_pod(owner: Json, ordinal: int, current: Json, update: Json) -> Json:
    """Return a pod that does not exist yet, of the revision that its ordinal is to have."""
    rolling = member(owner["spec"], "updateStrategy")
    partition = member(rolling, "rollingUpdate").get("partition")
    first = first_ordinal(owner)
    old = False
    if partition is not None:
        old = ordinal < first + partition
    elif rolling.get("type") == "RollingUpdate":
        old = ordinal < first + member(owner, "status").get("currentReplicas", 0)
    revision = current if old else update
    pod = pod_from(template_of(revision), owner)
    meta, name = pod["metadata"], f"{owner['metadata']['name']}-{ordinal}"
    meta["name"] = name
    set_identity(pod)
    meta["labels"][POD_HASH] = revision["metadata"]["name"]
    pod["spec"]["hostname"] = name
    if service := owner["spec"].get("serviceName"):
        pod["spec"]["subdomain"] = service
    set_storage(owner, pod)
    return pod


def set_identity(pod: Json) -> None:
    """Give a pod the labels that name it."""
    labels: dict[str, str] = pod["metadata"].setdefault("labels", {})
    labels |= {_POD_NAME: pod["metadata"]["name"], _POD_INDEX: str(ordinal_of(pod))}


def set_storage(owner: Json, pod: Json) -> None:
    """Give a pod a volume for each of its claims."""
    claims = {
        one["metadata"]["name"]: claim_name(owner, one, ordinal_of(pod)) for one in claim_templates(owner)
    }
    volumes: list[Json] = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()
    ]
    volumes += [one for one in listed(pod["spec"], "volumes") if one["name"] not in claims]
    if volumes:
        pod["spec"]["volumes"] = copied(volumes)


def has_identity(pod: Json) -> bool:
    """Whether a pod carries the label that names it."""
    name: str = pod["metadata"]["name"]
    return bool(pod["metadata"].get("labels", {}).get(_POD_NAME) == name)


def has_storage(owner: Json, pod: Json) -> bool:
    """Whether a pod uses its claims."""
    volumes = {
        one["name"]: member(one, "persistentVolumeClaim").get("claimName")
        for one in listed(pod["spec"], "volumes")
    }
    return all(
        volumes.get(one["metadata"]["name"]) == claim_name(owner, one, ordinal_of(pod))
        for one in claim_templates(owner)
    )


def is_created(pod: Json) -> bool:
    """Whether a pod exists, and is not only wanted."""
    return "uid" in pod["metadata"]


def runs_ready(pod: Json) -> bool:
    """Whether a pod runs and is ready."""
    return is_created(pod) and phase(pod) == "Running" and is_ready(pod)


def is_unavailable(pod: Json, min_ready: int, now: float) -> bool:
    """Whether a pod is unavailable, or will be soon."""
    return not is_available(pod, min_ready, now) or is_terminating(pod)


def revision_name(pod: Json) -> str:
    """Return the name of the revision that a pod was made from."""
    name: str = pod["metadata"].get("labels", {}).get(POD_HASH, "")
    return name

"""The pods of a StatefulSet: their ordinals, names, labels and volumes."""

from __future__ import annotations

import re
from typing import Final

from kubeproto.objects import copy_json

from ...storage._json_values import member, objects_in
from ..loops._controller_revisions import POD_HASH_LABEL, template_of
from ..loops._pod_control import pod_from
from ..objects._object_client import Json
from ..objects._status_conditions import is_available, is_ready, is_terminating, phase

_POD_NAME_PATTERN: Final = re.compile(r"(.*)-([0-9]+)")
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


# Names and ordinals


def parent_of(pod: Json) -> str:
    """Return the name of a pod without its ordinal: the name of its set."""
    match = _POD_NAME_PATTERN.fullmatch(pod["metadata"]["name"])
    return match[1] if match else ""


def ordinal_of(pod: Json) -> int:
    """Return the ordinal in the name of a pod; -1 if there is none."""
    match = _POD_NAME_PATTERN.fullmatch(pod["metadata"]["name"])
    return int(match[2]) if match else -1


def first_ordinal(owner: Json) -> int:
    """Return the lowest ordinal of a set."""
    start: int = member(owner["spec"], "ordinals").get("start", 0)
    return start


def ordinals(owner: Json) -> range:
    """Return the ordinals of a set, one for each replica."""
    start = first_ordinal(owner)
    return range(start, start + owner["spec"].get("replicas", 1))


def claim_templates(owner: Json) -> list[Json]:
    """Return the templates of the claims of each pod."""
    return objects_in(owner["spec"], "volumeClaimTemplates")


def claim_name(owner: Json, template: Json, ordinal: int) -> str:
    """Return the name of a claim of a pod."""
    return f"{template['metadata']['name']}-{owner['metadata']['name']}-{ordinal}"


# The identity and the storage of a pod


def new_pod(owner: Json, ordinal: int, current: Json, update: Json) -> Json:
    """Return a pod that does not exist yet, of the revision that its ordinal should have."""
    rolling = member(owner["spec"], "updateStrategy")
    partition = member(rolling, "rollingUpdate").get("partition")
    first = first_ordinal(owner)
    is_old = False
    if partition is not None:
        is_old = ordinal < first + partition
    elif rolling.get("type") == "RollingUpdate":
        is_old = ordinal < first + member(owner, "status").get("currentReplicas", 0)
    revision = current if is_old else update
    pod = pod_from(template_of(revision), owner)
    meta, name = pod["metadata"], f"{owner['metadata']['name']}-{ordinal}"
    meta["name"] = name
    set_identity(pod)
    meta["labels"][POD_HASH_LABEL] = revision["metadata"]["name"]
    pod["spec"]["hostname"] = name
    if service := owner["spec"].get("serviceName"):
        pod["spec"]["subdomain"] = service
    set_claim_volumes(owner, pod)
    return pod


def set_identity(pod: Json) -> None:
    """Set the labels that contain the name and the ordinal of a pod."""
    labels: dict[str, str] = pod["metadata"].setdefault("labels", {})
    labels |= {_POD_NAME: pod["metadata"]["name"], _POD_INDEX: str(ordinal_of(pod))}


def has_identity(pod: Json) -> bool:
    """Return whether a label of a pod contains its name."""
    name: str = pod["metadata"]["name"]
    return bool(pod["metadata"].get("labels", {}).get(_POD_NAME) == name)


def set_claim_volumes(owner: Json, pod: Json) -> None:
    """Set a volume of a pod for each of its claims."""
    claims = _claim_names(owner, pod)
    volumes: list[Json] = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()
    ]
    volumes += [volume for volume in objects_in(pod["spec"], "volumes") if volume["name"] not in claims]
    if volumes:
        pod["spec"]["volumes"] = copy_json(volumes)


def has_storage(owner: Json, pod: Json) -> bool:
    """Return whether a pod has a volume for each of its claims."""
    volumes = {
        volume["name"]: member(volume, "persistentVolumeClaim").get("claimName")
        for volume in objects_in(pod["spec"], "volumes")
    }
    return all(volumes.get(name) == claim for name, claim in _claim_names(owner, pod).items())


def _claim_names(owner: Json, pod: Json) -> dict[str, str]:
    """Return the name of the claim for each volume of a pod."""
    return {
        template["metadata"]["name"]: claim_name(owner, template, ordinal_of(pod))
        for template in claim_templates(owner)
    }


# The state of a pod


def is_created(pod: Json) -> bool:
    """Return whether a pod exists on the server."""
    return "uid" in pod["metadata"]


def is_running_and_ready(pod: Json) -> bool:
    """Return whether a pod runs and is ready."""
    return is_created(pod) and phase(pod) == "Running" and is_ready(pod)


def is_unavailable(pod: Json, min_ready: int, now: float) -> bool:
    """Return whether a pod is unavailable or being deleted."""
    return not is_available(pod, min_ready, now) or is_terminating(pod)


def revision_name(pod: Json) -> str:
    """Return the name of the revision of a pod."""
    name: str = pod["metadata"].get("labels", {}).get(POD_HASH_LABEL, "")
    return name

"""The runs of containers in the status of a pod, as events of the machine that reads a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubeproto.watching import log_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    Json = dict[str, Any]

# As kubectl shows them: those that prepare the pod first.
_PARTS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
# The phases in which nothing of a pod will run again.
ENDED: Final = ("Succeeded", "Failed")
_DEFAULT: Final = "kubectl.kubernetes.io/default-container"


def containers_of(pod: Json, container: str, *, everything: bool) -> Sequence[str]:
    """Return the names of the containers to read: one, all, or the default one."""
    every = [str(one["name"]) for part in _PARTS for one in _listed(pod["spec"], part)]
    if container:
        return [container] if container in every else []
    return every if everything else [default_container(pod)]


def default_container(pod: Json) -> str:
    """Return the default container: that of the annotation, or the first."""
    mains = [str(one["name"]) for one in _listed(pod["spec"], "containers")]
    annotations: Json = pod["metadata"].get("annotations") or {}
    named = str(annotations.get(_DEFAULT, ""))
    return named if named in mains else mains[0]


def run_events(pod: Json) -> dict[str, log_tail.RunStarted | log_tail.RunEnded]:
    """Return an event for each container that has run: its current run, or the one that ended."""
    status: Json = pod.get("status") or {}
    found: dict[str, log_tail.RunStarted | log_tail.RunEnded] = {}
    for part in _STATUSES:
        for one in _listed(status, part):
            run = int(one.get("restartCount", 0))
            state: Json = one.get("state") or {}
            earlier: Json = one.get("lastState") or {}
            ended: Json | None = state.get("terminated") or earlier.get("terminated")
            if "running" in state:
                found[one["name"]] = log_tail.RunStarted(run)
            elif ended is not None:
                last = "waiting" not in state and _is_last(pod, part, one["name"], ended.get("exitCode") == 0)
                found[one["name"]] = log_tail.RunEnded(run, last)
    return found


def _is_last(pod: Json, part: str, name: str, succeeded: bool) -> bool:
    """Whether a container that has ended will not be started again."""
    status: Json = pod.get("status") or {}
    policy = pod["spec"].get("restartPolicy", "Always")
    if status.get("phase") in ENDED or policy == "Never" or part == "ephemeralContainerStatuses":
        return True
    if part == "initContainerStatuses":
        sidecars = [one["name"] for one in _listed(pod["spec"], "initContainers") if "restartPolicy" in one]
        return succeeded and name not in sidecars
    return policy == "OnFailure" and succeeded


def _listed(part: Json, name: str) -> list[Json]:
    found: list[Json] = part.get(name) or []
    return found

"""The runs of containers in the status of a pod, as events of the machine that reads a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubeproto.watching import log_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    Json = dict[str, Any]

# In kubectl's order: init containers first.
_SPEC_FIELDS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUS_FIELDS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
# The phases in which no container of a pod will run again.
FINISHED_PHASES: Final = ("Succeeded", "Failed")
_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"


def containers_of(pod: Json, container: str, *, all_containers: bool) -> Sequence[str]:
    """Return the names of the containers to read: the named container, all, or the default container."""
    names = [str(spec["name"]) for field in _SPEC_FIELDS for spec in _list_at(pod["spec"], field)]
    if container:
        return [container] if container in names else []
    return names if all_containers else [_default_container(pod)]


def _default_container(pod: Json) -> str:
    """Return the container that the annotation names, or the first container."""
    names = [str(spec["name"]) for spec in _list_at(pod["spec"], "containers")]
    annotations: Json = pod["metadata"].get("annotations") or {}
    annotated = str(annotations.get(_DEFAULT_CONTAINER, ""))
    return annotated if annotated in names else names[0]


def events_of_runs(pod: Json) -> dict[str, log_tail.RunStarted | log_tail.RunEnded]:
    """Return an event for each container that has run, about its current or last run."""
    status: Json = pod.get("status") or {}
    events: dict[str, log_tail.RunStarted | log_tail.RunEnded] = {}
    for field in _STATUS_FIELDS:
        for container in _list_at(status, field):
            name = container["name"]
            run = int(container.get("restartCount", 0))
            state: Json = container.get("state") or {}
            last_state: Json = container.get("lastState") or {}
            terminated: Json | None = state.get("terminated") or last_state.get("terminated")
            if "running" in state:
                events[name] = log_tail.RunStarted(run)
            elif terminated is not None:
                succeeded = terminated.get("exitCode") == 0
                is_last = "waiting" not in state and not _will_restart(pod, field, name, succeeded)
                events[name] = log_tail.RunEnded(run, is_last)
    return events


def _will_restart(pod: Json, status_field: str, name: str, succeeded: bool) -> bool:
    """Return whether a container that has ended will be started again."""
    status: Json = pod.get("status") or {}
    policy = pod["spec"].get("restartPolicy", "Always")
    if (
        status.get("phase") in FINISHED_PHASES
        or policy == "Never"
        or status_field == "ephemeralContainerStatuses"
    ):
        return False
    if status_field == "initContainerStatuses":
        init_containers = _list_at(pod["spec"], "initContainers")
        sidecars = [container["name"] for container in init_containers if "restartPolicy" in container]
        return not succeeded or name in sidecars
    return not (policy == "OnFailure" and succeeded)


def _list_at(obj: Json, field: str) -> list[Json]:
    values: list[Json] = obj.get(field) or []
    return values

"""When a rollout is complete: the checks of ``kubectl rollout status``, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubeproto import KubeprotoError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ConditionUnreachable(KubeprotoError):
    """A condition that is waited for will never hold: the job has failed, or the rollout timed out."""


def rollout(obj: Mapping[str, Any]) -> str:
    """Return what a rollout still lacks; empty if it is complete."""
    kind = obj.get("kind")
    status: Mapping[str, Any] = obj.get("status") or {}
    spec: Mapping[str, Any] = obj.get("spec") or {}
    match kind:
        case "Deployment":
            tell = _deployment
        case "StatefulSet":
            tell = _stateful_set
        case "DaemonSet":
            tell = _daemon_set
        case _:
            raise ConditionUnreachable(f"a {kind or 'thing without a kind'} has no rollout")
    generation, seen = obj["metadata"].get("generation", 0), status.get("observedGeneration", 0)
    if seen < generation:
        return f"generation {generation} has not been seen by its controller"
    return tell(spec, status)


def _deployment(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Progressing" and condition.get("reason") == "ProgressDeadlineExceeded":
            raise ConditionUnreachable(
                f"the deployment has exceeded its progress deadline: {condition.get('message', '')}"
            )
    wanted, updated = spec.get("replicas", 1), status.get("updatedReplicas", 0)
    replicas, available = status.get("replicas", 0), status.get("availableReplicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} replicas are updated"
    if replicas > updated:
        return f"{replicas - updated} old replicas are still there"
    if available < updated:
        return f"{available} of {updated} updated replicas are available"
    return ""


def _stateful_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    strategy: Mapping[str, Any] = _rolling(spec.get("updateStrategy"))
    if not status.get("observedGeneration"):
        return "its controller has not seen it"
    wanted, ready, updated = (
        spec.get("replicas", 1),
        status.get("readyReplicas", 0),
        status.get("updatedReplicas", 0),
    )
    if ready < wanted:
        return f"{ready} of {wanted} replicas are ready"
    rolling: Mapping[str, Any] = strategy.get("rollingUpdate") or {}
    partition = rolling.get("partition")
    if partition is not None:
        if updated < wanted - partition:
            return f"{updated} of {wanted - partition} replicas are updated"
        return ""
    if status.get("updateRevision") != status.get("currentRevision"):
        return f"{updated} of {wanted} replicas have revision {status.get('updateRevision')}"
    return ""


def _daemon_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    _rolling(spec.get("updateStrategy"))
    wanted, updated = status.get("desiredNumberScheduled", 0), status.get("updatedNumberScheduled", 0)
    available = status.get("numberAvailable", 0)
    if updated < wanted:
        return f"{updated} of {wanted} nodes are updated"
    if available < wanted:
        return f"{available} of {wanted} nodes have an available pod"
    return ""


def _rolling(strategy: Any) -> Mapping[str, Any]:
    """Return the strategy, if it is one that ends by itself."""
    found: Mapping[str, Any] = strategy or {}
    if found.get("type", "RollingUpdate") != "RollingUpdate":
        raise ConditionUnreachable(
            f"the update strategy is {found['type']}: pods change when somebody deletes them"
        )
    return found

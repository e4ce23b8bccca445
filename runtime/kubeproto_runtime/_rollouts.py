"""Checks whether a rollout is complete, as ``kubectl rollout status`` does and in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubeproto import KubeprotoError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ConditionUnreachable(KubeprotoError):
    """A condition that a program waits for will never hold: the job failed, or the rollout timed out."""


def missing_of_rollout(obj: Mapping[str, Any]) -> str:
    """Return the reason why a rollout is not complete; empty if it is complete."""
    kind = obj.get("kind")
    status: Mapping[str, Any] = obj.get("status") or {}
    spec: Mapping[str, Any] = obj.get("spec") or {}
    match kind:
        case "Deployment":
            check = _check_deployment
        case "StatefulSet":
            check = _check_stateful_set
        case "DaemonSet":
            check = _check_daemon_set
        case _:
            subject = f"a {kind}" if kind else "an object without a kind"
            raise ConditionUnreachable(f"{subject} has no rollout")
    generation, observed = obj["metadata"].get("generation", 0), status.get("observedGeneration", 0)
    if observed < generation:
        return f"its controller has not observed generation {generation}"
    return check(spec, status)


def _check_deployment(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Progressing" and condition.get("reason") == "ProgressDeadlineExceeded":
            raise ConditionUnreachable(
                f"the deployment has exceeded its progress deadline: {condition.get('message', '')}"
            )
    desired, updated = spec.get("replicas", 1), status.get("updatedReplicas", 0)
    replicas, available = status.get("replicas", 0), status.get("availableReplicas", 0)
    if updated < desired:
        return f"{updated} of {desired} replicas are updated"
    if replicas > updated:
        return f"{replicas - updated} old replicas still exist"
    if available < updated:
        return f"{available} of {updated} updated replicas are available"
    return ""


def _check_stateful_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    strategy: Mapping[str, Any] = _require_rolling_update(spec.get("updateStrategy"))
    if not status.get("observedGeneration"):
        return "its controller has not observed it"
    desired, ready, updated = (
        spec.get("replicas", 1),
        status.get("readyReplicas", 0),
        status.get("updatedReplicas", 0),
    )
    if ready < desired:
        return f"{ready} of {desired} replicas are ready"
    rolling_update: Mapping[str, Any] = strategy.get("rollingUpdate") or {}
    partition = rolling_update.get("partition")
    if partition is not None:
        if updated < desired - partition:
            return f"{updated} of {desired - partition} replicas are updated"
        return ""
    if status.get("updateRevision") != status.get("currentRevision"):
        return f"{updated} of {desired} replicas have revision {status.get('updateRevision')}"
    return ""


def _check_daemon_set(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    _require_rolling_update(spec.get("updateStrategy"))
    desired, updated = status.get("desiredNumberScheduled", 0), status.get("updatedNumberScheduled", 0)
    available = status.get("numberAvailable", 0)
    if updated < desired:
        return f"{updated} of {desired} nodes are updated"
    if available < desired:
        return f"{available} of {desired} nodes have an available pod"
    return ""


def _require_rolling_update(update_strategy: Any) -> Mapping[str, Any]:
    """Return the update strategy; raise `ConditionUnreachable` unless its rollouts complete by themselves."""
    strategy: Mapping[str, Any] = update_strategy or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        raise ConditionUnreachable(
            f"the update strategy is {strategy['type']}: pods are updated only when somebody deletes them"
        )
    return strategy

"""The eviction subresource of a pod: a deletion that a PodDisruptionBudget may refuse."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.objects import Selector

from .._rejections import Rejection, bad_request, failure
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..nodes._pod_status import mark_disrupted
from ..reading._routes import Route
from ..storage._json_values import member, objects_in
from ..storage._storage import StoredRecord
from ..workloads.objects._replica_counts import required_healthy
from ..workloads.objects._status_conditions import is_ready, is_terminating
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit
from ._server_responses import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import CREATED, check_body, created_body, stored_object

Json = dict[str, Any]
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)


def evict_pod(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Delete a pod, unless a budget refuses that."""
    admitted = created_body(request, route, "policy_v1.Eviction", "policy/v1")
    body = admitted.obj
    if member(body, "metadata").get("namespace", route.namespace) != route.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if member(body, "metadata").get("name") != route.name:
        raise bad_request("name in URL does not match name in Eviction object")
    check_body(request, route, admitted)
    stored, served = stored_object(route), route.served
    options = msgspec.convert(body.get("deleteOptions") or {}, DeleteOptions)
    if request.query.get("dryRun") and not options.dry_run:
        options = msgspec.structs.replace(options, dry_run=["All"])
    pod: Json = msgspec.json.decode(stored.data)
    if not _disrupts_nothing(state, pod):
        _check_budgets(state, route, stored, pod, dry_run=bool(options.dry_run))
    # The dry run checks the preconditions first: marking the pod changes the version that they may name.
    delete(state, served, stored.key, stored.name, msgspec.structs.replace(options, dry_run=["All"]))
    if not options.dry_run:
        mark_disrupted(state, served, stored, "EvictionByEvictionAPI", "Eviction API: evicting")
        delete(state, served, stored.key, stored.name, _without_version(options))
    return body_response(201, msgspec.json.encode(CREATED) + b"\n", request, warnings)


def _without_version(options: DeleteOptions) -> DeleteOptions:
    if options.preconditions is None:
        return options
    preconditions = msgspec.structs.replace(options.preconditions, resource_version=None)
    return msgspec.structs.replace(options, preconditions=preconditions)


def _disrupts_nothing(state: ServerState, pod: Json) -> bool:
    """Return whether the eviction of a pod disrupts nothing: the pod has ended, or has not started."""
    phase = member(pod, "status").get("phase")
    if phase in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp"):
        return True
    # Without nodes all pods stay pending, and a test of budgets would never see a refusal.
    return phase == "Pending" and state.nodes is not None


def _check_budgets(
    state: ServerState, route: Route, stored: StoredRecord, pod: Json, *, dry_run: bool
) -> None:
    budgets = state.kinds.of_storage("poddisruptionbudgets.policy")
    assert budgets is not None  # a built-in kind
    matching_budgets = [
        (budget, obj)
        for budget in budgets.storage.objects.values()
        if budget.namespace == stored.namespace
        and (obj := msgspec.json.decode(budget.data))
        and _selects(obj, stored)
    ]
    if len(matching_budgets) > 1:
        raise Rejection(failure(500, _SEVERAL_BUDGETS, reason=""))
    for budget, obj in matching_budgets:
        status = member(obj, "status")
        if not status.get("observedGeneration"):
            _check_by_pods(state, route, obj)  # no controller maintains the status of budgets
        elif not (_costs_nothing(obj, pod) or member(pod, "status").get("phase") == "Pending"):
            _check_by_status(obj)
            if not dry_run:
                _consume_disruption(state, budgets, budget, stored.name)


def _selects(budget: Json, pod: StoredRecord) -> bool:
    selector = budget["spec"].get("selector")
    return selector is not None and Selector.from_object(selector).matches(pod.labels)


# Budgets with a status, which their controller maintains


def _costs_nothing(budget: Json, pod: Json) -> bool:
    """Return whether the eviction of a pod costs its budget nothing, because the pod is not ready."""
    if _is_healthy(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = member(budget, "status")
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _check_by_status(budget: Json) -> None:
    status, meta = member(budget, "status"), budget["metadata"]
    name = meta["name"]
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        message = f"The disruption budget {name} is still being processed by the server."
        raise Rejection(_refusal(message, retryAfterSeconds=10))
    if status.get("disruptionsAllowed", 0) <= 0:
        raise Rejection(_refusal(_denial_message(name, status)))


def _consume_disruption(state: ServerState, budgets: ServedKind, budget: StoredRecord, pod: str) -> None:
    """Take one disruption from a budget, before its controller has seen the deletion of the pod."""

    def change(obj: Json) -> None:
        status: Json = obj["status"]
        status["disruptionsAllowed"] -= 1
        status.setdefault("disruptedPods", {})[pod] = state.clock.stamp()

    edit(state, budgets, budget, change)


# Budgets without a status, because no controller runs: their pods are counted


def _check_by_pods(state: ServerState, route: Route, budget: Json) -> None:
    spec, meta = budget["spec"], budget["metadata"]
    pods = [
        msgspec.json.decode(pod.data)
        for pod in route.served.storage.objects.values()
        if pod.namespace == meta["namespace"] and _selects(budget, pod)
    ]
    healthy = sum(map(_is_healthy, pods)) if state.nodes is not None else len(pods)
    min_healthy = required_healthy(spec, len(pods))
    if healthy - 1 < min_healthy:
        raise Rejection(_refusal(_too_few_message(meta["name"], min_healthy, healthy)))


def _is_healthy(pod: Json) -> bool:
    return is_ready(pod) and not is_terminating(pod)


def _denial_message(name: str, status: Json) -> str:
    """Return the reason for which a budget allows no disruption."""
    condition = next(filter(_is_denial, objects_in(status, "conditions")), None)
    if condition is not None and condition.get("reason") == "SyncFailed":
        text = f"because it failed sync: {condition['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {text}"
    healthy, min_healthy = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if healthy <= min_healthy:
        return _too_few_message(name, min_healthy, healthy)
    text = f" ({condition.get('reason')}): {condition['message']}" if condition is not None else ""
    return f"The disruption budget {name} does not allow evicting pods currently{text}"


def _is_denial(condition: Json) -> bool:
    """Return whether a condition of a budget is a reason for a refusal."""
    allows = condition.get("type") != "DisruptionAllowed" or condition.get("status") != "False"
    return not allows and bool(condition.get("message"))


def _too_few_message(name: str, min_healthy: int, healthy: int) -> str:
    return f"The disruption budget {name} needs {min_healthy} healthy pods and has {healthy} currently"


def _refusal(message: str, **details: int) -> Json:
    causes = [{"reason": "DisruptionBudget", "message": message}]
    return failure(429, _REFUSED, {"causes": causes, **details})

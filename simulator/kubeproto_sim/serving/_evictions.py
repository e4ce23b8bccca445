"""The eviction subresource of a pod: a deletion that a PodDisruptionBudget may refuse."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.objects import Selector

from .._rejections import Rejection, bad_request, failure
from .._state import ServerState
from ..kinds._kinds import Served
from ..nodes._disruptions import mark_disrupted
from ..reading._routes import Route
from ..storage._json_values import listed, member
from ..storage._storage import Stored
from ..workloads.objects._replica_counts import resolve_percentage
from ..workloads.objects._status_conditions import is_ready, is_terminating
from ..writing._deletes import DeleteOptions, delete
from ..writing._edits import edit
from ._server_responses import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import CREATED, check_body, created_body, stored_object

Json = dict[str, Any]
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)


def eviction(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
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
    if not _needs_no_budget(state, pod):
        _ask_budget(state, route, stored, pod, dry_run=bool(options.dry_run))
    # The write that marks the pod gives it another version than the one that the caller may expect.
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


def _needs_no_budget(state: ServerState, pod: Json) -> bool:
    """Whether the eviction of a pod disrupts nothing: the pod has ended, or has not started."""
    phase = member(pod, "status").get("phase")
    if phase in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp"):
        return True
    # Where there are no nodes every pod is pending forever, and budgets could not be tried at all.
    return phase == "Pending" and state.nodes is not None


def _ask_budget(state: ServerState, route: Route, stored: Stored, pod: Json, *, dry_run: bool) -> None:
    budgets = state.kinds.of_storage("poddisruptionbudgets.policy")
    assert budgets is not None  # a kind of the server's own
    found = [
        (budget, obj)
        for budget in budgets.storage.objects.values()
        if budget.namespace == stored.namespace
        and (obj := msgspec.json.decode(budget.data))
        and _covers(obj, stored)
    ]
    if len(found) > 1:
        raise Rejection(failure(500, _SEVERAL, reason=""))
    for budget, obj in found:
        status = member(obj, "status")
        if not status.get("observedGeneration"):
            _check_pods(state, route, obj)  # no controller keeps the status of budgets
        elif not (_is_free(obj, pod) or member(pod, "status").get("phase") == "Pending"):
            _check_status(obj)
            if not dry_run:
                _count(state, budgets, budget, stored.name)


def _covers(budget: Json, pod: Stored) -> bool:
    selector = budget["spec"].get("selector")
    return selector is not None and Selector.from_object(selector).matches(pod.labels)


# Decided by the status of the budget, as on a server


def _is_free(budget: Json, pod: Json) -> bool:
    """Whether the eviction of a pod costs its budget nothing, because the pod is not ready anyway."""
    if _is_healthy(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = member(budget, "status")
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _check_status(budget: Json) -> None:
    status, meta = member(budget, "status"), budget["metadata"]
    name = meta["name"]
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise Rejection(_refusal(why, retryAfterSeconds=10))
    if status.get("disruptionsAllowed", 0) <= 0:
        raise Rejection(_refusal(_why_not(name, status)))


def _count(state: ServerState, budgets: Served, budget: Stored, pod: str) -> None:
    """Take one disruption from a budget, before its controller has seen the deletion of the pod."""

    def change(obj: Json) -> None:
        status: Json = obj["status"]
        status["disruptionsAllowed"] -= 1
        status.setdefault("disruptedPods", {})[pod] = state.clock.stamp()

    edit(state, budgets, budget, change)


# Decided by the pods themselves, where no controller keeps the status


def _check_pods(state: ServerState, route: Route, budget: Json) -> None:
    spec, meta = budget["spec"], budget["metadata"]
    pods = [
        msgspec.json.decode(one.data)
        for one in route.served.storage.objects.values()
        if one.namespace == meta["namespace"] and _covers(budget, one)
    ]
    healthy = sum(map(_is_healthy, pods)) if state.nodes is not None else len(pods)
    if "minAvailable" in spec:
        needed = resolve_percentage(spec["minAvailable"], len(pods), round_up=True)
    else:
        needed = len(pods) - resolve_percentage(spec.get("maxUnavailable", 0), len(pods), round_up=True)
    if healthy - 1 < needed:
        raise Rejection(_refusal(_unmet(meta["name"], needed, healthy)))


def _is_healthy(pod: Json) -> bool:
    return is_ready(pod) and not is_terminating(pod)


def _why_not(name: str, status: Json) -> str:
    """Return why a budget allows no disruption."""
    found = (one for one in listed(status, "conditions") if one.get("type") == "DisruptionAllowed")
    condition = next((one for one in found if one.get("status") == "False" and one.get("message")), None)
    if condition is not None and condition.get("reason") == "SyncFailed":
        text = f"because it failed sync: {condition['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {text}"
    healthy, needed = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if healthy <= needed:
        return _unmet(name, needed, healthy)
    text = f" ({condition.get('reason')}): {condition['message']}" if condition is not None else ""
    return f"The disruption budget {name} does not allow evicting pods currently{text}"


def _unmet(name: str, needed: int, healthy: int) -> str:
    return f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"


def _refusal(why: str, **details: int) -> Json:
    causes = [{"reason": "DisruptionBudget", "message": why}]
    return failure(429, _REFUSED, {"causes": causes, **details})

"""The eviction subresource of a pod: a deletion that a PodDisruptionBudget may refuse."""

from __future__ import annotations

from typing import Any

import msgspec

from ...objects import Selector
from .._refusals import Rejection, failure
from .._state import ServerState
from ..reading._routes import Route
from ..storage._storage import Stored
from ..writing._deletes import DeleteOptions, delete
from ._messages import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import CREATED, read_body, stored_object


def eviction(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Delete a pod, unless a budget refuses that."""
    stored = stored_object(route)
    body = read_body(request, "policy_v1.Eviction")
    budgets = [
        (budget, obj)
        for budget in state.storage.resource("poddisruptionbudgets.policy").objects.values()
        if budget.namespace == stored.namespace
        and (obj := msgspec.json.decode(budget.data))
        and Selector.from_object(obj["spec"].get("selector") or {}).matches(stored.labels)
    ]
    if len(budgets) > 1:
        message = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
        raise Rejection(failure(500, message, reason=""))
    for budget, obj in budgets:
        _check_budget(state, route, budget, obj)
    options = msgspec.convert(body.get("deleteOptions") or {}, DeleteOptions)
    if request.query.get("dryRun") and not options.dry_run:
        options = msgspec.structs.replace(options, dry_run=["All"])
    delete(state, route.served, stored.key, stored.name, options)
    return body_response(201, msgspec.json.encode(CREATED) + b"\n", request, warnings)


def _check_budget(state: ServerState, route: Route, budget: Stored, obj: dict[str, Any]) -> None:
    spec = obj["spec"]
    pods = [
        one
        for one in route.served.storage.objects.values()
        if one.namespace == budget.namespace
        and Selector.from_object(spec.get("selector") or {}).matches(one.labels)
    ]
    healthy = len(pods)
    if "minAvailable" in spec:
        needed = _share(spec["minAvailable"], healthy)
    else:
        needed = healthy - _share(spec.get("maxUnavailable", 0), healthy)
    if healthy - 1 < needed:
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        cause = {
            "reason": "DisruptionBudget",
            "message": (
                f"The disruption budget {budget.name} needs {needed} healthy pods and has {healthy} currently"
            ),
        }
        raise Rejection(failure(429, message, {"causes": [cause]}))


def _share(value: int | str, of: int) -> int:
    """Return a number of pods, or a percentage of them, rounded up."""
    if isinstance(value, int):
        return value
    return -(-int(value.removesuffix("%")) * of // 100)

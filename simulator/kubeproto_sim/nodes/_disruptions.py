"""Why a pod is about to be deleted: the condition in its status."""

from __future__ import annotations

from typing import Any

from .._state import ServerState
from ..kinds._kinds import Served
from ..storage._storage import Stored
from ..writing._edits import edit
from ._pod_status import observed_generation, set_condition

Json = dict[str, Any]


def mark_disrupted(state: ServerState, pods: Served, stored: Stored, reason: str, message: str) -> None:
    """Record in a pod's status why it is about to be deleted."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}

    def change(pod: Json) -> None:
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        observed = observed_generation(pod, state.release)
        set_condition(conditions, observed | condition, state.clock.stamp())

    edit(state, pods, stored, change)

"""The status of PodDisruptionBudgets: how many pods may be disrupted, which evictions rely on.

A percentage such as 50% refers to the replicas of the controllers of the selected pods, so these need a
`scale`. A budget that cannot be computed allows no disruption, and its status contains the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubeproto.objects import Selector

from ..storage._json_values import member, objects_in, seconds_of
from ..storage._storage import StoredEvent
from .loops._control_loop import ControllerContext, ControlLoop, Listener
from .loops._controller_indexes import SelectorIndex
from .objects._object_client import Json
from .objects._ownership_claims import controller_of, key_of
from .objects._replica_counts import UnknownScale, required_healthy, scale_of
from .objects._status_conditions import condition, is_finished, is_ready

BUDGETS: Final = "poddisruptionbudgets.policy"
# An evicted pod that still exists after this many seconds counts as healthy again.
_EVICTION_TIMEOUT: Final = 120.0
_STALE_CONDITION_AGE: Final = 120.0
_ALLOWED: Final = "DisruptionAllowed"
_POD: Final = "pod:"


class DisruptionController(ControlLoop):
    """The controller of PodDisruptionBudgets. A key that begins with ``pod:`` is that of a pod."""

    name = "disruption-controller"
    component = "controllermanager"

    def __init__(self, context: ControllerContext) -> None:
        self._selectors = SelectorIndex()
        super().__init__(context)

    def listeners(self) -> Mapping[str, Listener]:
        return {BUDGETS: self._on_budget, "pods": self._on_pod}

    def sync(self, key: str) -> float | None:
        if key.startswith(_POD):
            return self._reset_stale_condition(key.removeprefix(_POD))
        budget = self.objects.get(BUDGETS, key)
        if budget is None:
            return None
        pods = self._pods_of(budget)
        if not pods:
            self.record(budget, "NoPods", "No matching pods found")
        try:
            expected, desired = self._expected_and_desired(budget, pods)
        except UnknownScale as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self.record(budget, "CalculateExpectedPodCountFailed", message, warning=True)
            self._fail_safe(budget, str(error))
            return None
        now = self.objects.now
        disrupted = self._disrupted_pods(budget, pods)
        healthy = sum(
            is_ready(pod) and pod["metadata"]["name"] not in disrupted
            for pod in pods
            if "deletionTimestamp" not in pod["metadata"]
        )
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        status: Json = {
            "observedGeneration": budget["metadata"].get("generation", 0),
            "disruptedPods": disrupted, "disruptionsAllowed": allowed, "currentHealthy": healthy,
            "desiredHealthy": desired, "expectedPods": expected,
        }  # fmt: skip
        if not disrupted:
            del status["disruptedPods"]
        verdict = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        status["conditions"] = self._conditions(budget, *verdict, "")
        self.objects.set_status(BUDGETS, key, status, self.user)
        timeouts = [seconds_of(time) + _EVICTION_TIMEOUT for time in disrupted.values()]
        # A millisecond later, because an eviction has timed out only after its last second.
        return max(min(timeouts) - now, 0.0) + 0.001 if timeouts else None

    def _expected_and_desired(self, budget: Json, pods: list[Json]) -> tuple[int, int]:
        """Return how many pods should exist, and how many of them must be healthy.

        Raise `UnknownScale` if that is unknown.
        """
        spec = budget["spec"]
        if "maxUnavailable" in spec:
            expected = self._total_scale(budget, pods)
        elif (min_available := spec.get("minAvailable")) is None:
            return 0, 0
        else:
            # Only a percentage refers to the replicas of the controllers.
            expected = self._total_scale(budget, pods) if isinstance(min_available, str) else len(pods)
        return expected, required_healthy(spec, expected)

    def _total_scale(self, budget: Json, pods: list[Json]) -> int:
        """Return the sum of the replicas of the controllers of these pods."""
        replicas: dict[str, int] = {}
        controller_uids: set[str] = set()
        has_unmanaged = False
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                has_unmanaged = True
            elif reference["uid"] not in controller_uids:
                controller_uids.add(reference["uid"])
                scale = scale_of(self.objects, reference, pod["metadata"]["namespace"])
                if scale is None:
                    raise UnknownScale(f'found no controllers for pod "{pod["metadata"]["name"]}"')
                uid, count = scale
                replicas[uid] = count
        if has_unmanaged:
            self._warn_about_unmanaged_pods(budget)
        return sum(replicas.values())

    def _disrupted_pods(self, budget: Json, pods: list[Json]) -> dict[str, str]:
        """Return the evicted pods that still exist, with the time of their eviction."""
        recorded: dict[str, str] = member(member(budget, "status"), "disruptedPods")
        remaining: dict[str, str] = {}
        for pod in pods:
            name: str = pod["metadata"]["name"]
            if name not in recorded or "deletionTimestamp" in pod["metadata"]:
                continue
            if seconds_of(recorded[name]) + _EVICTION_TIMEOUT < self.objects.now:
                namespace = budget["metadata"]["namespace"]
                # A real controller prints the namespace twice too.
                message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                self.record(pod, "NotDeleted", message, warning=True)
            else:
                remaining[name] = recorded[name]
        return remaining

    def _fail_safe(self, budget: Json, message: str) -> None:
        status = {**member(budget, "status"), "disruptionsAllowed": 0}
        for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
            status.setdefault(name, 0)
        status["conditions"] = self._conditions(budget, "False", "SyncFailed", message)
        self.objects.set_status(BUDGETS, key_of(budget), status, self.user)

    def _conditions(self, budget: Json, status: str, reason: str, message: str) -> list[Json]:
        current = condition(budget, _ALLOWED)
        if current is not None and current["status"] == status:
            transition = current["lastTransitionTime"]
        else:
            transition = self.objects.stamp
        generation = member(budget, "status").get("observedGeneration", 0)
        if reason != "SyncFailed":
            generation = budget["metadata"].get("generation", 0)
        allowed: Json = {"type": _ALLOWED, "status": status, "observedGeneration": generation}
        allowed |= {"lastTransitionTime": transition, "reason": reason, "message": message}
        if not generation:
            del allowed["observedGeneration"]
        conditions = objects_in(member(budget, "status"), "conditions")
        return [*(entry for entry in conditions if entry["type"] != _ALLOWED), allowed]

    def _pods_of(self, budget: Json) -> list[Json]:
        selector = budget["spec"].get("selector")
        if selector is None:
            return []
        return self.context.select_pods(budget["metadata"]["namespace"], Selector.from_object(selector))

    def _reset_stale_condition(self, key: str) -> float | None:
        """Reset DisruptionTarget of a pod that has not been disrupted for two minutes."""
        pod = self.objects.get("pods", key)
        target = condition(pod, "DisruptionTarget") if pod is not None else None
        if pod is None or target is None or target["status"] != "True" or is_finished(pod):
            return None
        if "deletionTimestamp" in pod["metadata"] or target.get("reason") == "TerminationByKubelet":
            return None
        age = self.objects.now - seconds_of(target["lastTransitionTime"])
        if age < _STALE_CONDITION_AGE:
            return _STALE_CONDITION_AGE - age
        stamp = self.objects.stamp

        def change(obj: Json) -> None:
            for entry in obj["status"]["conditions"]:
                if entry["type"] == "DisruptionTarget":
                    entry |= {"status": "False", "lastTransitionTime": stamp}
                    entry.pop("reason", None)
                    entry.pop("message", None)

        self.objects.update("pods", key, change, self.user, "status")
        return None

    def _on_budget(self, event: StoredEvent) -> None:
        key = event.stored.key
        budget = self.objects.get(BUDGETS, key) if event.change != "DELETED" else None
        selector = budget["spec"].get("selector") if budget is not None else None
        if selector is None:
            self._selectors.drop(key)
        else:
            self._selectors.put(key, event.stored.namespace, Selector.from_object(selector))
        self.enqueue(key)

    def _on_pod(self, event: StoredEvent) -> None:
        namespace = event.stored.namespace
        for stored in (event.stored, event.previous):
            if stored is not None:
                for key in self._selectors.matching(namespace, stored.labels):
                    self.enqueue(key)
        if event.change != "DELETED" and b'"DisruptionTarget"' in event.stored.data:
            self.enqueue(_POD + event.stored.key)

    def _warn_about_unmanaged_pods(self, budget: Json) -> None:
        selector = _go_label_selector(budget["spec"].get("selector") or {})
        message = (
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As"
            " a result, the status of the PDB cannot be calculated correctly, which may result in undefined"
            ' behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an'
            " integer value."
        )
        self.record(budget, "UnmanagedPods", message, warning=True)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, DisruptionController):
            self._selectors = other._selectors.copy()


def _go_label_selector(selector: Json) -> str:
    """Return a selector in the form in which Go prints it."""
    labels = "".join(f"{name}: {value}," for name, value in sorted(member(selector, "matchLabels").items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{expression['key']},Operator:{expression['operator']},"
        f"Values:[{' '.join(expression.get('values') or ())}],}},"
        for expression in objects_in(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )

"""The status of PodDisruptionBudgets: how many pods may be disrupted, which evictions rely on.

A percentage such as 50% is one of the pods that the controllers of the selected pods want, so these need a
`scale`. A budget that cannot be counted allows nothing, and its status tells why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubeproto.objects import Selector

from ..storage._json_values import listed, member, seconds_of
from ..storage._storage import StoredEvent
from .facts._amounts import share
from .facts._objects import Json
from .facts._ownership import controller_of, key_of
from .facts._pods import condition, is_finished, is_ready
from .facts._scales import scale_of
from .loops._indexes import SelectorIndex
from .loops._loop import ControlLoop, Listener, Shared

BUDGETS: Final = "poddisruptionbudgets.policy"
_DELETED_WITHIN: Final = 120.0  # seconds after which an evicted pod that still exists counts again
_STALE_AFTER: Final = 120.0
_ALLOWED: Final = "DisruptionAllowed"
_POD: Final = "pod:"


class Uncountable(Exception):
    """The number of pods that should exist is unknown."""


class Disruption(ControlLoop):
    """The controller of PodDisruptionBudgets."""

    name = "disruption-controller"
    component = "controllermanager"

    def __init__(self, shared: Shared) -> None:
        self._selectors = SelectorIndex()
        super().__init__(shared)

    def follows(self) -> Mapping[str, Listener]:
        return {BUDGETS: self._on_budget, "pods": self._on_pod}

    def sync(self, key: str) -> float | None:
        if key.startswith(_POD):
            return self._reset_stale(key.removeprefix(_POD))
        budget = self.objects.get(BUDGETS, key)
        if budget is None:
            return None
        pods = self._pods_of(budget)
        if not pods:
            self._record(budget, "NoPods", "No matching pods found")
        try:
            expected, desired = self._expected(budget, pods)
        except Uncountable as why:
            said = f"Failed to calculate the number of expected pods: {why}"
            self._record(budget, "CalculateExpectedPodCountFailed", said, warning=True)
            self._fail_safe(budget, str(why))
            return None
        now = self.objects.now
        disrupted = self._disrupted(budget, pods)
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
        said_of = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        status["conditions"] = self._conditions(budget, *said_of, "")
        self.objects.set_status(BUDGETS, key, status, self.user)
        ends = [seconds_of(at) + _DELETED_WITHIN for at in disrupted.values()]
        return max(min(ends) - now, 0.0) + 0.001 if ends else None

    def _expected(self, budget: Json, pods: list[Json]) -> tuple[int, int]:
        """Return how many pods should exist, and how many of them must be healthy."""
        spec = budget["spec"]
        if "maxUnavailable" in spec:
            expected = self._scale(budget, pods)
            return expected, max(expected - share(spec["maxUnavailable"], expected, up=True), 0)
        if isinstance(least := spec.get("minAvailable"), str):
            expected = self._scale(budget, pods)
            return expected, share(least, expected, up=True)
        return (0, 0) if least is None else (len(pods), int(least))

    def _scale(self, budget: Json, pods: list[Json]) -> int:
        """Return how many pods the controllers of these pods want."""
        wanted: dict[str, int] = {}
        seen: set[str] = set()
        unmanaged = False
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged = True
            elif reference["uid"] not in seen:
                seen.add(reference["uid"])
                found = scale_of(self.objects, reference, pod["metadata"]["namespace"])
                if isinstance(found, str):
                    raise Uncountable(found)
                if found is None:
                    raise Uncountable(f'found no controllers for pod "{pod["metadata"]["name"]}"')
                wanted[found[0]] = found[1]
        if unmanaged:
            self._complain_of_unmanaged(budget)
        return sum(wanted.values())

    def _disrupted(self, budget: Json, pods: list[Json]) -> dict[str, str]:
        """Return the evicted pods that still exist, with the time of their eviction."""
        known: dict[str, str] = member(member(budget, "status"), "disruptedPods")
        left: dict[str, str] = {}
        for pod in pods:
            name: str = pod["metadata"]["name"]
            if name not in known or "deletionTimestamp" in pod["metadata"]:
                continue
            if seconds_of(known[name]) + _DELETED_WITHIN < self.objects.now:
                namespace = budget["metadata"]["namespace"]
                said = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                self._record(pod, "NotDeleted", said, warning=True)
            else:
                left[name] = known[name]
        return left

    def _fail_safe(self, budget: Json, why: str) -> None:
        status = {**member(budget, "status"), "disruptionsAllowed": 0}
        for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
            status.setdefault(name, 0)
        status["conditions"] = self._conditions(budget, "False", "SyncFailed", why)
        self.objects.set_status(BUDGETS, key_of(budget), status, self.user)

    def _conditions(self, budget: Json, status: str, reason: str, message: str) -> list[Json]:
        known = listed(member(budget, "status"), "conditions")
        since = next(
            (
                one["lastTransitionTime"]
                for one in known
                if one["type"] == _ALLOWED and one["status"] == status
            ),
            self.objects.stamp,
        )
        generation = member(budget, "status").get("observedGeneration", 0)
        if reason != "SyncFailed":
            generation = budget["metadata"].get("generation", 0)
        made: Json = {"type": _ALLOWED, "status": status, "observedGeneration": generation}
        made |= {"lastTransitionTime": since, "reason": reason, "message": message}
        if not generation:
            del made["observedGeneration"]
        others = [one for one in known if one["type"] != _ALLOWED]
        return [*others, made]

    def _pods_of(self, budget: Json) -> list[Json]:
        selector = budget["spec"].get("selector")
        if selector is None:
            return []
        chosen, namespace = Selector.from_object(selector), budget["metadata"]["namespace"]
        found: list[Json] = []
        for key in self.shared.labels["pods"].candidates(namespace, chosen):
            stored = self.objects.stored("pods", key)
            if stored is not None and chosen.matches(stored.labels or {}):
                pod = self.objects.get("pods", key)
                if pod is not None:
                    found.append(pod)
        return found

    def _reset_stale(self, key: str) -> float | None:
        """Reset the condition of a pod that was to be disrupted and has not been for two minutes."""
        pod = self.objects.get("pods", key)
        found = condition(pod, "DisruptionTarget") if pod is not None else None
        if pod is None or found is None or found["status"] != "True" or is_finished(pod):
            return None
        if "deletionTimestamp" in pod["metadata"] or found.get("reason") == "TerminationByKubelet":
            return None
        left = _STALE_AFTER - (self.objects.now - seconds_of(found["lastTransitionTime"]))
        if left > 0:
            return left
        stamp = self.objects.stamp

        def change(obj: Json) -> None:
            for one in obj["status"]["conditions"]:
                if one["type"] == "DisruptionTarget":
                    one |= {"status": "False", "lastTransitionTime": stamp}
                    one.pop("reason", None)
                    one.pop("message", None)

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
        for stored in (event.stored, event.before):
            if stored is not None:
                for key in self._selectors.matching(namespace, stored.labels):
                    self.enqueue(key)
        if event.change != "DELETED" and b'"DisruptionTarget"' in event.stored.data:
            self.enqueue(_POD + event.stored.key)

    def _complain_of_unmanaged(self, budget: Json) -> None:
        selector = _as_go_prints(budget["spec"].get("selector") or {})
        said = (
            f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As"
            " a result, the status of the PDB cannot be calculated correctly, which may result in undefined"
            ' behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an'
            " integer value."
        )
        self._record(budget, "UnmanagedPods", said, warning=True)

    def _record(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        self.shared.recorder.record(about, reason, message, self.component, warning=warning)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, Disruption):
            self._selectors = other._selectors.copy()


def _as_go_prints(selector: Json) -> str:
    """Return a selector as it is printed in the messages of a real controller."""
    labels = "".join(f"{name}: {value}," for name, value in sorted(member(selector, "matchLabels").items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in listed(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )

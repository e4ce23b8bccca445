"""One sync of a DaemonSet: pods are created on nodes without a pod, and surplus and old pods are deleted."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import copy_json
from kubeproto.wire import exponential_backoff

from ..._rejections import Rejection
from ...storage._json_values import member
from ..loops._control_loop import sooner
from ..loops._controller_revisions import POD_HASH_LABEL
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl, is_namespace_terminating, pod_from, slow_start_batches
from ..objects._object_client import Json
from ..objects._status_conditions import (
    age_order,
    available_at,
    is_available,
    is_finished,
    is_ready,
    is_terminating,
    phase,
)
from ._daemonset_nodes import fits, node_of, pin, with_tolerations

_BURST: Final = 250
_GENERATION: Final = "deprecated.daemonset.template.generation"
_POD_GENERATION: Final = "pod-template-generation"
_INITIAL_BACKOFF: Final = 1.0
_MAX_BACKOFF: Final = 900.0
_NODES: Final = "nodes"
# Counts that a status contains even if they are 0.
_REQUIRED_COUNTS: Final = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
)  # fmt: skip
FailureHistory = dict[str, tuple[int, float]]
"""How often the pods of a set failed on a node, and when last."""


class DaemonSetSync:
    """A DaemonSet with the nodes of the cluster, during one sync."""

    def __init__(
        self,
        loop: OwnerLoop,
        pod_control: PodControl,
        failures: FailureHistory,
        daemonset: Json,
        current: Json,
    ) -> None:
        self._loop = loop
        self._pod_control = pod_control
        self._failures = failures
        self._objects = loop.objects
        self._daemonset = daemonset
        self._hash: str = current["metadata"]["labels"][POD_HASH_LABEL]
        self._template = with_tolerations(daemonset["spec"]["template"])
        self._min_ready: int = daemonset["spec"].get("minReadySeconds", 0)
        storage = loop.objects.state.storage.resource(_NODES)
        nodes = (loop.objects.get(_NODES, name) for name in storage.sorted_keys())
        # For each node, whether a pod should run there, and whether a running pod may stay.
        self._fits = {
            node["metadata"]["name"]: fits(self._template, node) for node in nodes if node is not None
        }
        self.desired = sum(should_run for should_run, _ in self._fits.values())
        self.delay: float | None = None

    def manage(self) -> None:
        """Run a pod on each node that fits, and on no other."""
        by_node = self._pods_by_node()
        lacking: list[str] = []
        doomed: list[Json] = []
        for node, (should_run, may_stay) in self._fits.items():
            pods = by_node.get(node)
            if should_run and pods is None:
                lacking.append(node)
            elif may_stay and pods is not None:
                running = self._running_pods(node, pods, doomed)
                if not self._has_surge():
                    doomed += sorted(running, key=_seniority)[1:]
                elif not running and should_run:
                    lacking.append(node)
                else:
                    self._keep_two_revisions(running, doomed)
            elif pods is not None:
                doomed += [pod for pod in pods if not is_terminating(pod)]
        for node, pods in by_node.items():
            if node not in self._fits:
                doomed += [pod for pod in pods if not pod["spec"].get("nodeName")]
        self._write_pods(doomed, lacking)

    def roll(self, max_surge: int, max_unavailable: int) -> None:
        """Replace pods of older revisions, as many at a time as the limits allow."""
        by_node = self._pods_by_node()
        for node, (should_run, _) in self._fits.items():
            if should_run:
                by_node.setdefault(node, [])
        if max_surge:
            self._roll_with_surge(by_node, max_surge)
        else:
            self._roll_in_place(by_node, max_unavailable)

    def status(self) -> Json:
        """Return the status that follows from the nodes and pods."""
        by_node, now = self._pods_by_node(), self._objects.now
        names = ("currentNumberScheduled", "numberMisscheduled", "numberReady", "updatedNumberScheduled",
                 "numberAvailable")  # fmt: skip
        counts = dict.fromkeys(names, 0)
        for node, (should_run, _) in self._fits.items():
            pods = by_node.get(node)
            if not pods:
                continue
            if not should_run:
                counts["numberMisscheduled"] += 1
                continue
            senior = min(pods, key=_seniority)
            counts["currentNumberScheduled"] += 1
            counts["numberReady"] += is_ready(senior)
            counts["numberAvailable"] += is_available(senior, self._min_ready, now)
            counts["updatedNumberScheduled"] += self._is_updated(senior)
            # The newer of two pods as well: once it is available, the older pod is deleted.
            for pod in pods:
                available = available_at(pod, self._min_ready)
                if available is not None and available > now:
                    self.delay = sooner(self.delay, available - now)
        counts |= {"desiredNumberScheduled": self.desired}
        counts["numberUnavailable"] = self.desired - counts["numberAvailable"]
        status: Json = {name: count for name, count in counts.items() if count or name in _REQUIRED_COUNTS}
        previous = member(self._daemonset, "status")
        status |= {name: previous[name] for name in ("collisionCount", "conditions") if name in previous}
        return {**status, "observedGeneration": self._daemonset["metadata"].get("generation", 0)}

    # The pods of each node

    def _pods_by_node(self) -> dict[str, list[Json]]:
        by_node: dict[str, list[Json]] = {}
        for pod in self._loop.claimed(self._daemonset):
            if is_finished(pod) and is_terminating(pod):
                continue
            if node := node_of(pod):
                by_node.setdefault(node, []).append(pod)
        return by_node

    def _running_pods(self, node: str, pods: list[Json], doomed: list[Json]) -> list[Json]:
        """Return the running pods of a node; finished pods become `doomed`, failed ones after a backoff."""
        running: list[Json] = []
        for pod in pods:
            if is_terminating(pod):
                continue
            label = f"daemon pod {pod['metadata']['namespace']}/{pod['metadata']['name']} on node {node}"
            if phase(pod) == "Failed":
                if (remaining := self._remaining_backoff(node)) > 0:
                    self.delay = sooner(self.delay, remaining)
                    continue
                self._record("FailedDaemonPod", f"Found failed {label}, will try to kill it", warning=True)
                doomed.append(pod)
            elif phase(pod) == "Succeeded":
                self._record("SucceededDaemonPod", f"Found succeeded {label}, will try to delete it")
                doomed.append(pod)
            else:
                running.append(pod)
        return running

    def _remaining_backoff(self, node: str) -> float:
        """Return how long a failed pod stays on a node; a result of 0 doubles the next backoff."""
        now, meta = self._objects.now, self._daemonset["metadata"]
        generation = member(self._daemonset, "status").get("observedGeneration", 0)
        key = f"{meta['uid']}/{generation}/{node}"
        count, last_time = self._failures.get(key, (0, 0.0))
        backoff = exponential_backoff(count, initial=_INITIAL_BACKOFF, maximum=_MAX_BACKOFF)
        if now - last_time > 2 * _MAX_BACKOFF:
            count, backoff = 0, 0.0
        if now - last_time < backoff:
            return backoff - (now - last_time)
        self._failures[key] = (count + 1, now)
        return 0.0

    def _keep_two_revisions(self, running: list[Json], doomed: list[Json]) -> None:
        """Keep a new and an old pod of a node, and the old pod only until the new pod is available."""
        newest: Json | None = None
        oldest: Json | None = None
        if len(running) <= 1:
            return
        for pod in sorted(running, key=_seniority):
            if pod["metadata"].get("labels", {}).get(POD_HASH_LABEL) == self._hash:
                if newest is None:
                    newest = pod
                    continue
            elif oldest is None:
                oldest = pod
                continue
            doomed.append(pod)
        if newest is None or oldest is None:
            return
        if not is_ready(oldest) or self._is_available(newest):
            doomed.append(oldest)

    # The replacement of old pods

    def _roll_in_place(self, by_node: dict[str, list[Json]], max_unavailable: int) -> None:
        unavailable = 0
        broken: list[Json] = []
        candidates: list[Json] = []
        for pods in by_node.values():
            new, old, is_ambiguous = self._new_and_old_pod(pods)
            if is_ambiguous or (old is None) == (new is None):
                unavailable += 1
            elif new is not None:
                unavailable += not self._is_available(new)
            elif old is not None and not self._is_available(old):
                broken.append(old)
                unavailable += 1
            elif old is not None and unavailable < max_unavailable:
                candidates.append(old)
        self._write_pods(broken + candidates[: max(max_unavailable - unavailable, 0)], [])

    def _roll_with_surge(self, by_node: dict[str, list[Json]], max_surge: int) -> None:
        doomed: list[Json] = []
        misplaced: list[Json] = []
        lacking: list[str] = []
        candidates: list[str] = []
        surplus = available = 0
        for node, pods in by_node.items():
            new, old, is_ambiguous = self._new_and_old_pod(pods)
            if is_ambiguous:
                surplus += 1
                continue
            senior = old or new
            available += senior is not None and self._is_available(senior)
            if old is None:
                continue
            should_run = self._fits.get(node, (False, False))[0]
            if new is None:
                if not self._is_available(old):
                    (lacking.append(node) if should_run else doomed.append(old))
                elif not should_run:
                    misplaced.append(old)
                elif surplus < max_surge:
                    candidates.append(node)
            elif self._is_available(new):
                doomed.append(old)
            else:
                surplus += 1
        doomed += misplaced[: max(available - self.desired, 0)]
        self._write_pods(doomed, lacking + candidates[: max(max_surge - surplus, 0)])

    def _new_and_old_pod(self, pods: list[Json]) -> tuple[Json | None, Json | None, bool]:
        """Return the new and the old pod of a node, and whether there are several of either."""
        staying = [pod for pod in pods if not is_terminating(pod)]
        new = [pod for pod in staying if self._is_updated(pod)]
        old = [pod for pod in staying if not self._is_updated(pod)]
        is_ambiguous = len(new) > 1 or len(old) > 1
        return new[0] if new else None, old[0] if old else None, is_ambiguous

    def _is_updated(self, pod: Json) -> bool:
        labels = pod["metadata"].get("labels", {})
        generation = self._template_generation()
        return labels.get(POD_HASH_LABEL) == self._hash or (
            generation is not None and labels.get(_POD_GENERATION) == generation
        )

    def _template_generation(self) -> str | None:
        text = member(self._daemonset["metadata"], "annotations").get(_GENERATION)
        return text if text is not None and text.isdecimal() else None

    def _is_available(self, pod: Json) -> bool:
        return is_available(pod, self._min_ready, self._objects.now)

    def _has_surge(self) -> bool:
        strategy = member(self._daemonset["spec"], "updateStrategy")
        if strategy.get("type") != "RollingUpdate":
            return False
        return member(strategy, "rollingUpdate").get("maxSurge") not in (None, 0, "0%")

    # Writes

    def _write_pods(self, doomed: list[Json], lacking: list[str]) -> None:
        """Create pods on the nodes that lack a pod, and delete the doomed pods.

        Raise `Rejection` if that fails.
        """
        rejection: Rejection | None = None
        start = 0
        for size in slow_start_batches(min(len(lacking), _BURST)):
            for node in lacking[start : start + size]:
                try:
                    self._pod_control.create(self._new_pod(node), self._daemonset)
                except Rejection as error:
                    rejection = None if is_namespace_terminating(error) else error
            start += size
            if rejection is not None:
                break
        for pod in doomed[:_BURST]:
            try:
                self._pod_control.delete(pod, self._daemonset)
            except Rejection as error:
                rejection = error
        if rejection is not None:
            raise rejection

    def _new_pod(self, node: str) -> Json:
        template: Json = copy_json(self._template)
        labels: dict[str, str] = template.setdefault("metadata", {}).setdefault("labels", {})
        if (generation := self._template_generation()) is not None:
            labels[_POD_GENERATION] = generation
        labels[POD_HASH_LABEL] = self._hash
        pin(template["spec"], node)
        return pod_from(template, self._daemonset)

    def _record(self, reason: str, message: str, *, warning: bool = False) -> None:
        self._loop.record(self._daemonset, reason, message, warning=warning)


def _seniority(pod: Json) -> tuple[bool, tuple[float, str]]:
    """Return a sort key for the pods of a node: bound pods first, and then the oldest."""
    return not pod["spec"].get("nodeName"), age_order(pod)

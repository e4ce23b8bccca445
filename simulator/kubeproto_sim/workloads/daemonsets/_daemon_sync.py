"""One sync of a DaemonSet: which nodes need a pod, which pods are deleted, and the status."""

from __future__ import annotations

from typing import Final, Protocol

from kubeproto.wire import exponential_backoff

from ..._rejections import Rejection
from ...storage._json_values import copied, member
from ..facts._objects import Json, Objects
from ..facts._pods import available_at, created, is_available, is_finished, is_ready, is_terminating, phase
from ..loops._history import POD_HASH
from ..loops._loop import Shared
from ..loops._pod_control import PodControl, is_namespace_going, pod_from, slow_start
from ._node_fit import fits, pin, target_of, with_tolerations

_BURST: Final = 250
_GENERATION: Final = "deprecated.daemonset.template.generation"
_POD_GENERATION: Final = "pod-template-generation"
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 900.0
_NODES: Final = "nodes"


class DaemonLoop(Protocol):
    """What a sync needs of the controller that runs it."""

    component: str
    objects: Objects
    shared: Shared
    pods: PodControl
    failures: dict[str, tuple[int, float]]

    def claimed(self, owner: Json) -> list[Json]:
        """Return the pods of an owner, after it has adopted and released pods as it should."""
        ...


class DaemonSync:
    """A DaemonSet with the nodes of the cluster, during one sync."""

    def __init__(self, loop: DaemonLoop, owner: Json, current: Json) -> None:
        self._loop = loop
        self._objects = loop.objects
        self.owner = owner
        self._hash: str = current["metadata"]["labels"][POD_HASH]
        self._template = with_tolerations(owner["spec"]["template"])
        self._min_ready: int = owner["spec"].get("minReadySeconds", 0)
        storage = loop.objects.state.storage.resource(_NODES)
        nodes = (loop.objects.get(_NODES, name) for name in storage.in_order())
        self._fits = {
            node["metadata"]["name"]: fits(self._template, node) for node in nodes if node is not None
        }
        self.wanted = sum(runs for runs, _ in self._fits.values())
        self.again: float | None = None

    def manage(self) -> None:
        """Run a pod on each node that fits, and on no other."""
        by_node = self._by_node()
        missing: list[str] = []
        doomed: list[Json] = []
        for node, (runs, stays) in self._fits.items():
            pods = by_node.get(node)
            if runs and pods is None:
                missing.append(node)
            elif stays and pods is not None:
                running = self._running(node, pods, doomed)
                if not self._surges():
                    doomed += sorted(running, key=_seniority)[1:]
                elif not running and runs:
                    missing.append(node)
                else:
                    self._thin_out(running, doomed)
            elif pods is not None:
                doomed += [pod for pod in pods if not is_terminating(pod)]
        for node, pods in by_node.items():
            if node not in self._fits:
                doomed += [pod for pod in pods if not pod["spec"].get("nodeName")]
        self._sync(doomed, missing)

    def roll(self, surge: int, unavailable: int) -> None:
        """Replace pods of older revisions, as many at a time as the limits allow."""
        by_node = self._by_node()
        for node, (runs, _) in self._fits.items():
            if runs:
                by_node.setdefault(node, [])
        if surge:
            self._roll_beside(by_node, surge)
        else:
            self._roll_in_place(by_node, unavailable)

    def status(self) -> Json:
        """Return the status that follows from the nodes and pods."""
        by_node, now = self._by_node(), self._objects.now
        names = ("currentNumberScheduled", "numberMisscheduled", "numberReady", "updatedNumberScheduled",
                 "numberAvailable")  # fmt: skip
        counts = dict.fromkeys(names, 0)
        for node, (runs, _) in self._fits.items():
            pods = by_node.get(node)
            if not pods:
                continue
            if not runs:
                counts["numberMisscheduled"] += 1
                continue
            pod = min(pods, key=_seniority)
            counts["currentNumberScheduled"] += 1
            counts["numberReady"] += is_ready(pod)
            counts["numberAvailable"] += is_available(pod, self._min_ready, now)
            counts["updatedNumberScheduled"] += self._is_updated(pod)
            # The newer of two pods as well: once it is available, it takes the place of the older.
            times = (available_at(one, self._min_ready) for one in pods)
            for at in (time for time in times if time is not None and time > now):
                self._look_again(at - now)
        counts |= {"desiredNumberScheduled": self.wanted}
        counts["numberUnavailable"] = self.wanted - counts["numberAvailable"]
        shown = {name: count for name, count in counts.items() if count or name in _ALWAYS}
        old = member(self.owner, "status")
        kept: Json = {name: old[name] for name in ("collisionCount", "conditions") if name in old}
        return {**shown, **kept, "observedGeneration": self.owner["metadata"].get("generation", 0)}

    # Which pods there are.

    def _by_node(self) -> dict[str, list[Json]]:
        found: dict[str, list[Json]] = {}
        for pod in self._loop.claimed(self.owner):
            if is_finished(pod) and is_terminating(pod):
                continue
            if node := target_of(pod):
                found.setdefault(node, []).append(pod)
        return found

    def _running(self, node: str, pods: list[Json], doomed: list[Json]) -> list[Json]:
        """Return the pods of a node that have not ended; the others are deleted, failed ones with a delay."""
        running: list[Json] = []
        for pod in pods:
            if is_terminating(pod):
                continue
            about = f"daemon pod {pod['metadata']['namespace']}/{pod['metadata']['name']} on node {node}"
            if phase(pod) == "Failed":
                if (left := self._backoff(node)) > 0:
                    self._look_again(left)
                    continue
                self._record("FailedDaemonPod", f"Found failed {about}, will try to kill it", warning=True)
                doomed.append(pod)
            elif phase(pod) == "Succeeded":
                self._record("SucceededDaemonPod", f"Found succeeded {about}, will try to delete it")
                doomed.append(pod)
            else:
                running.append(pod)
        return running

    def _backoff(self, node: str) -> float:
        """Return how long a failed pod stays on a node; 0 if it may go, which doubles the next wait."""
        now, meta = self._objects.now, self.owner["metadata"]
        seen = member(self.owner, "status").get("observedGeneration", 0)
        key = f"{meta['uid']}/{seen}/{node}"
        count, since = self._loop.failures.get(key, (0, 0.0))
        wait = exponential_backoff(count, initial=_FIRST_WAIT, maximum=_LONGEST_WAIT)
        if now - since > 2 * _LONGEST_WAIT:
            count, wait = 0, 0.0
        if now - since < wait:
            return wait - (now - since)
        self._loop.failures[key] = (count + 1, now)
        return 0.0

    def _thin_out(self, running: list[Json], doomed: list[Json]) -> None:
        """Keep one new and one old pod of a node, and the old one only until the new one is available."""
        newest: Json | None = None
        oldest: Json | None = None
        if len(running) <= 1:
            return
        for pod in sorted(running, key=_seniority):
            if pod["metadata"].get("labels", {}).get(POD_HASH) == self._hash:
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

    # Replacing them.

    def _roll_in_place(self, by_node: dict[str, list[Json]], unavailable: int) -> None:
        missing = 0
        broken: list[Json] = []
        candidates: list[Json] = []
        for pods in by_node.values():
            new, old, ambiguous = self._updated(pods)
            if ambiguous or (old is None) == (new is None):
                missing += 1
            elif new is not None:
                missing += not self._is_available(new)
            elif old is not None and not self._is_available(old):
                broken.append(old)
                missing += 1
            elif old is not None and missing < unavailable:
                candidates.append(old)
        self._sync(broken + candidates[: max(unavailable - missing, 0)], [])

    def _roll_beside(self, by_node: dict[str, list[Json]], surge: int) -> None:
        doomed: list[Json] = []
        misplaced: list[Json] = []
        allowed: list[str] = []
        candidates: list[str] = []
        surplus = available = 0
        for node, pods in by_node.items():
            new, old, ambiguous = self._updated(pods)
            if ambiguous:
                surplus += 1
                continue
            shown = old or new
            available += shown is not None and self._is_available(shown)
            if old is None:
                continue
            runs = self._fits.get(node, (False, False))[0]
            if new is None:
                if not self._is_available(old):
                    (allowed.append(node) if runs else doomed.append(old))
                elif not runs:
                    misplaced.append(old)
                elif surplus < surge:
                    candidates.append(node)
            elif self._is_available(new):
                doomed.append(old)
            else:
                surplus += 1
        doomed += misplaced[: max(available - self.wanted, 0)]
        self._sync(doomed, allowed + candidates[: max(surge - surplus, 0)])

    def _updated(self, pods: list[Json]) -> tuple[Json | None, Json | None, bool]:
        """Return the new and the old pod of a node, and whether there are several of either."""
        staying = [pod for pod in pods if not is_terminating(pod)]
        new = [pod for pod in staying if self._is_updated(pod)]
        old = [pod for pod in staying if not self._is_updated(pod)]
        ambiguous = len(new) > 1 or len(old) > 1
        return new[0] if new else None, old[0] if old else None, ambiguous

    def _is_updated(self, pod: Json) -> bool:
        labels = pod["metadata"].get("labels", {})
        generation = self._generation()
        return labels.get(POD_HASH) == self._hash or (
            generation is not None and labels.get(_POD_GENERATION) == generation
        )

    def _generation(self) -> str | None:
        text = member(self.owner["metadata"], "annotations").get(_GENERATION)
        return text if text is not None and text.isdecimal() else None

    def _is_available(self, pod: Json) -> bool:
        return is_available(pod, self._min_ready, self._objects.now)

    def _surges(self) -> bool:
        strategy = member(self.owner["spec"], "updateStrategy")
        if strategy.get("type") != "RollingUpdate":
            return False
        return member(strategy, "rollingUpdate").get("maxSurge") not in (None, 0, "0%")

    # What is written.

    def _sync(self, doomed: list[Json], missing: list[str]) -> None:
        failed: Rejection | None = None
        made = 0
        for batch in slow_start(min(len(missing), _BURST)):
            for node in missing[made : made + batch]:
                try:
                    self._loop.pods.create(self._new_pod(node), self.owner)
                except Rejection as refused:
                    failed = None if is_namespace_going(refused) else refused
            made += batch
            if failed is not None:
                break
        for pod in doomed[:_BURST]:
            try:
                self._loop.pods.delete(pod, self.owner)
            except Rejection as refused:
                failed = refused
        if failed is not None:
            raise failed

    def _new_pod(self, node: str) -> Json:
        template: Json = copied(self._template)
        labels: dict[str, str] = template.setdefault("metadata", {}).setdefault("labels", {})
        if (generation := self._generation()) is not None:
            labels[_POD_GENERATION] = generation
        labels[POD_HASH] = self._hash
        pin(template["spec"], node)
        return pod_from(template, self.owner)

    def _look_again(self, after: float) -> None:
        self.again = after if self.again is None else min(self.again, after)

    def _record(self, reason: str, message: str, *, warning: bool = False) -> None:
        recorder, component = self._loop.shared.recorder, self._loop.component
        recorder.record(self.owner, reason, message, component, warning=warning)


_ALWAYS: Final = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def _seniority(pod: Json) -> tuple[bool, tuple[float, str]]:
    """Return what the pods of a node are sorted by: those bound to it first, and then the oldest."""
    return not pod["spec"].get("nodeName"), created(pod)

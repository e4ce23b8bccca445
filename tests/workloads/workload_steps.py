"""Steps on a cluster with controllers, applied in the same way to a real and to a simulated cluster.

There is no kubelet: certain steps write the status that a kubelet would write. After each step the test waits
until the cluster is idle, and then summarizes all objects in the namespace.
"""

from __future__ import annotations

import json
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from kubeproto.objects import Selector

Json: TypeAlias = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
APPS: Final = "/apis/apps/v1"
BATCH: Final = "/apis/batch/v1"
POLICY: Final = "/apis/policy/v1"


class Send(Struct, frozen=True):
    """A request about an object of the namespace; `path` follows it after `api`."""

    method: str
    api: str
    path: str
    body: Any = None
    media: str = "application/json"


class Report(Struct, frozen=True):
    """Write the status of the first pods of a selector as a kubelet would: their phase, and whether they are
    ready.

    Only pods with another status are selected, the oldest first, or the pod with this name. `ip` is the
    prefix of the address.
    """

    count: int
    phase: str = "Running"
    ready: bool = True
    labels: Json = {}
    name: str = ""
    exit_code: int | None = None
    index: str | None = None
    ip: str = ""


class Remove(Struct, frozen=True):
    """Delete the first pods of a selector, or the pod with this name."""

    count: int
    labels: Json = {}
    name: str = ""


class Relabel(Struct, frozen=True):
    """Replace the labels of the first pod of a selector."""

    labels: Json
    to: Json


class RollBack(Struct, frozen=True):
    """Set the template of a Deployment to that of the ReplicaSet with a revision, as kubectl does."""

    name: str
    revision: int


class Wait(Struct, frozen=True):
    """Let time pass."""

    seconds: float


class Ask(Struct, frozen=True):
    """Any other request."""

    method: str
    target: str
    body: Any = None
    media: str = "application/json"


Step: TypeAlias = Ask | Send | Report | Remove | Relabel | RollBack | Wait


class Case(Struct, frozen=True):
    """Steps that are taken in turn in a separate namespace."""

    name: str
    steps: tuple[Step, ...]


class Cluster(Protocol):
    """A server with controllers."""

    def stamp(self) -> str:
        """Return the time as a kubelet would write it."""
        ...

    def send(
        self, method: str, target: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Any]:
        """Make a request; return the status and the decoded body."""
        ...

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        ...


def take(cluster: Cluster, namespace: str, step: Step) -> Any:
    """Take a step, and return the comparable part of its response."""
    match step:
        case Send(method, api, path, body, media):
            status, content = cluster.send(method, f"{api}/namespaces/{namespace}/{path}", body, media)
            return status if status < 400 else [status, content.get("reason"), content.get("message")]
        case Ask(method, target, body, media):
            return cluster.send(method, target, body, media)[0]
        case Report():
            _report(cluster, namespace, step)
            return None
        case Remove(count):
            names = [pod["metadata"]["name"] for pod in _pods(cluster, namespace, step)][:count]
            return sum(cluster.send("DELETE", f"{_target(namespace)}/{name}")[0] == 200 for name in names)
        case Relabel(labels, to):
            for pod in _pods(cluster, namespace, Remove(1, labels))[:1]:
                target = f"{_target(namespace)}/{pod['metadata']['name']}"
                return cluster.send("PATCH", target, {"metadata": {"labels": to}}, MERGE)[0]
            return None
        case RollBack(name, revision):
            return _roll_back(cluster, namespace, name, revision)
        case Wait(seconds):
            cluster.pass_time(seconds)
            return None


def pod_status(report: Report, names: list[str], now: str, number: int) -> Json:
    """Return the status that a kubelet would write."""
    ready = "True" if report.ready else "False"
    status: Json = {
        "phase": report.phase,
        "conditions": [
            {"type": kind, "status": ready, "lastTransitionTime": now}
            for kind in ("Ready", "ContainersReady")
        ],
    }
    if report.ip:
        ip = f"{report.ip}{number}"
        status |= {"podIP": ip, "podIPs": [{"ip": ip}]}
    if report.exit_code is not None:
        terminated = {"exitCode": report.exit_code, "startedAt": now, "finishedAt": now, "reason": "Ended"}
        status["containerStatuses"] = [
            {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0,
             "state": {"terminated": terminated}}
            for name in names
        ]  # fmt: skip
    return status


def _report(cluster: Cluster, namespace: str, report: Report) -> None:
    count = 0
    for pod in _pods(cluster, namespace, Remove(report.count, report.labels, report.name)):
        if report.index is not None and _index(pod) != report.index:
            continue
        if count == report.count or _phase_and_readiness(pod) == (report.phase, report.ready):
            continue
        names = [container["name"] for container in pod["spec"]["containers"]]
        status = pod_status(report, names, cluster.stamp(), count + 1)
        target = f"{_target(namespace)}/{pod['metadata']['name']}/status"
        code, response = cluster.send("PATCH", target, {"status": status}, MERGE)
        assert code in (200, 404), response  # 404: a controller has already deleted it
        count += 1


def _index(pod: Json) -> str:
    text: str = pod["metadata"].get("annotations", {}).get("batch.kubernetes.io/job-completion-index", "")
    return text


def _phase_and_readiness(pod: Json) -> tuple[str, bool]:
    status = pod.get("status", {})
    ready = any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in status.get("conditions", ())
    )
    if status.get("phase") in ("Succeeded", "Failed"):
        return status["phase"], ready
    return status.get("phase", "Pending"), ready


def _pods(cluster: Cluster, namespace: str, step: Remove) -> list[Json]:
    listed_pods: list[Json] = cluster.send("GET", _target(namespace))[1]["items"]
    selector = Selector.of(step.labels)
    pods = [
        pod
        for pod in listed_pods
        if "deletionTimestamp" not in pod["metadata"]
        and selector.matches(pod["metadata"].get("labels"))
        and step.name in ("", pod["metadata"]["name"])
    ]
    return sorted(pods, key=_sort_key)


def _sort_key(pod: Json) -> tuple[str, str, str]:
    """The oldest pod comes first. For a DaemonSet the node decides instead of the name, which is random."""
    meta = pod["metadata"]
    return meta["creationTimestamp"], json.dumps(pod["spec"].get("affinity"), sort_keys=True), meta["name"]


def _target(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def _roll_back(cluster: Cluster, namespace: str, name: str, revision: int) -> int:
    sets = cluster.send("GET", f"{APPS}/namespaces/{namespace}/replicasets")[1]["items"]
    for replicaset in sets:
        if replicaset["metadata"].get("annotations", {}).get("deployment.kubernetes.io/revision") == str(
            revision
        ):
            template = replicaset["spec"]["template"]
            del template["metadata"]["labels"]["pod-template-hash"]
            patch = [{"op": "replace", "path": "/spec/template", "value": template}]
            target = f"{APPS}/namespaces/{namespace}/deployments/{name}"
            return cluster.send("PATCH", target, patch, "application/json-patch+json")[0]
    return 0

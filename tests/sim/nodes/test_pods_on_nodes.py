"""Pods on simulated nodes: their lives as an observer of the API sees them, in virtual time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from nodes_rig import Rig, pod

import kubeproto_sim as sim
from kubeproto import LocalProtocolError, RawRequest
from kubeproto.kinds.core_v1 import Pod
from kubeproto.objects import decode


def test_a_pod_runs_and_is_ready_after_the_set_time_and_not_before() -> None:
    rig = Rig(ready_after=2)
    early_status = rig.run(until=1.5)["status"]
    assert early_status["phase"] == "Pending"
    assert early_status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert rig.condition("web", "Ready")["reason"] == "ContainersNotReady"
    assert "podIP" not in early_status
    rig.cluster.advance(0.5)
    status = rig.pod()["status"]
    assert status["phase"] == "Running"
    assert rig.container()["state"] == {"running": {"startedAt": "2026-01-01T00:00:02Z"}}
    assert (rig.container()["ready"], rig.container()["started"]) == (True, True)
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    assert (status["podIP"], status["hostIP"]) == ("10.244.1.3", "172.18.0.3")
    assert {condition["type"]: condition["status"] for condition in status["conditions"]} == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    assert rig.condition("web", "PodScheduled")["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert rig.condition("web", "Ready")["lastTransitionTime"] == "2026-01-01T00:00:02Z"


def test_every_status_fits_the_type_of_pods() -> None:
    rig = Rig(programs={"bad": sim.Program(takes=3, code=2)})
    rig.run(image="bad", restartPolicy="Never", initContainers=[{"name": "i", "image": "i"}])
    for _ in range(8):
        pod = decode(msgspec.json.encode(rig.pod()), Pod)
        assert pod.status is not None
        assert pod.status.phase in ("Pending", "Running", "Failed")
        rig.cluster.advance(1)
    assert rig.phase() == "Failed"


def test_a_readiness_probe_runs_after_its_initial_delay() -> None:
    rig = Rig(ready_after=1)
    rig.run(containers=[{"name": "web", "image": "nginx", "readinessProbe": {
        "initialDelaySeconds": 5, "httpGet": {"port": 80}}}])  # fmt: skip
    assert rig.phase() == "Running"
    assert rig.condition("web", "Ready")["status"] == "False"
    rig.cluster.advance(5)
    assert rig.condition("web", "Ready")["status"] == "True"


def test_init_containers_run_in_order_and_sidecars_continue() -> None:
    rig = Rig(ready_after=2, init_takes=3)
    always = {"name": "proxy", "image": "p", "restartPolicy": "Always"}
    inits = [{"name": "first", "image": "i"}, always, {"name": "second", "image": "i"}]
    rig.run(initContainers=inits)

    def states() -> list[str]:
        status = rig.pod()["status"]
        rows = status["initContainerStatuses"] + status["containerStatuses"]
        return [next(iter(row["state"])) for row in rows]

    assert states() == ["running", "waiting", "waiting", "waiting"]
    assert rig.condition("web", "Initialized")["message"] == (
        "containers with incomplete status: [first proxy second]"
    )
    rig.cluster.advance(3)
    assert states() == ["terminated", "running", "running", "waiting"]
    rig.cluster.advance(3)
    assert states() == ["terminated", "running", "terminated", "running"]
    assert rig.phase() == "Running"


def test_a_container_that_exits_is_restarted_and_backs_off() -> None:
    rig = Rig()
    rig.run()
    first = rig.container()["containerID"]
    rig.nodes.exit("web", 3, reason="OOMKilled")
    assert rig.container()["state"]["terminated"]["exitCode"] == 3
    assert rig.condition("web", "Ready")["status"] == "False"
    rig.cluster.advance(1)
    assert rig.container()["restartCount"] == 1
    assert rig.container()["lastState"]["terminated"]["reason"] == "OOMKilled"
    assert (
        rig.container()["lastState"]["terminated"]["containerID"] == first != rig.container()["containerID"]
    )
    rig.nodes.exit("web", 3)
    assert rig.container()["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert rig.phase() == "Running"
    rig.cluster.advance(10)
    assert rig.container()["restartCount"] == 2


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [("Never", 0, "Succeeded", 0), ("Never", 1, "Failed", 0), ("OnFailure", 0, "Succeeded", 0),
     ("OnFailure", 1, "Running", 1), ("Always", 0, "Running", 1), ("Always", 1, "Running", 1)],
)  # fmt: skip
def test_the_restart_policy_determines_the_state_after_an_exit(
    policy: str, code: int, phase: str, restarts: int
) -> None:
    rig = Rig()
    rig.run(restartPolicy=policy)
    rig.nodes.exit("web", code)
    rig.cluster.advance(1)
    assert (rig.phase(), rig.container()["restartCount"]) == (phase, restarts)


def test_the_pods_of_a_job_complete_after_a_set_time() -> None:
    rig = Rig(ready_after=1, jobs_take=4)
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    uid = rig.cluster.put(job)["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": True}
    rig.run(ownerReferences=[owner], restartPolicy="Never", until=4.5)
    assert rig.phase() == "Running"
    rig.cluster.advance(0.5)
    assert rig.phase() == "Succeeded"
    assert rig.condition("web", "Ready")["reason"] == "PodCompleted"


def test_a_program_decides_how_its_containers_end() -> None:
    rig = Rig(programs={"reg.io:5000/team/batch": sim.Program(takes=3, code=7)})
    rig.run(image="reg.io:5000/team/batch:v3@sha256:abc", restartPolicy="Never")
    rig.cluster.advance(3)
    assert rig.container()["state"]["terminated"]["exitCode"] == 7


def test_an_image_that_cannot_be_pulled_keeps_its_pod_waiting() -> None:
    rig = Rig(programs={"private": sim.Program(unpullable="not authorized")})
    rig.run(image="private")
    assert rig.container()["state"] == {
        "waiting": {"reason": "ImagePullBackOff", "message": "not authorized"}
    }
    assert rig.phase() == "Pending"


def test_a_deleted_pod_ends_with_its_grace_period() -> None:
    rig = Rig()
    rig.run(terminationGracePeriodSeconds=20)
    fetch_json(rig, "DELETE", "web")
    rig.cluster.advance(19)
    assert rig.pod()["metadata"]["deletionGracePeriodSeconds"] == 20
    assert rig.phase() == "Running"
    rig.cluster.advance(1)
    assert rig.cluster.get("v1/Pod", "web") is None


def test_a_pod_may_end_before_its_grace_period_and_reports_its_exit_code() -> None:
    rig = Rig(ends_after=2)
    rig.run(finalizers=["example.com/wait"])
    fetch_json(rig, "DELETE", "web")
    rig.cluster.advance(2)
    assert rig.phase() == "Succeeded"
    assert rig.container()["state"]["terminated"]["exitCode"] == 0
    assert rig.pod()["metadata"]["deletionGracePeriodSeconds"] == 0


def test_a_pod_that_is_killed_at_the_end_of_its_grace_has_failed() -> None:
    rig = Rig()
    rig.run(finalizers=["example.com/wait"], terminationGracePeriodSeconds=1)
    fetch_json(rig, "DELETE", "web")
    rig.cluster.advance(5)
    assert rig.phase() == "Failed"
    assert rig.container()["state"]["terminated"]["exitCode"] == 137


def test_a_deletion_without_grace_ends_a_pod_immediately() -> None:
    rig = Rig()
    rig.run()
    fetch_json(rig, "DELETE", "web?gracePeriodSeconds=0")
    assert rig.cluster.get("v1/Pod", "web") is None
    rig.cluster.settle()
    with pytest.raises(LocalProtocolError, match="is not on a simulated node"):
        rig.nodes.exit("web")


def test_a_pod_becomes_unready_and_ready_again() -> None:
    rig = Rig()
    rig.run()
    rig.cluster.advance(5)
    rig.nodes.set_ready("web", ready=False)
    condition = rig.condition("web", "Ready")
    assert (condition["status"], condition["lastTransitionTime"]) == ("False", "2026-01-01T00:00:06Z")
    assert rig.container()["ready"] is False
    rig.nodes.set_ready("web", ready=True)
    assert rig.condition("web", "Ready")["status"] == "True"


def test_a_readiness_gate_keeps_a_pod_unready_until_its_condition_is_true() -> None:
    rig = Rig()
    rig.run(readinessGates=[{"conditionType": "example.com/traffic"}])
    condition = rig.condition("web", "Ready")
    assert (condition["status"], condition["reason"]) == ("False", "ReadinessGatesNotReady")
    status = rig.pod()["status"]
    status["conditions"].append({"type": "example.com/traffic", "status": "True"})
    changed = rig.cluster.put(rig.pod() | {"status": status})
    assert changed
    rig.cluster.settle()
    assert rig.condition("web", "Ready")["status"] == "True"


def test_a_kubelet_evicts_a_pod() -> None:
    rig = Rig()
    rig.run()
    rig.nodes.evict("web", "The node was low on resource: ephemeral-storage.")
    status = rig.pod()["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "The node was low on resource: ephemeral-storage."


def test_the_active_deadline_ends_a_pod() -> None:
    rig = Rig(ready_after=1)
    rig.run(activeDeadlineSeconds=5, restartPolicy="Never")
    rig.cluster.advance(4)
    assert (rig.phase(), rig.pod()["status"]["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_resize_shows_in_the_status_of_the_container() -> None:
    rig = Rig()
    rig.run(containers=[{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "1"}}}])
    assert rig.container()["allocatedResources"] == {"cpu": "1"}
    patch = {"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "2"}}}]}}
    fetch_json(rig, "PATCH", "web/resize", patch)
    rig.cluster.settle()
    assert rig.container()["resources"] == {"requests": {"cpu": "2"}}
    assert rig.container()["allocatedResources"] == {"cpu": "2"}
    assert rig.pod()["status"]["observedGeneration"] == rig.pod()["metadata"]["generation"] == 2


def test_an_ephemeral_container_starts_immediately_and_is_never_restarted() -> None:
    rig = Rig()
    rig.run()
    patch = {"spec": {"ephemeralContainers": [{"name": "debugger", "image": "busybox"}]}}
    fetch_json(rig, "PATCH", "web/ephemeralcontainers", patch)
    rig.cluster.settle()
    (status,) = rig.pod()["status"]["ephemeralContainerStatuses"]
    assert (status["name"], list(status["state"])) == ("debugger", ["running"])
    rig.nodes.exit("web", container="debugger")
    rig.cluster.advance(60)
    (status,) = rig.pod()["status"]["ephemeralContainerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 1
    assert rig.phase() == "Running"


def test_an_exit_in_a_pod_with_several_containers_requires_a_name() -> None:
    rig = Rig()
    rig.run(containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}])
    with pytest.raises(LocalProtocolError, match="has the containers a, b: name one of them"):
        rig.nodes.exit("web")


def test_a_forked_cluster_continues_independently() -> None:
    rig = Rig(ready_after=2)
    rig.run(until=1)
    twin = rig.cluster.fork()
    twin.advance(1)
    pod = twin.get("v1/Pod", "web")
    assert pod is not None
    assert pod["status"]["phase"] == "Running"
    assert rig.phase() == "Pending"
    twin.nodes().exit("web")
    rig.cluster.advance(1)
    assert rig.container()["state"].keys() == {"running"}


def test_a_restored_cluster_continues_with_the_pods_that_ran() -> None:
    rig = Rig(ready_after=2)
    rig.run()
    rig.nodes.exit("web", 1)
    rig.cluster.advance(1)
    rig.run("young", until=1)
    snapshot = rig.cluster.snapshot()
    rig.cluster.restore(snapshot)
    rig.cluster.settle()
    assert (rig.phase("web"), rig.phase("young")) == ("Running", "Pending")
    rig.cluster.advance(2)
    assert rig.phase("young") == "Running"
    assert rig.container("web")["restartCount"] == 1
    rig.nodes.exit("web", 1)
    rig.cluster.advance(1)
    assert rig.container("web")["restartCount"] == 2


def test_pods_created_before_the_nodes_run_on_them() -> None:
    cluster = sim.Cluster()
    cluster.put(pod())
    cluster.settle()
    cluster.nodes(ready_after=1)
    cluster.advance(1)
    stored_pod = cluster.get("v1/Pod", "web")
    assert stored_pod is not None
    assert stored_pod["status"]["phase"] == "Running"
    with pytest.raises(LocalProtocolError, match="already has nodes"):
        cluster.nodes(ready_after=3)


def test_a_namespace_is_deleted_when_its_pods_have_ended() -> None:
    rig = Rig()
    web = pod(terminationGracePeriodSeconds=5)
    web["metadata"]["namespace"] = "shop"
    rig.cluster.put(web)
    rig.cluster.advance(2)
    fetch_json(rig, "DELETE", "/api/v1/namespaces/shop")
    rig.cluster.advance(4)
    assert rig.cluster.get("v1/Namespace", "shop") is not None
    rig.cluster.advance(1)
    assert rig.cluster.get("v1/Namespace", "shop") is None


def fetch_json(rig: Rig, method: str, target: str, body: Any = None) -> dict[str, Any]:
    path = target if target.startswith("/") else f"/api/v1/namespaces/default/pods/{target}"
    headers = (("Content-Type", "application/strategic-merge-patch+json"),) if body else ()
    answer = rig.cluster.respond(
        RawRequest(method, path, headers, msgspec.json.encode(body) if body else b"")
    )
    assert answer.status < 300, answer.body
    assert isinstance(answer.body, bytes)
    content: dict[str, Any] = msgspec.json.decode(answer.body)
    return content

"""Behaviour of controllers for which a real cluster needs time, nodes or many objects."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from deployment_cases import WEB, deployment, template

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

DEPLOYMENT, SETS, PODS, JOBS = "apps/v1/Deployment", "apps/v1/ReplicaSet", "v1/Pod", "batch/v1/Job"
SLICES = "discovery.k8s.io/v1/EndpointSlice"


def report(cluster: sim.Cluster, name: str, **status: Any) -> None:
    """Write the status of a pod as a kubelet would."""
    cluster.edit(PODS, name, lambda pod: pod["status"].update(status))


def names(cluster: sim.Cluster, kind: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in cluster.objects(kind)]


def get(cluster: sim.Cluster, kind: str, name: str) -> dict[str, Any]:
    obj = cluster.get(kind, name)
    assert obj is not None
    return obj


def test_recreate_waits_until_the_last_old_pod_has_ended() -> None:
    cluster = sim.Cluster(controllers=True)
    obj = deployment(replicas=1, strategy={"type": "Recreate"})
    obj["spec"]["template"]["spec"]["nodeName"] = "n"
    cluster.put(obj)
    cluster.settle()
    [old] = names(cluster, PODS)
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    cluster.put(obj)
    cluster.advance(29)  # the grace of a pod is thirty seconds
    assert names(cluster, PODS) == [old]
    assert len(names(cluster, SETS)) == 1
    cluster.advance(2)
    assert old not in names(cluster, PODS)
    assert len(names(cluster, PODS)) == 1
    assert len(names(cluster, SETS)) == 2


def service(**spec: Any) -> dict[str, Any]:
    ports = [{"port": 80, "targetPort": 8080}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"selector": WEB, "ports": ports, **spec}}  # fmt: skip


def put_pods(cluster: sim.Cluster, *numbers: int) -> None:
    for number in numbers:
        ip = f"10.0.{number // 250}.{number % 250 + 1}"
        cluster.put({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number:03}", "labels": WEB},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
                       "conditions": [{"type": "Ready", "status": "True"}]},
        })  # fmt: skip


def sizes(cluster: sim.Cluster) -> list[int]:
    return sorted(len(slice_.get("endpoints") or []) for slice_ in cluster.objects(SLICES))


def test_endpoints_fill_slices_of_a_hundred_and_ignore_other_slices() -> None:
    cluster = sim.Cluster(controllers=True)
    cluster.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {
        "topology.kubernetes.io/zone": "z1"}}})  # fmt: skip
    cluster.put(service())
    cluster.settle()
    assert sizes(cluster) == [0]
    put_pods(cluster, *range(230))
    cluster.settle()
    assert sizes(cluster) == [30, 100, 100]
    old_versions = {
        slice_["metadata"]["name"]: slice_["metadata"]["resourceVersion"]
        for slice_ in cluster.objects(SLICES)
    }
    put_pods(cluster, 230)
    cluster.settle()
    new_versions = {
        slice_["metadata"]["name"]: slice_["metadata"]["resourceVersion"]
        for slice_ in cluster.objects(SLICES)
    }
    assert sizes(cluster) == [31, 100, 100]
    assert len(set(old_versions.items()) & set(new_versions.items())) == 2
    [endpoint] = cluster.objects(SLICES)[0]["endpoints"][:1]
    assert endpoint["zone"] == "z1"
    for number in range(231):
        cluster.remove(PODS, f"p{number:03}")
    cluster.settle()
    assert sizes(cluster) == [0]


def test_a_pod_on_a_missing_node_waits_for_it() -> None:
    cluster = sim.Cluster(controllers=True)
    cluster.put(service())
    put_pods(cluster, 1)
    cluster.settle()
    assert sizes(cluster) == [0]
    cluster.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    cluster.settle()
    assert sizes(cluster) == [1]


def quota(**hard: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}


def test_a_write_charges_a_quota_immediately() -> None:
    cluster = sim.Cluster(controllers=True)
    cluster.put(quota(configmaps="2"))
    cluster.settle()
    cluster.controllers["resourcequota"].stop()
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    used = get(cluster, "v1/ResourceQuota", "q")["status"]["used"]["configmaps"]
    assert used == "1"  # the certificate of the cluster's authority
    cluster.put(config)
    config["metadata"]["name"] = "b"
    with pytest.raises(sim.Rejection) as refused:
        cluster.put(config)
    amounts = "requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    message = refused.value.status["message"]
    assert message == f'configmaps "b" is forbidden: exceeded quota: q, {amounts}'
    cluster.remove("v1/ConfigMap", "a")
    cluster.settle()
    with pytest.raises(sim.Rejection):
        cluster.put(config)
    cluster.controllers["resourcequota"].start()
    cluster.settle()
    cluster.put(config)


def test_a_refused_write_and_a_dry_run_charge_nothing() -> None:
    cluster = sim.Cluster(controllers=True)
    cluster.put(quota(pods="5"))
    cluster.settle()
    body = b'{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    pods = "/api/v1/namespaces/default/pods"
    headers = (("Content-Type", "application/json"),)
    assert cluster.respond(RawRequest("POST", f"{pods}?dryRun=All", headers, body)).status == 201
    assert cluster.respond(RawRequest("POST", pods, headers, body)).status == 201
    assert cluster.respond(RawRequest("POST", pods, headers, body)).status == 409
    assert get(cluster, "v1/ResourceQuota", "q")["status"]["used"] == {"pods": "1"}


def cron(**spec: Any) -> dict[str, Any]:
    work = {"template": template(labels={"app": "tick"}, restartPolicy="Never")}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
            "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": work}, **spec}}  # fmt: skip


def test_a_cron_job_starts_a_job_at_each_of_its_times() -> None:
    cluster = sim.Cluster(controllers=True)
    start = int(cluster.now)
    cluster.put(cron())
    for number in range(1, 4):
        time = start + number * 300
        cluster.advance_to(time)
        assert len(names(cluster, JOBS)) == number - 1
        cluster.advance_to(time + 0.2)
        assert f"tick-{time // 60}" in names(cluster, JOBS)


def test_a_cron_job_uses_the_time_of_its_zone() -> None:
    cluster = sim.Cluster(controllers=True, time_zones=ZoneInfo)
    cluster.put(cron(schedule="0 9 * * *", timeZone="Asia/Tokyo"))
    cluster.advance(86400)  # from midnight UTC, which is nine o'clock there
    assert len(names(cluster, JOBS)) == 0
    cluster.advance(1)
    [job] = cluster.objects(JOBS)
    scheduled_time = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert scheduled_time == "2026-01-02T09:00:00+09:00"


def test_an_unknown_zone_is_reported() -> None:
    cluster = sim.Cluster(controllers=True)
    cluster.put(cron(timeZone="Asia/Tokyo"))
    cluster.advance(86400)
    assert names(cluster, JOBS) == []
    assert {event["reason"] for event in cluster.objects("v1/Event")} == {"UnknownTimeZone"}


def test_each_namespace_has_a_service_account_and_a_certificate() -> None:
    cluster = sim.Cluster(controllers=["serviceaccount"])
    cluster.namespace("new")
    cluster.settle()
    assert cluster.get("v1/ServiceAccount", "default", "new")
    assert cluster.get("v1/ConfigMap", "kube-root-ca.crt", "new")
    cluster.controllers["serviceaccount"].stop()
    cluster.remove("v1/ServiceAccount", "default", "new")
    cluster.advance(60)
    assert cluster.get("v1/ServiceAccount", "default", "new") is None


def test_controllers_act_under_their_own_names_and_pass_admission() -> None:
    cluster = sim.Cluster(controllers=True, authorization="RBAC")
    users: list[str] = []

    def review(body: bytes) -> bytes:
        import json

        request = json.loads(body)["request"]
        users.append(request["userInfo"]["username"])
        response = {"uid": request["uid"], "allowed": len(users) < 2, "status": {"message": "one is enough"}}
        review_response = {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "response": response,
        }
        return json.dumps(review_response).encode()

    cluster.webhooks.handle_bytes("https://hooks.example/pods", review)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    cluster.put({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "pods"},
        "webhooks": [{
            "name": "pods.example.io", "rules": [rule], "sideEffects": "None", "failurePolicy": "Fail",
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://hooks.example/pods"},
        }],
    })  # fmt: skip
    cluster.put(deployment(replicas=2))
    cluster.settle()
    assert set(users) == {"system:serviceaccount:kube-system:replicaset-controller"}
    assert len(names(cluster, PODS)) == 1
    conditions = {
        condition["type"]: condition for condition in get(cluster, DEPLOYMENT, "web")["status"]["conditions"]
    }
    assert "one is enough" in conditions["ReplicaFailure"]["message"]


@pytest.mark.parametrize("others", [0, 300])
def test_a_change_costs_as_much_in_a_large_cluster_as_in_a_small_one(others: int) -> None:
    cluster = sim.Cluster(controllers=True)
    for number in range(others):
        meta = {"name": f"other-{number}", "namespace": "elsewhere", "labels": {"app": f"other-{number}"}}
        spec = {"containers": [{"name": "c", "image": "i"}]}
        cluster.put({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    cluster.put(deployment(replicas=3))
    cluster.put(service())
    cluster.settle()
    workloads = cluster._controllers.workloads  # pyright: ignore[reportPrivateUsage]
    objects = workloads.context.objects
    read: list[str] = []
    get_object = objects.get

    def counted(resource: str, key: str) -> dict[str, Any] | None:
        read.append(key)
        return get_object(resource, key)

    objects.get = counted  # type: ignore[method-assign]
    report(cluster, next(name for name in names(cluster, PODS) if name.startswith("web")), phase="Running")
    cluster.settle()
    assert 0 < len(read) < 40
    assert not any("other" in key for key in read)

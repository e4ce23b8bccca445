"""A populated cluster has the objects of a new cluster, and namespaces get and keep their defaults."""

from __future__ import annotations

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

ROOT = "kube-root-ca.crt"


def test_a_populated_cluster_has_the_objects_of_a_new_cluster() -> None:
    cluster = sim.Cluster(populated=True)
    cluster.settle()
    assert cluster.get("v1/Service", "kubernetes") is not None
    assert len(cluster.objects("rbac.authorization.k8s.io/v1/ClusterRole")) > 60
    names = [
        priority_class["metadata"]["name"]
        for priority_class in cluster.objects("scheduling.k8s.io/v1/PriorityClass")
    ]
    assert names == ["system-cluster-critical", "system-node-critical"]
    assert cluster.get("apiregistration.k8s.io/v1/APIService", "v1.apps") is not None
    for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
        assert cluster.get("v1/ServiceAccount", "default", namespace) is not None
        assert cluster.get("v1/ConfigMap", ROOT, namespace) is not None


def test_an_unpopulated_cluster_is_empty() -> None:
    cluster = sim.Cluster()
    cluster.namespace("more")
    cluster.settle()
    assert cluster.objects("v1/ServiceAccount") == []


def test_a_namespace_gets_its_defaults_and_they_are_restored_until_it_is_deleted() -> None:
    cluster = sim.Cluster(populated=True)
    cluster.namespace("more")
    cluster.settle()
    for kind, name in (("v1/ServiceAccount", "default"), ("v1/ConfigMap", ROOT)):
        first = cluster.get(kind, name, "more")
        assert first is not None
        cluster.remove(kind, name, "more")
        cluster.settle()
        second = cluster.get(kind, name, "more")
        assert second is not None
        assert first["metadata"]["uid"] != second["metadata"]["uid"]
    cluster.respond(RawRequest("DELETE", "/api/v1/namespaces/more"))
    cluster.settle()
    assert cluster.get("v1/Namespace", "more") is None
    assert cluster.get("v1/ServiceAccount", "default", "more") is None


def test_a_fork_and_a_restored_cluster_continue_to_create_defaults() -> None:
    cluster = sim.Cluster(populated=True)
    restored = sim.Cluster(populated=True, seed=1)
    restored.restore(cluster.snapshot())
    for twin in (cluster.fork(), restored):
        twin.namespace("more")
        twin.settle()
        assert twin.get("v1/ServiceAccount", "default", "more") is not None

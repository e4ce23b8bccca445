"""The official client: verbs, watches, its dynamic client, leader election, and manifests from files."""

from importlib import import_module
from threading import Event, Thread
from typing import Any, Final

from benchmarks.peers._checks import PATIENCE, run_checks, until

# The client exists only in this peer's environment, so type checkers cannot see it.
kubernetes: Final[Any] = import_module("kubernetes")
client: Final[Any] = kubernetes.client
LABELS: Final = {"peer": "kubernetes"}
WEB: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "py-web"},
    "spec": {
        "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}  # fmt: skip
DEFINITION: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "documents.py.example.com"},
    "spec": {
        "group": "py.example.com", "scope": "Namespaced",
        "names": {"plural": "documents", "kind": "Document"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}  # fmt: skip


def make_config_map(name: str, text: str = "") -> Any:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=LABELS), data={"text": text})


def expect_refusal(status: int, call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except client.ApiException as error:
        assert error.status == status, error
    else:
        raise AssertionError(f"expected a refusal with {status}, but the call succeeded")


def check_versions() -> None:
    assert client.VersionApi().get_code().major == "1"
    groups = client.ApisApi().get_api_versions().groups
    assert "apps" in [group.name for group in groups]


def check_verbs() -> None:
    core = client.CoreV1Api()
    config_map = core.create_namespaced_config_map("default", make_config_map("py-verbs", "1"))
    expect_refusal(409, core.create_namespaced_config_map, "default", make_config_map("py-verbs"))
    core.patch_namespaced_config_map("py-verbs", "default", {"data": {"more": "2"}})
    config_map.data = {"text": "3"}
    expect_refusal(409, core.replace_namespaced_config_map, "py-verbs", "default", config_map)
    fresh = core.read_namespaced_config_map("py-verbs", "default")
    assert fresh.data == {"text": "1", "more": "2"}, fresh.data
    fresh.data = {"text": "3"}
    core.replace_namespaced_config_map("py-verbs", "default", fresh)
    page = core.list_namespaced_config_map("default", label_selector="peer=kubernetes", limit=1)
    assert [item.metadata.name for item in page.items] == ["py-verbs"]
    assert core.list_namespaced_config_map("default", field_selector="metadata.name=py-verbs").items
    core.delete_namespaced_config_map("py-verbs", "default")
    expect_refusal(404, core.read_namespaced_config_map, "py-verbs", "default")


def check_watch() -> None:
    core = client.CoreV1Api()
    core.create_namespaced_config_map("default", make_config_map("py-watched", "1"))
    listed = core.list_namespaced_config_map("default", label_selector="peer=kubernetes")
    changes = [
        lambda: core.patch_namespaced_config_map("py-watched", "default", {"data": {"text": "2"}}),
        lambda: core.delete_namespaced_config_map("py-watched", "default"),
    ]
    watch, events = kubernetes.watch.Watch(), list[str]()
    changes[0]()
    for event in watch.stream(
        core.list_namespaced_config_map, "default", label_selector="peer=kubernetes",
        resource_version=listed.metadata.resource_version, timeout_seconds=int(PATIENCE),
    ):  # fmt: skip
        events.append(event["type"])
        if event["type"] == "DELETED":
            watch.stop()
        else:
            changes[1]()
    assert events == ["MODIFIED", "DELETED"], events


def check_workloads() -> None:
    kubernetes.utils.create_from_dict(client.ApiClient(), WEB)
    apps = client.AppsV1Api()
    apps.patch_namespaced_deployment_scale("py-web", "default", {"spec": {"replicas": 2}})
    assert apps.read_namespaced_deployment_scale("py-web", "default").spec.replicas == 2
    deployment = apps.read_namespaced_deployment("py-web", "default")
    assert deployment.spec.strategy.rolling_update.max_surge == "25%"
    apps.delete_namespaced_deployment("py-web", "default", propagation_policy="Background")


def check_dynamic_client() -> None:
    api = kubernetes.dynamic.DynamicClient(client.ApiClient())
    api.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition").create(
        DEFINITION
    )
    custom = client.CustomObjectsApi()
    address = ("py.example.com", "v1", "default", "documents")

    def served() -> bool:
        try:
            custom.list_namespaced_custom_object(*address)
        except client.ApiException:
            return False
        return True

    until("documents to be served", served)
    documents = api.resources.get(api_version="py.example.com/v1", kind="Document")
    body = {"apiVersion": "py.example.com/v1", "kind": "Document", "metadata": {"name": "moby"}}
    documents.create(body | {"spec": {"title": "Moby-Dick"}}, namespace="default")
    custom.patch_namespaced_custom_object_status(*address, "moby", {"status": {"words": 3}})
    assert documents.get(name="moby", namespace="default").status.words == 3
    applied = documents.server_side_apply(
        body | {"spec": {"pages": 1}}, name="moby", namespace="default", field_manager="peer"
    )
    assert applied.spec.to_dict() == {"title": "Moby-Dick", "pages": 1}
    documents.delete(name="moby", namespace="default")


def check_leader_election() -> None:
    leading = import_module("kubernetes.leaderelection.leaderelection")
    configuration = import_module("kubernetes.leaderelection.electionconfig")
    locks = import_module("kubernetes.leaderelection.resourcelock.configmaplock")
    started_leading = Event()
    config = configuration.Config(
        locks.ConfigMapLock("py-election", "default", "peer"), lease_duration=3, renew_deadline=2,
        retry_period=1, onstarted_leading=started_leading.set, onstopped_leading=None,
    )  # fmt: skip
    Thread(target=leading.LeaderElection(config).run, daemon=True).start()
    assert started_leading.wait(PATIENCE), "nobody ever led"


def check_pods() -> None:
    core = client.CoreV1Api()
    pod = {"metadata": {"name": "py-pod"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    core.create_namespaced_pod("default", pod)
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="py-pod"))
    core.create_namespaced_pod_eviction("py-pod", "default", eviction)
    expect_refusal(404, core.read_namespaced_pod, "py-missing", "default")
    token = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=["a"]))
    assert core.create_namespaced_service_account_token("default", "default", token).status.token


if __name__ == "__main__":
    kubernetes.config.load_kube_config()
    run_checks({
        "versions": check_versions, "verbs": check_verbs, "watch": check_watch, "workloads": check_workloads,
        "dynamic": check_dynamic_client, "election": check_leader_election, "pods": check_pods,
    })  # fmt: skip

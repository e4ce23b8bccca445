"""lightkube: verbs, apply, watches, waiting, subresources, and generic resources."""

from importlib import import_module
from typing import Any, Final

from benchmarks.peers._checks import run_checks, until

# lightkube exists only in this peer's environment, so type checkers cannot see it.
lightkube: Final[Any] = import_module("lightkube")
core: Final[Any] = import_module("lightkube.resources.core_v1")
apps: Final[Any] = import_module("lightkube.resources.apps_v1")
meta: Final[Any] = import_module("lightkube.models.meta_v1")
codecs: Final[Any] = import_module("lightkube.codecs")
generic: Final[Any] = import_module("lightkube.generic_resource")
patches: Final[Any] = import_module("lightkube.types").PatchType


def make_config_map(name: str, text: str = "", namespace: str = "default") -> Any:
    return core.ConfigMap(
        metadata=meta.ObjectMeta(name=name, namespace=namespace, labels={"peer": "lightkube"}),
        data={"text": text},
    )


def expect_refusal(code: int, call: Any, *arguments: Any, **options: Any) -> None:
    try:
        call(*arguments, **options)
    except lightkube.ApiError as error:
        assert error.status.code == code, error
    else:
        raise AssertionError(f"expected a refusal with {code}, but the call succeeded")


def check_verbs() -> None:
    client = lightkube.Client()
    config_map = client.create(make_config_map("lk-verbs", "1"))
    expect_refusal(409, client.create, make_config_map("lk-verbs"))
    client.patch(core.ConfigMap, "lk-verbs", {"data": {"more": "2"}}, patch_type=patches.MERGE)
    expect_refusal(409, client.replace, config_map)
    fresh = client.get(core.ConfigMap, "lk-verbs")
    assert fresh.data == {"text": "1", "more": "2"}
    assert [item.metadata.name for item in client.list(core.ConfigMap, labels={"peer": "lightkube"})] == [
        "lk-verbs"
    ]
    assert [item.metadata.name for item in client.list(core.ConfigMap, fields={"metadata.name": "lk-verbs"})]
    client.delete(core.ConfigMap, "lk-verbs")
    expect_refusal(404, client.get, core.ConfigMap, "lk-verbs")


def check_apply() -> None:
    client = lightkube.Client(field_manager="one")
    applied = make_config_map("lk-applied", "1")
    client.apply(applied)
    expect_refusal(409, client.apply, make_config_map("lk-applied", "2"), field_manager="two")
    forced = client.apply(make_config_map("lk-applied", "2"), field_manager="two", force=True)
    assert forced.data == {"text": "2"}
    client.delete(core.ConfigMap, "lk-applied")


def check_collections() -> None:
    client = lightkube.Client(namespace="kube-public")
    client.create(make_config_map("lk-collected", namespace="kube-public"))
    client.deletecollection(core.ConfigMap)
    assert not list(client.list(core.ConfigMap, labels={"peer": "lightkube"}))


def check_watch() -> None:
    client = lightkube.Client()
    client.create(make_config_map("lk-watched", "1"))
    events = list[str]()
    for event, obj in client.watch(core.ConfigMap, labels={"peer": "lightkube"}):
        events.append(event)
        if event == "DELETED":
            break
        if event == "ADDED":
            obj.data = {"text": "2"}
            client.replace(obj)
        else:
            client.delete(core.ConfigMap, "lk-watched")
    assert events == ["ADDED", "MODIFIED", "DELETED"], events


def check_workloads() -> None:
    client = lightkube.Client()
    [web] = codecs.load_all_yaml(
        """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: lk-web, namespace: default}
        spec:
          replicas: 0
          selector: {matchLabels: {a: b}}
          template:
            metadata: {labels: {a: b}}
            spec: {containers: [{name: c, image: i}]}
        """
    )
    client.create(web)
    client.patch(apps.Deployment.Scale, "lk-web", {"spec": {"replicas": 2}}, patch_type=patches.MERGE)
    assert client.get(apps.Deployment.Scale, "lk-web").spec.replicas == 2
    client.patch(
        apps.Deployment.Status, "lk-web",
        {"status": {"conditions": [{"type": "Available", "status": "True"}]}}, patch_type=patches.MERGE,
    )  # fmt: skip
    client.wait(apps.Deployment, "lk-web", for_conditions=["Available"])
    client.delete(apps.Deployment, "lk-web")


def check_custom_resources() -> None:
    client = lightkube.Client()
    [definition] = codecs.load_all_yaml(
        """
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: documents.lk.example.com}
        spec:
          group: lk.example.com
          scope: Namespaced
          names: {plural: documents, singular: document, kind: Document}
          versions:
          - name: v1
            served: true
            storage: true
            subresources: {status: {}}
            schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
        """
    )
    client.create(definition)
    documents = generic.create_namespaced_resource("lk.example.com", "v1", "Document", "documents")

    def served() -> bool:
        try:
            list(client.list(documents))
        except Exception:  # a 404 in plain text is httpx's error here, and one with a Status lightkube's
            return False
        return True

    until("documents to be served", served)
    client.create(documents(metadata=meta.ObjectMeta(name="moby", namespace="default"), spec={"title": "x"}))
    client.patch(documents.Status, "moby", {"status": {"words": 3}}, patch_type=patches.MERGE)
    assert client.get(documents, "moby").status == {"words": 3}
    client.delete(documents, "moby")


if __name__ == "__main__":
    run_checks({
        "verbs": check_verbs, "apply": check_apply, "collection": check_collections, "watch": check_watch,
        "workloads": check_workloads, "custom": check_custom_resources,
    })  # fmt: skip

"""kr8s: its objects, its watches, its waiting, and a kind that it does not know."""

from importlib import import_module
from typing import Any, Final

from benchmarks.peers._checks import run_checks, until

# kr8s exists only in this peer's environment, so type checkers cannot see it.
kr8s: Final[Any] = import_module("kr8s")
objects: Final[Any] = import_module("kr8s.objects")


def make_config_map(name: str, text: str) -> Any:
    meta = {"name": name, "namespace": "default", "labels": {"peer": "kr8s"}}
    return objects.ConfigMap({"metadata": meta, "data": {"text": text}})


def check_versions() -> None:
    assert kr8s.version()["major"] == "1"
    assert any(resource["name"] == "deployments" for resource in kr8s.api_resources())


def check_verbs() -> None:
    config_map = make_config_map("kr8s-verbs", "1")
    config_map.create()
    assert config_map.exists()
    config_map.patch({"data": {"text": "2"}})
    fetched = objects.ConfigMap.get("kr8s-verbs", namespace="default")
    assert fetched.data.text == "2"
    fetched.label({"more": "yes"})
    fetched.annotate({"note": "x"})
    [listed] = kr8s.get("configmaps", namespace="default", label_selector={"more": "yes"})
    assert listed.name == "kr8s-verbs"
    assert listed.annotations["note"] == "x"
    fetched.delete()
    assert not fetched.exists()


def check_missing_object() -> None:
    try:
        objects.ConfigMap.get("kr8s-missing", namespace="default", timeout=0.1)
    except kr8s.NotFoundError:
        return
    raise AssertionError("a missing object was found")


def check_watch() -> None:
    config_map = make_config_map("kr8s-watched", "1")
    config_map.create()
    events = list[str]()
    for event, obj in kr8s.watch("configmaps", namespace="default", label_selector={"peer": "kr8s"}):
        events.append(event)
        if event == "DELETED":
            break
        if event == "ADDED":
            obj.patch({"data": {"text": "2"}})
        else:
            obj.delete()
    assert events == ["ADDED", "MODIFIED", "DELETED"], events


def check_workloads() -> None:
    web = objects.Deployment({
        "metadata": {"name": "kr8s-web", "namespace": "default"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    })  # fmt: skip
    web.create()
    web.patch({"spec": {"replicas": 2}})
    web.refresh()
    assert web.replicas == 2
    web.delete(propagation_policy="Background")
    web.wait("delete", timeout=30)


def check_custom_resources() -> None:
    names = {"plural": "documents", "singular": "document", "kind": "Document"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = objects.CustomResourceDefinition({
        "metadata": {"name": "documents.kr8s.example.com"},
        "spec": {
            "group": "kr8s.example.com", "scope": "Namespaced", "names": names, "versions": [version],
        },
    })  # fmt: skip
    definition.create()

    def accepted() -> Any:
        # kr8s does not wait for conditions that do not exist yet.
        definition.refresh()
        return definition.status.conditions

    until("the names to be accepted", accepted)
    definition.wait("condition=Established", timeout=30)
    document_class = objects.new_class("Document", "kr8s.example.com/v1", namespaced=True)
    document = document_class(
        {"metadata": {"name": "moby", "namespace": "default"}, "spec": {"title": "Moby-Dick"}}
    )
    for _ in range(100):  # the storage of a new kind is initializing for a moment
        try:
            document.create()
            break
        except kr8s.ServerError as error:
            assert error.response.status_code in (404, 429), error
    assert document_class.get("moby", namespace="default").spec.title == "Moby-Dick"
    document.delete()
    definition.delete()


if __name__ == "__main__":
    run_checks({
        "versions": check_versions, "verbs": check_verbs, "missing": check_missing_object,
        "watch": check_watch, "workloads": check_workloads, "custom": check_custom_resources,
    })  # fmt: skip

"""What older releases say and do otherwise, on a real server and on the simulated one of its release."""

from __future__ import annotations

from typing import Any, Final

from conformance.client import DEFINITIONS, Client, fresh_namespace
from conformance.comparing import ComparedServer, Difference, RequestTemplate, compare
from conformance.servers import Server
from conformance.test_differences import simulated_twin

MAPS: Final = "/api/v1/namespaces/<ns>/configmaps"
PODS: Final = "/api/v1/namespaces/<ns>/pods"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/<ns>/deployments"
WORDS: Final = "/apis/words.test/v1/namespaces/<ns>/words"
TEMPLATE: Final[Any] = {
    "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
}  # fmt: skip
WANTED: Final[Any] = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
SELECTOR: Final[Any] = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}
TAGS: Final[Any] = {
    "type": "array", "maxItems": 1, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
    "items": {
        "type": "object", "required": ["k"],
        "properties": {"k": {"type": "string"}, "n": {"type": "integer"}},
    },
}  # fmt: skip
SPEC: Final[Any] = {
    "title": {"type": "string", "maxLength": 5},
    "letter": {"type": "string", "maxLength": 1},
    "tags": TAGS,
    "names": {**TAGS, "maxItems": 9, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
}
SPEC["names"].pop("x-kubernetes-list-map-keys")
DEFINITION: Final[Any] = {
    "metadata": {"name": "words.words.test"},
    "spec": {
        "group": "words.test", "scope": "Namespaced", "names": {"kind": "Word", "plural": "words"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}},
            }},
        }],
    },
}  # fmt: skip


def new_object(kind: str = "ConfigMap", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, **fields}


def with_metadata(**metadata: Any) -> dict[str, Any]:
    return new_object(metadata={"name": "one", **metadata})


def word_spec(**spec: Any) -> dict[str, Any]:
    return new_object("Word", "words.test/v1", spec=spec)


def owned(field: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"} | {field: ""}
    return with_metadata(ownerReferences=[owner])


def deployment(template: Any = TEMPLATE, **spec: Any) -> dict[str, Any]:
    return new_object("Deployment", "apps/v1", spec=WANTED | {"template": template} | spec)


def pod(**spec: Any) -> dict[str, Any]:
    return new_object("Pod", spec={"containers": [{"name": "c", "image": "i"}], **spec})


GATED: Final = pod(
    hostUsers=False,
    containers=[{
        "name": "c", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "volumeMounts": [
            {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "IfPossible"},
        ],
    }],
    volumes=[{"name": "v", "emptyDir": {}}],
    affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": "a", "labelSelector": {"matchLabels": {"a": "b"}}, "mismatchLabelKeys": ["z"],
    }]}},
)  # fmt: skip
ASKED: Final = {
    "data": RequestTemplate("POST", MAPS, new_object(data={"a": "x" * 1048577})),
    "annotations": RequestTemplate("POST", MAPS, with_metadata(annotations={"a": "x" * 262144})),
    "field-manager": RequestTemplate("POST", f"{MAPS}?fieldManager={'x' * 129}", new_object()),
    "label-value": RequestTemplate("POST", MAPS, with_metadata(labels={"a": "x" * 64})),
    "label-key": RequestTemplate("POST", MAPS, with_metadata(labels={"x" * 64: "a"})),
    "namespace-name": RequestTemplate(
        "POST", "/api/v1/namespaces", new_object("Namespace", metadata={"name": "x" * 64})),
    "name": RequestTemplate("POST", MAPS, new_object(metadata={"name": "x" * 254})),
    **{f"owner-{field}": RequestTemplate(
        "POST", MAPS, owned(field)) for field in ("apiVersion", "kind", "name", "uid")},
    "text": RequestTemplate("POST", WORDS, word_spec(title="Moby Dick")),
    "letter": RequestTemplate("POST", WORDS, word_spec(letter="xy")),
    "items": RequestTemplate("POST", WORDS, word_spec(tags=[{"k": "a"}, {"k": "b"}])),
    "duplicate": RequestTemplate("POST", WORDS, word_spec(tags=[{"k": "a", "n": 1}] * 2)),
    "duplicate-text": RequestTemplate("POST", WORDS, word_spec(names=["a", "a"])),
    "no-list": RequestTemplate("POST", WORDS, word_spec(tags={"k": "a"})),
    "labels": RequestTemplate(
        "POST", DEPLOYMENTS, deployment(TEMPLATE | {"metadata": {"labels": {"a": "c", "b": "d"}}})),
    "no-labels": RequestTemplate("POST", DEPLOYMENTS, deployment(TEMPLATE | {"metadata": {}})),
    "selector": RequestTemplate("POST", DEPLOYMENTS, deployment(selector={})),
    "strange-selector": RequestTemplate("POST", f"{DEPLOYMENTS}?dryRun=All", deployment(selector=SELECTOR)),
    **{
        f"selector-{plural}": RequestTemplate("POST", f"/apis/apps/v1/namespaces/<ns>/{plural}", new_object(
            kind, "apps/v1", spec={"selector": {}, "template": TEMPLATE, **extra_spec},
        ))
        for plural, kind, extra_spec in (
            ("replicasets", "ReplicaSet", {}), ("daemonsets", "DaemonSet", {}),
            ("statefulsets", "StatefulSet", {"serviceName": "a"}),
        )
    },
    "new-selector": RequestTemplate("PUT", f"{DEPLOYMENTS}/one", deployment(
        TEMPLATE | {"metadata": {"labels": {"a": "b", "b": "c"}}}, selector=SELECTOR,
    )),
    "pod": RequestTemplate("POST", PODS, pod()),
    "pod-behind-gates": RequestTemplate("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", GATED),
    "pod-with-hours": RequestTemplate("POST", f"{PODS}?dryRun=All", pod(activeDeadlineSeconds=0)),
}  # fmt: skip


def test_requests_are_answered_as_by_the_simulated_server_of_the_release(server: Server) -> None:
    real = fresh_namespace(server)
    twin = simulated_twin(real)
    for client in (real, twin):
        client.create(DEFINITIONS, DEFINITION)
        until_served(client)
        client.create(DEPLOYMENTS.replace("<ns>", client.namespace), deployment())
    simulated, real_side = ComparedServer(twin), ComparedServer(real)
    differences: list[str] = []
    for name, template in ASKED.items():
        try:
            compare(simulated, real_side, template)
        except Difference as difference:
            differences.append(f"{name}: {difference}")
    assert not differences, "\n\n".join(differences)


def until_served(client: Client) -> None:
    path = WORDS.replace("<ns>", client.namespace)
    client.poll_until(lambda: client.send("GET", path).status == 200)

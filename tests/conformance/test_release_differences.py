"""What older releases say and do otherwise, on a real server and on the simulated one of its release."""

from __future__ import annotations

from typing import Any, Final

from conformance.client import DEFINITIONS, Client, fresh_namespace
from conformance.comparing import Ask, Difference, Side, compare
from conformance.servers import Server
from conformance.test_differences import beside

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


def made(kind: str = "ConfigMap", api_version: str = "v1", **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, **rest}


def named(**metadata: Any) -> dict[str, Any]:
    return made(metadata={"name": "one", **metadata})


def word(**spec: Any) -> dict[str, Any]:
    return made("Word", "words.test/v1", spec=spec)


def owned(field: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"} | {field: ""}
    return named(ownerReferences=[owner])


def deployment(template: Any = TEMPLATE, **spec: Any) -> dict[str, Any]:
    return made("Deployment", "apps/v1", spec=WANTED | {"template": template} | spec)


def pod(**spec: Any) -> dict[str, Any]:
    return made("Pod", spec={"containers": [{"name": "c", "image": "i"}], **spec})


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
    "data": Ask("POST", MAPS, made(data={"a": "x" * 1048577})),
    "annotations": Ask("POST", MAPS, named(annotations={"a": "x" * 262144})),
    "field-manager": Ask("POST", f"{MAPS}?fieldManager={'x' * 129}", made()),
    "label-value": Ask("POST", MAPS, named(labels={"a": "x" * 64})),
    "label-key": Ask("POST", MAPS, named(labels={"x" * 64: "a"})),
    "namespace-name": Ask("POST", "/api/v1/namespaces", made("Namespace", metadata={"name": "x" * 64})),
    "name": Ask("POST", MAPS, made(metadata={"name": "x" * 254})),
    **{f"owner-{field}": Ask("POST", MAPS, owned(field)) for field in ("apiVersion", "kind", "name", "uid")},
    "text": Ask("POST", WORDS, word(title="Moby Dick")),
    "letter": Ask("POST", WORDS, word(letter="xy")),
    "items": Ask("POST", WORDS, word(tags=[{"k": "a"}, {"k": "b"}])),
    "duplicate": Ask("POST", WORDS, word(tags=[{"k": "a", "n": 1}] * 2)),
    "duplicate-text": Ask("POST", WORDS, word(names=["a", "a"])),
    "no-list": Ask("POST", WORDS, word(tags={"k": "a"})),
    "labels": Ask("POST", DEPLOYMENTS, deployment(TEMPLATE | {"metadata": {"labels": {"a": "c", "b": "d"}}})),
    "no-labels": Ask("POST", DEPLOYMENTS, deployment(TEMPLATE | {"metadata": {}})),
    "selector": Ask("POST", DEPLOYMENTS, deployment(selector={})),
    "strange-selector": Ask("POST", f"{DEPLOYMENTS}?dryRun=All", deployment(selector=SELECTOR)),
    **{
        f"selector-{plural}": Ask("POST", f"/apis/apps/v1/namespaces/<ns>/{plural}", made(
            kind, "apps/v1", spec={"selector": {}, "template": TEMPLATE, **more},
        ))
        for plural, kind, more in (
            ("replicasets", "ReplicaSet", {}), ("daemonsets", "DaemonSet", {}),
            ("statefulsets", "StatefulSet", {"serviceName": "a"}),
        )
    },
    "new-selector": Ask("PUT", f"{DEPLOYMENTS}/one", deployment(
        TEMPLATE | {"metadata": {"labels": {"a": "b", "b": "c"}}}, selector=SELECTOR,
    )),
    "pod": Ask("POST", PODS, pod()),
    "pod-behind-gates": Ask("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", GATED),
    "pod-with-hours": Ask("POST", f"{PODS}?dryRun=All", pod(activeDeadlineSeconds=0)),
}  # fmt: skip


def test_requests_are_answered_as_by_the_simulated_server_of_the_release(server: Server) -> None:
    real = fresh_namespace(server)
    twin = beside(real)
    for client in (real, twin):
        client.create(DEFINITIONS, DEFINITION)
        until_served(client)
        client.create(DEPLOYMENTS.replace("<ns>", client.namespace), deployment())
    left, right = Side(twin), Side(real)
    found: list[str] = []
    for name, ask in ASKED.items():
        try:
            compare(left, right, ask)
        except Difference as difference:
            found.append(f"{name}: {difference}")
    assert not found, "\n\n".join(found)


def until_served(client: Client) -> None:
    path = WORDS.replace("<ns>", client.namespace)
    client.eventually(lambda: client.send("GET", path).status == 200)

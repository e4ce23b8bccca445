"""A violated rule is reported in the words of the release, as its sources contain them."""

from __future__ import annotations

from typing import Any, Final

import pytest
from raw_client import CONFIGMAPS, DEFINITIONS, RawClient, definition

from kubeproto.kinds import kind_table
from kubeproto_sim import Cluster

RELEASES: Final = (*kind_table().releases, "1.36")
BOOKS: Final = "/apis/example.com/v1/namespaces/default/books"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
each_release = pytest.mark.parametrize("release", RELEASES)


def number(release: str) -> int:
    return int(release.partition(".")[2])


def server(release: str, **options: Any) -> RawClient:
    return RawClient(Cluster(kubernetes=release, **options))


def refusal(client: RawClient, target: str, body: dict[str, Any], method: str = "POST") -> str:
    response = client.fetch(method, target, body)
    assert response["reason"] == "Invalid"
    message: str = response["message"]
    assert all(cause["message"] in message for cause in response["details"]["causes"])
    return message.partition(" is invalid: ")[2]


def with_books(client: RawClient) -> RawClient:
    tags = {
        "type": "array", "maxItems": 1, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
    }  # fmt: skip
    short: dict[str, Any] = {"type": "string", "maxLength": 1}
    spec = {
        "type": "object",
        "properties": {"tags": tags, "title": {**short, "maxLength": 5}, "letter": short},
    }
    version = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }  # fmt: skip
    definition = {
        "metadata": {"name": "books.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Book", "plural": "books"},
        },
    }  # fmt: skip
    client.create(DEFINITIONS, definition)
    client.cluster.advance(10)
    return client


def book(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Book", "metadata": {"name": "moby"}, "spec": spec}


@each_release
def test_too_long_values_are_refused_in_the_words_of_the_release(release: str) -> None:
    client = with_books(server(release))
    newer = number(release) >= 32
    assert refusal(client, CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"a": "x" * 1048577}}) == (
        f"[]: Too long: {'may not be more than' if newer else 'must have at most'} 1048576 bytes"
    )
    big = {"metadata": {"name": "a", "annotations": {"a": "x" * 262144}}}
    text = "may not be more than" if newer else "must have at most"
    assert refusal(client, CONFIGMAPS, big) == f"metadata.annotations: Too long: {text} 262144 bytes"
    assert refusal(client, BOOKS, book(title="Moby Dick")) == (
        f"spec.title: Too long: {'may not be more than 5 bytes' if newer else 'may not be longer than 5'}"
    )
    limit = "may not be longer than 1" if not newer else "may not be more than 1 byte"
    limit += "s" if newer and number(release) < 34 else ""
    assert refusal(client, BOOKS, book(letter="xy")) == f"spec.letter: Too long: {limit}"


@each_release
def test_a_too_long_label_is_refused_in_the_words_of_the_release(release: str) -> None:
    labels = {"metadata": {"name": "a", "labels": {"a": "x" * 64}}}
    unit = "bytes" if number(release) >= 35 else "characters"
    assert refusal(server(release), CONFIGMAPS, labels).endswith(f": must be no more than 63 {unit}")


@each_release
def test_an_owner_without_a_name_is_refused_in_the_words_of_the_release(release: str) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "u"}
    response = refusal(server(release), CONFIGMAPS, {"metadata": {"name": "a", "ownerReferences": [owner]}})
    text = "must not be empty" if number(release) >= 34 else "name must not be empty"
    assert response == f'metadata.ownerReferences.name: Invalid value: "": {text}'


@each_release
def test_too_long_lists_are_refused_in_the_words_of_the_release(release: str) -> None:
    client = with_books(server(release))
    json = number(release) >= 34
    unit = "item" if json else "items"
    value = '{"k":"a"}' if json else 'map[string]interface {}{"k":"a"}'
    assert refusal(client, BOOKS, book(tags=[{"k": "a"}, {"k": "b"}])) == (
        f"spec.tags: Too many: 2: must have at most 1 {unit}"
    )
    assert f"spec.tags[1]: Duplicate value: {value}" in refusal(client, BOOKS, book(tags=[{"k": "a"}] * 2))


@each_release
def test_a_changed_or_mismatched_selector_is_refused_in_the_words_of_the_release(release: str) -> None:
    client = server(release)
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }  # fmt: skip
    client.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    spec["template"]["metadata"]["labels"] = {"a": "c", "b": "d"}
    other = {"metadata": {"name": "web2"}, "spec": spec}
    labels = 'map[string]string{"a":"c", "b":"d"}' if number(release) < 34 else '{"a":"c","b":"d"}'
    assert refusal(client, DEPLOYMENTS, other) == (
        f"spec.template.metadata.labels: Invalid value: {labels}: `selector` does not match template `labels`"
    )
    spec["selector"] = {"matchLabels": {"a": "c"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}
    value = (
        'v1.LabelSelector{MatchLabels:map[string]string{"a":"c"}, MatchExpressions:'
        '[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"b", Operator:"Exists",'
        " Values:[]string(nil)}}}"
        if number(release) < 34
        else '{"matchLabels":{"a":"c"},"matchExpressions":[{"key":"b","operator":"Exists"}]}'
    )
    changed = {"metadata": {"name": "web"}, "spec": spec}
    assert refusal(client, f"{DEPLOYMENTS}/web", changed, "PUT") == (
        f"spec.selector: Invalid value: {value}: field is immutable"
    )


@each_release
def test_a_new_kind_is_briefly_refused_since_1_31(release: str) -> None:
    client = server(release)
    client.create(DEFINITIONS, definition())
    statuses: list[int] = []
    for _ in range(200):
        statuses.append(client.send("GET", "/apis/a.b/v1/as").status)
        client.cluster.advance(0.01)
    assert statuses[-1] == 200
    assert (429 in statuses) == (number(release) >= 31)


@each_release
def test_a_repelling_taint_is_reported_in_the_words_of_the_release(release: str) -> None:
    client = server(release)
    client.cluster.nodes(1)
    [node] = client.fetch("GET", "/api/v1/nodes")["items"]
    node["spec"]["taints"] = [{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]
    client.fetch("PUT", f"/api/v1/nodes/{node['metadata']['name']}", node)
    pods = "/api/v1/namespaces/default/pods"
    client.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    client.cluster.advance(10)
    [condition] = client.fetch("GET", f"{pods}/p")["status"]["conditions"]
    taint = "taint(s)" if number(release) >= 34 else "taint {gpu: a100}"
    assert condition["message"].startswith(f"0/1 nodes are available: 1 node(s) had untolerated {taint}.")


@each_release
def test_the_conditions_of_a_finished_job_have_the_words_of_the_release(release: str) -> None:
    client = server(release, controllers=True)
    client.cluster.nodes(1)
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    client.create(jobs, {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}})
    client.cluster.wait(lambda: "conditions" in client.fetch("GET", f"{jobs}/j")["status"])
    client.cluster.advance(30)
    conditions = client.fetch("GET", f"{jobs}/j")["status"]["conditions"]
    rows = [
        (condition["type"], condition.get("reason"), condition.get("message")) for condition in conditions
    ]
    if number(release) == 30:
        assert rows == [("Complete", None, None)]
    else:
        reached = ("CompletionsReached", "Reached expected number of succeeded pods")
        assert rows == [("SuccessCriteriaMet", *reached), ("Complete", *reached)]


@pytest.mark.parametrize(
    ("kind", "operator"),
    [
        ("Deployment", "deployment"), ("ReplicaSet", "deployment"), ("DaemonSet", "daemonset"),
        ("StatefulSet", "statefulset"),
    ],
)  # fmt: skip
def test_an_empty_selector_and_one_that_selects_other_pods_are_refused(kind: str, operator: str) -> None:
    client = server("1.36")
    target = f"/apis/apps/v1/namespaces/default/{kind.lower()}s"
    template = {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip
    spec: dict[str, Any] = {"selector": {}, "template": template, "serviceName": "s"}
    if kind != "StatefulSet":
        spec.pop("serviceName")
    response = refusal(client, target, {"metadata": {"name": "web"}, "spec": spec})
    assert response == f"spec.selector: Invalid value: {{}}: empty selector is invalid for {operator}"
    for expression, fits in (({"operator": "Exists"}, False), ({"operator": "DoesNotExist"}, True)):
        spec["selector"] = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "x", **expression}]}
        body = {"metadata": {"name": "web"}, "spec": spec}
        if fits:
            client.create(f"{target}", body)
        else:
            assert refusal(client, target, body) == (
                'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template'
                " `labels`"
            )

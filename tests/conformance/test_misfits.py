"""Values that do not fit the type of a field: the refusals of updates, patches and Scales."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from conformance.client import Client
from conformance.kinds import foo, foos

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
TEMPLATE: Final[Any] = {
    "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
}  # fmt: skip
WANTED: Final[Any] = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
UNDETERMINABLE: Final = "the name of the object (a based on URL) was undeterminable: name must be provided"
OTHER_NAME: Final = "the name of the object (b) does not match the name on the URL (a)"
OTHER_NAMESPACE: Final = (
    "the namespace of the provided object does not match the namespace sent on the request"
)
INTO_MAP: Final = "into Go value of type map[string]interface {}"
LIST: Final[list[Any]] = []
NOT: Final = "json: cannot unmarshal"
INTO: Final = "into Go struct field"
POD: Final = "PodSpec.spec.template.spec"
SPEC: Final = "into Go struct field Scale.spec of type v1.ScaleSpec"
REPLICAS: Final = "ScaleSpec.spec.replicas of type int32"
LABELS: Final = "ObjectMeta.metadata.labels of type string"
NO_VERSION: Final = 'strconv.ParseUint: parsing "x": invalid syntax'
NO_SCALE: Final = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:…"'


def without_line(message: str) -> str:
    """Return a message without the line number of the server's sources, which differs in each release."""
    return re.sub(r"(?<=scheme\.go:)\d+", "…", message)


def deployments(client: Client) -> str:
    path = f"/apis/apps/v1/namespaces/{client.namespace}/deployments"
    client.create(
        path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": WANTED}
    )
    return path


def refusal(client: Client, target: str, change: Any, media: str) -> tuple[int, str]:
    """Return the code and the reason of a refusal, without the object that it quotes."""
    status = client.expect_refusal("PATCH", target, change, media)
    message: str = status["message"]
    if status.get("reason") == "Invalid" and status["details"]:
        assert [cause["field"] for cause in status["details"]["causes"]] == ["patch"]
        message = message.rpartition('": ')[2]
    return status["code"], message


def pod(**spec: Any) -> Any:
    return {"spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("change", "value", "field", "type_"),
    [
        ({"spec": 5}, "number", "Deployment.spec", "v1.DeploymentSpec"),
        ({"spec": {"replicas": "x"}}, "string", "DeploymentSpec.spec.replicas", "int32"),
        ({"spec": {"replicas": 1.5}}, "number 1.5", "DeploymentSpec.spec.replicas", "int32"),
        ({"spec": {"replicas": 2**31}}, "number 2147483648", "DeploymentSpec.spec.replicas", "int32"),
        (pod(activeDeadlineSeconds="x"), "string", f"{POD}.activeDeadlineSeconds", "int64"),
        (pod(activeDeadlineSeconds=2**63), f"number {2**63}", f"{POD}.activeDeadlineSeconds", "int64"),
        (pod(containers=5), "number", f"{POD}.containers", "[]v1.Container"),
        (pod(containers=[5]), "number", f"{POD}.containers", "v1.Container"),
        (
            pod(securityContext={"supplementalGroups": [1, "x"]}), "string",
            "PodSecurityContext.spec.template.spec.securityContext.supplementalGroups", "int64",
        ),
        (pod(nodeSelector={"a": 5}), "number", f"{POD}.nodeSelector", "string"),
    ],
)  # fmt: skip
def test_an_invalid_value_is_reported_with_its_field_and_its_type_in_go(
    client: Client, change: Any, value: str, field: str, type_: str
) -> None:
    path = deployments(client)
    expected = f"json: cannot unmarshal {value} into Go struct field {field} of type {type_}"
    assert refusal(client, f"{path}/a", change, MERGE) == (422, expected)
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b"}, **change}
    status = client.expect_refusal("POST", path, body)
    prefix = 'Deployment in version "v1" cannot be handled as a Deployment'
    assert (status["code"], status["message"]) == (400, f"{prefix}: {expected}")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"spec": True}, "cannot restore struct from: bool"),
        ({"spec": 1.5}, "cannot restore struct from: float64"),
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": 5}}, "unrecognized type: bool"),
        ({"spec": {"template": {"spec": {"nodeSelector": {"a": 5}}}}}, "cannot convert int64 to string"),
        ({"spec": {"template": {"spec": {"nodeSelector": {"a": 1.5}}}}}, "unrecognized type: string"),
        ({"spec": {"template": {"spec": {"nodeSelector": {"a": []}}}}}, "unrecognized type: string"),
        ({"spec": {"template": {"spec": {"nodeSelector": 5}}}}, "cannot restore map from int64"),
        ({"spec": {"template": {"spec": {"nodeSelector": 1.5}}}}, "cannot restore map from float64"),
    ],
)
def test_a_strategic_merge_patch_reports_it_in_other_words(
    client: Client, change: Any, expected: str
) -> None:
    assert refusal(client, f"{deployments(client)}/a", change, STRATEGIC) == (422, expected)


@pytest.mark.parametrize(
    ("change", "media", "code", "message"),
    [
        ({"spec": {"replicas": "x"}}, MERGE, 422, f"{NOT} string {INTO} {REPLICAS}"),
        ([{"op": "add", "path": "/spec", "value": LIST}], JSON_PATCH, 422, f"{NOT} array {SPEC}"),
        ({"metadata": {"labels": {"a": 5}}}, MERGE, 422, f"{NOT} number {INTO} {LABELS}"),
        (
            {"apiVersion": 5}, MERGE, 422,
            f"couldn't get version/kind; json parse error: {NOT} number {INTO} .apiVersion of type string",
        ),
        ([None], JSON_PATCH, 422, "the server rejected our request due to an error in our request"),
        (LIST, MERGE, 400, f"error decoding patch: {NOT} array {INTO_MAP}"),
        ({"metadata": {"name": "b"}}, MERGE, 400, OTHER_NAME),
        ({"metadata": None}, MERGE, 400, UNDETERMINABLE),
        ({"metadata": {"namespace": "x"}}, MERGE, 400, OTHER_NAMESPACE),
        ({"metadata": {"resourceVersion": "x"}}, MERGE, 500, NO_VERSION),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["custom", "built in"])
def test_an_invalid_patch_of_a_scale_is_refused_like_another_patch(
    client: Client, kind: str, change: Any, media: str, code: int, message: str
) -> None:
    path = foos(client.namespace) if kind == "custom" else deployments(client)
    if kind == "custom":
        client.create(path, foo("a", replicas=2))
    assert refusal(client, f"{path}/a/scale", change, media) == (code, message)


@pytest.mark.parametrize("name", ["kind", "apiVersion"])
def test_the_kind_of_a_scale_is_a_string(client: Client, name: str) -> None:
    target = f"{deployments(client)}/a/scale"
    assert refusal(client, target, {name: 5}, STRATEGIC) == (422, "cannot convert int64 to string")


def test_the_kind_of_a_scale_is_validated(client: Client) -> None:
    path = foos(client.namespace)
    client.create(path, foo("a", replicas=2))
    for change in ({"kind": "X"}, {"kind": "Pod", "apiVersion": "v1"}):
        kind, version = change["kind"], change.get("apiVersion", "autoscaling/v1")
        reason = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:…"'
        status = client.expect_refusal("PATCH", f"{path}/a/scale", change, MERGE)
        assert (status["code"], without_line(status["message"]).endswith(f": {reason}")) == (422, True)
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, **change}
        assert without_line(client.expect_refusal("PUT", f"{path}/a/scale", body)["message"]) == NO_SCALE
    built_in = f"{deployments(client)}/a/scale"
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    reason = "converting (v1.Pod) to (autoscaling.Scale): unknown conversion"
    assert client.expect_refusal("PUT", built_in, body)["message"] == (
        f'Pod in version "v1" cannot be handled as a Scale: {reason}'
    )
    assert client.expect_refusal("PATCH", built_in, {"kind": "Pod", "apiVersion": "v1"}, MERGE)[
        "message"
    ].endswith(reason)
    status = client.expect_refusal("PATCH", f"{path}/a/scale", {"spec": {"replicas": 1}}, STRATEGIC)
    assert (status["code"], status["reason"]) == (415, "UnsupportedMediaType")


def test_a_scale_of_another_object_is_not_written(client: Client) -> None:
    path = foos(client.namespace)
    uid = client.create(path, foo("a", replicas=2))["metadata"]["uid"]
    other = "00000000-0000-0000-0000-000000000000"
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 5}}
    for meta, code in (
        ({}, 400), ({"name": "b"}, 400), ({"name": "a", "namespace": "x"}, 400),
        ({"name": "a", "uid": other}, 409), ({"name": "a", "resourceVersion": "1"}, 409),
        ({"name": "a", "resourceVersion": "x"}, 500),
    ):  # fmt: skip
        assert client.expect_refusal("PUT", f"{path}/a/scale", {**scale, "metadata": meta})["code"] == code
    assert client.get(f"{path}/a/scale")["spec"] == {"replicas": 2}
    client.fetch("PUT", f"{path}/a/scale", {**scale, "metadata": {"name": "a", "uid": uid}})
    assert client.get(f"{path}/a/scale")["spec"] == {"replicas": 5}

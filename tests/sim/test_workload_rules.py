"""Rules of workloads that the random comparison with a real server found, tested without a real server."""

from __future__ import annotations

from typing import Any, Final

import pytest
from raw_client import MERGE, RawClient

APPS: Final = "/apis/apps/v1/namespaces/default"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
SERVICES: Final = "/api/v1/namespaces/default/services"


def deployment(**pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]} | pod
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    selector = {"matchLabels": {"a": "b"}}
    return {"metadata": {"name": "d"}, "spec": {"selector": selector, "template": template}}


def blamed(
    client: RawClient, method: str, target: str, body: Any, media: str = "application/json"
) -> list[Any]:
    causes = client.expect_refusal(method, target, body, media)["details"]["causes"]
    return sorted({(cause["field"].removeprefix("spec.template.spec."), cause["reason"]) for cause in causes})


def probed(port: Any) -> dict[str, Any]:
    return {"name": "x", "image": "i", "livenessProbe": {"httpGet": {"port": port}, "initialDelaySeconds": 0}}


def test_a_probe_has_its_defaults() -> None:
    created = RawClient().create(f"{APPS}/deployments", deployment(containers=[probed(80)]))
    (container,) = created["spec"]["template"]["spec"]["containers"]
    counts = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert container["livenessProbe"] == {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}} | counts


TWO_SOURCES: Final[list[Any]] = [{"name": "v", "configMap": {"name": "a"}, "emptyDir": {}}, {"name": "v"}]
PODS: Final[list[tuple[dict[str, Any], str, str]]] = [
    ({"initContainers": [probed(0)]}, "initContainers[0].livenessProbe", "FieldValueForbidden"),
    ({"containers": [probed("no port")]}, "containers[0].livenessProbe.httpGet.port", "FieldValueInvalid"),
    ({"tolerations": [{}]}, "tolerations[0].operator", "FieldValueInvalid"),
    ({"volumes": TWO_SOURCES}, "volumes[0].configMap", "FieldValueForbidden"),
]


@pytest.mark.parametrize(("pod", "field", "reason"), PODS, ids=[row[1] for row in PODS])
def test_an_invalid_template_is_refused_with_the_fields_of_a_real_server(
    pod: dict[str, Any], field: str, reason: str
) -> None:
    assert blamed(RawClient(), "POST", f"{APPS}/deployments", deployment(**pod)) == [(field, reason)]


def test_the_selector_of_a_workload_is_immutable() -> None:
    client = RawClient()
    client.create(f"{APPS}/deployments", deployment())
    labels = {"c": "d"}
    change = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
    causes = blamed(client, "PATCH", f"{APPS}/deployments/d", change, MERGE)
    assert causes == [("spec.selector", "FieldValueInvalid")]


def test_a_stateful_set_refuses_changes_outside_of_its_template() -> None:
    client = RawClient()
    created = client.create(f"{APPS}/statefulsets", deployment())
    assert created["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    causes = blamed(client, "PATCH", f"{APPS}/statefulsets/d", {"spec": {"serviceName": "s"}}, MERGE)
    assert causes == [("spec", "FieldValueForbidden")]


JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"


def batch_job(*, suspend: bool) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    return {"metadata": {"name": "j"}, "spec": {"suspend": suspend, "template": template}}


CPU: Final = {"resources": {"requests": {"cpu": "1"}}}
# Changes of the pods of a Job, and whether a suspended Job without pods may make them.
TEMPLATES: Final[list[tuple[dict[str, Any], bool]]] = [
    ({"metadata": {"labels": {"c": "d"}}}, True),
    ({"spec": {"nodeSelector": {"disk": "ssd"}}}, True),
    ({"spec": {"tolerations": [{"operator": "Exists"}]}}, True),
    ({"spec": {"affinity": {"nodeAffinity": {}}}}, True),
    ({"spec": {"containers": [{"name": "c", "image": "i", **CPU}]}}, True),
    ({"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, False),
    ({"spec": {"affinity": {"podAffinity": {}}}}, False),
    ({"spec": {"restartPolicy": "OnFailure"}}, False),
]


@pytest.mark.parametrize(("change", "while_suspended"), TEMPLATES, ids=[str(row[0]) for row in TEMPLATES])
def test_the_template_of_a_job_changes_only_while_it_is_suspended_without_pods(
    change: dict[str, Any], *, while_suspended: bool
) -> None:
    patch = {"spec": {"template": change}}
    client = RawClient()
    client.create(JOBS, batch_job(suspend=False))
    assert blamed(client, "PATCH", f"{JOBS}/j", patch, MERGE) == [("spec.template", "FieldValueInvalid")]
    client = RawClient()
    client.create(JOBS, batch_job(suspend=True))
    if while_suspended:
        client.fetch("PATCH", f"{JOBS}/j", patch, MERGE)
        assert client.response.status == 200
    else:
        causes = blamed(client, "PATCH", f"{JOBS}/j", patch, MERGE)
        assert causes == [("spec.template.spec", "FieldValueInvalid")]


def test_the_addresses_of_a_service_are_validated_first() -> None:
    body = {"metadata": {"name": "s"}, "spec": {"clusterIP": "x", "ports": [{"port": 0}]}}
    assert blamed(RawClient(), "POST", SERVICES, body) == [("spec.clusterIPs[0]", "FieldValueInvalid")]


def test_a_put_may_create_a_role_binding_which_names_the_groups_of_its_subjects() -> None:
    client = RawClient()
    subjects = [{"kind": "ServiceAccount", "name": "u", "namespace": "n"}, {"kind": "User", "name": "u"}]
    body = {"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects}
    binding = client.fetch("PUT", f"{RBAC}/rolebindings/b", body)
    assert client.response.status == 201
    assert [subject.get("apiGroup") for subject in binding["subjects"]] == [None, "rbac.authorization.k8s.io"]
    change = {"roleRef": {"kind": "Role", "name": "other"}}
    causes = blamed(client, "PATCH", f"{RBAC}/rolebindings/b", change, MERGE)
    assert causes == [("roleRef", "FieldValueInvalid")]


def test_the_selector_of_an_aggregated_cluster_role_must_be_valid() -> None:
    client = RawClient()
    expression: dict[str, Any] = {"key": "", "operator": "", "values": ["-"]}
    rule = {"clusterRoleSelectors": [{"matchExpressions": [expression]}]}
    body: dict[str, Any] = {"metadata": {"name": "r"}, "aggregationRule": rule, "rules": []}
    causes = blamed(client, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", body)
    path = "aggregationRule.clusterRoleSelectors[0].matchExpressions[0]"
    assert {field for field, _ in causes} == {f"{path}.key", f"{path}.operator", f"{path}.values[0]"}
    client.cluster.advance(1)


def test_every_source_of_a_metric_is_validated_whatever_its_type() -> None:
    metric = {"type": "X", "resource": {"name": "memory", "target": {"type": "Utilization"}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    body: dict[str, Any] = {
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [metric]},
    }
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert blamed(RawClient(), "POST", path, body) == [
        ("spec.metrics[0].resource.target.averageUtilization", "FieldValueRequired"),
        ("spec.metrics[0].type", "FieldValueNotSupported"),
    ]


PATCH: Final = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}
MUTATIONS: Final[list[tuple[dict[str, Any], str]]] = [
    (PATCH, ""),
    ({"patchType": "JSONPatch"}, "spec.mutations[0].jsonPatch"),
    ({"patchType": "JSONPatch", "jsonPatch": {}}, "spec.mutations[0].jsonPatch.expression"),
    ({"patchType": "ApplyConfiguration"}, "spec.mutations[0].applyConfiguration"),
]


@pytest.mark.parametrize(("mutation", "field"), MUTATIONS, ids=[str(row[0]) for row in MUTATIONS])
def test_a_mutation_must_have_the_form_of_its_type(mutation: dict[str, Any], field: str) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
    }
    target = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    body = {"metadata": {"name": "m"}, "spec": spec}
    if field:
        assert blamed(RawClient(), "POST", target, body) == [(field, "FieldValueRequired")]
    else:
        RawClient().create(target, body)

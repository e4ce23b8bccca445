"""Manifests of an operator: their content, and their acceptance by a server."""

from __future__ import annotations

from typing import Any

import librarian
import msgspec
import pytest
from book_operators import (
    PACKAGING,
    OldBook,
    check,
    do_nothing,
    downgrade,
    upgrade,
    with_conversion,
    with_files,
    with_managed_certificates,
    with_two_versions,
)
from librarian import Book
from simulated_programs import objects_of

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime import Client, Controller, Operator
from kubeproto_runtime.manifests import (
    description_of,
    dockerfile,
    manifests,
)
from kubeproto_runtime.operator import FollowedKind, ProgramDescription
from kubeproto_runtime.testing import run, simulated
from kubeproto_runtime.webhooks import (
    CertificateFiles,
    Webhooks,
    WebhookServer,
)


def by_kind(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {obj["kind"]: obj for obj in objects}


def pod_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    objects_by_kind: dict[str, Any] = by_kind(objects)["Deployment"]["spec"]["template"]["spec"]
    return objects_by_kind


def test_prerequisites_come_first_and_all_objects_have_the_label_of_the_operator() -> None:
    objects = objects_of(librarian.operator, PACKAGING)
    assert [obj["kind"] for obj in objects] == [
        "CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
        "Role", "RoleBinding", "NetworkPolicy", "PodDisruptionBudget", "Deployment",
    ]  # fmt: skip
    assert {obj["metadata"]["labels"]["app.kubernetes.io/name"] for obj in objects} == {"books"}
    assert {obj["metadata"].get("namespace", "library") for obj in objects} == {"library"}


def test_probes_request_the_pages_of_the_health_port() -> None:
    def operator(client: Client) -> Operator:
        return Operator(port=8080)

    container = pod_of(objects_of(operator, PACKAGING))["containers"][0]
    assert container["ports"] == [{"name": "health", "containerPort": 8080}]
    probes = {
        name: container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe", "startupProbe")
    }
    assert probes == {
        "livenessProbe": {"path": "/livez", "port": "health"},
        "readinessProbe": {"path": "/readyz", "port": "health"},
        "startupProbe": {"path": "/readyz", "port": "health"},
    }
    [policy] = [obj for obj in objects_of(operator, PACKAGING) if obj["kind"] == "NetworkPolicy"]
    assert policy["spec"]["ingress"] == [{"ports": [{"port": "health"}]}]


def test_a_pod_with_conversion_webhooks_is_ready_before_its_caches_sync() -> None:
    def probe_paths(webhooks: Webhooks[Book]) -> set[str]:
        server = WebhookServer(webhooks, CertificateFiles("/c/tls.crt", "/c/tls.key"))
        objects = objects_of(lambda client: Operator(port=8080, webhooks=server), PACKAGING)
        container = pod_of(objects)["containers"][0]
        return {container[name]["httpGet"]["path"] for name in ("readinessProbe", "startupProbe")}

    assert probe_paths(Webhooks(Book).validate(check)) == {"/readyz"}
    assert probe_paths(Webhooks(Book).convert(OldBook, up=upgrade, down=downgrade)) == {"/readyz/webhooks"}


def test_an_operator_without_a_health_port_has_no_probes_and_no_ingress() -> None:
    objects = objects_of(lambda client: Operator(), PACKAGING)
    container = pod_of(objects)["containers"][0]
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()
    assert by_kind(objects)["NetworkPolicy"]["spec"]["ingress"] == []


def test_pods_have_time_to_drain_and_are_evicted_one_at_a_time() -> None:
    objects = objects_of(librarian.operator, PACKAGING)
    assert (
        pod_of(objects)["terminationGracePeriodSeconds"] == 30
    )  # 20 s of grace, and 10 s for the exit of the process
    assert by_kind(objects)["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_an_operator_without_an_election_has_a_single_replica_that_is_recreated() -> None:
    assert by_kind(objects_of(librarian.operator, PACKAGING))["Deployment"]["spec"]["replicas"] == 2

    def operator_without_election(client: Client) -> Operator:
        operator = Operator()
        operator.add(Controller(client, Book).run(librarian.label))  # type: ignore[arg-type]
        return operator

    spec = by_kind(objects_of(operator_without_election, PACKAGING))["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    with pytest.raises(ValueError, match="2 replicas of books without an election would all reconcile"):
        objects_of(operator_without_election, msgspec.structs.replace(PACKAGING, replicas=2))


def test_certificate_files_come_from_cert_manager_and_are_mounted() -> None:
    objects = objects_of(with_files, PACKAGING)
    objects_by_kind = by_kind(objects)
    assert objects_by_kind["Certificate"]["spec"] == {
        "secretName": "books-webhooks",
        "dnsNames": ["books-webhooks.library.svc", "books-webhooks.library.svc.cluster.local"],
        "issuerRef": {"name": "books-webhooks"},
    }
    mounts = pod_of(objects)["containers"][0]["volumeMounts"]
    assert {"name": "certificates", "mountPath": "/certificates"} in mounts
    assert {"name": "certificates", "secret": {"secretName": "books-webhooks"}} in pod_of(objects)["volumes"]
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        annotations = objects_by_kind[kind]["metadata"]["annotations"]
        assert annotations == {"cert-manager.io/inject-ca-from": "library/books-webhooks"}
        [webhook] = objects_by_kind[kind]["webhooks"]
        assert webhook["clientConfig"]["service"]["name"] == objects_by_kind["Service"]["metadata"]["name"]
    assert objects_by_kind["Service"]["spec"]["ports"] == [
        {"name": "webhooks", "port": 443, "targetPort": "webhooks"}
    ]
    assert {"name": "webhooks", "containerPort": 9443} in pod_of(objects)["containers"][0]["ports"]


def test_managed_certificates_grant_writes_of_named_objects_only() -> None:
    objects = objects_of(with_managed_certificates, PACKAGING)
    objects_by_kind = by_kind(objects)
    assert not {"Certificate", "Issuer"} & objects_by_kind.keys()
    assert {
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["certificate"],
        "verbs": ["get", "list", "watch", "update"],
    } in objects_by_kind["Role"]["rules"]  # fmt: skip
    rules_by_resource = {
        rule["resources"][0]: (rule["resourceNames"], rule["verbs"])
        for rule in objects_by_kind["ClusterRole"]["rules"]
        if rule["apiGroups"] == ["admissionregistration.k8s.io"]
    }
    expected_rule = (["books-books"], ["get", "list", "watch", "patch"])
    assert rules_by_resource == {
        "validatingwebhookconfigurations": expected_rule,
        "mutatingwebhookconfigurations": expected_rule,
    }


@pytest.mark.parametrize("make", [librarian.operator, with_files, with_managed_certificates])
def test_the_simulated_server_accepts_the_manifests_in_order(make: Any) -> None:
    async def body() -> list[str]:
        cluster = sim.Cluster(populated=True)
        for name in ("Certificate", "Issuer"):
            cluster.define(permissive_definition(name))
        cluster.advance(5)
        async with simulated(cluster) as client:
            applied = await client.apply_manifests(
                manifests(describe(make, client), PACKAGING), field_manager="test"
            )
        return [result.outcome for result in applied]

    assert set(run(body)) <= {"created", "configured"}


def describe(make: Any, client: Client) -> Any:
    return description_of(make(client))


def permissive_definition(kind: str) -> dict[str, Any]:
    """Return a definition of a cert-manager kind that accepts any object."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }  # fmt: skip


@pytest.mark.parametrize("value", [None, "books", [], [1], 5])
def test_a_value_that_is_not_an_operator_is_refused_with_a_remedy(value: Any) -> None:
    with pytest.raises(TypeError, match="is not an operator: return an Operator"):
        description_of(value)


def test_certificates_for_other_names_are_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"does not renew the authorities in .*Configuration others-books"):
        objects_of(with_managed_certificates, msgspec.structs.replace(PACKAGING, name="others"))
    with pytest.raises(ValueError, match=r"is not valid for books-webhooks\.elsewhere\.svc, where"):
        objects_of(with_managed_certificates, msgspec.structs.replace(PACKAGING, namespace="elsewhere"))


# Programs without an Operator


def describe_page(client: Client) -> ProgramDescription:
    follows = (FollowedKind(Book.resource, (client.namespace,)),)
    return ProgramDescription(
        kinds=(Book,), follows=follows, reconciles=False, health_port=8000, http_port=8000
    )


def test_a_program_without_an_operator_describes_itself() -> None:
    objects = objects_of(describe_page, PACKAGING)
    objects_by_kind = by_kind(objects)
    assert objects_by_kind["CustomResourceDefinition"]["metadata"]["name"] == "books.manifests.example.com"
    assert objects_by_kind["Service"]["spec"]["ports"] == [
        {"name": "http", "port": 80, "targetPort": "health"}
    ]
    assert pod_of(objects)["containers"][0]["ports"] == [{"name": "health", "containerPort": 8000}]
    assert "ClusterRole" not in objects_by_kind  # all recorded permissions are in its own namespace
    [role] = [obj for obj in objects if obj["kind"] == "Role"]
    assert role["metadata"] | {"labels": {}} == {"name": "books", "namespace": "library", "labels": {}}
    assert [rule["verbs"] for rule in role["rules"]] == [["patch"], ["list", "watch"]]


def test_a_program_that_only_reads_may_have_several_replicas() -> None:
    deployment = by_kind(objects_of(describe_page, msgspec.structs.replace(PACKAGING, replicas=3)))[
        "Deployment"
    ]
    assert deployment["spec"]["replicas"] == 3
    assert "strategy" not in deployment["spec"]


def test_a_page_may_have_a_separate_port() -> None:
    def page(client: Client) -> ProgramDescription:
        return msgspec.structs.replace(describe_page(client), http_port=8080)

    objects = objects_of(page, PACKAGING)
    assert by_kind(objects)["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    ports = pod_of(objects)["containers"][0]["ports"]
    assert ports == [{"name": "health", "containerPort": 8000}, {"name": "http", "containerPort": 8080}]
    assert by_kind(objects)["NetworkPolicy"]["spec"]["ingress"] == [
        {"ports": [{"port": "health"}, {"port": "http"}]}
    ]


def test_all_versions_of_a_kind_are_in_the_same_definition() -> None:
    for make in (with_two_versions, with_conversion):
        [definition] = [
            obj for obj in objects_of(make, PACKAGING) if obj["kind"] == "CustomResourceDefinition"
        ]
        versions = {version["name"]: version["storage"] for version in definition["spec"]["versions"]}
        assert versions == {"v1": True, "v1alpha1": False}
        assert ("conversion" in definition["spec"]) == (make is with_conversion)


class NewBook(
    kp.Object[librarian.BookSpec, None], group="manifests.example.com", version="v2", plural="books",
    kind="Book",
):  # fmt: skip
    """A book in a future version."""


def test_a_version_that_the_webhooks_do_not_convert_is_refused() -> None:
    def operator(client: Client) -> Operator:
        operator_with_new_version = with_conversion(client)
        operator_with_new_version.add(Controller(client, NewBook, name="new").run(do_nothing))
        return operator_with_new_version

    with pytest.raises(ValueError, match=r"NewBook is followed, but .* do not convert it"):
        objects_of(operator, PACKAGING)


def test_the_dockerfile_runs_the_program_as_the_user_of_the_pods() -> None:
    text = dockerfile("books.py", files="books.py kinds.py")
    assert "COPY books.py kinds.py /app/\n" in text
    assert 'ENTRYPOINT ["python", "/app/books.py"]' in text
    user = pod_of(objects_of(librarian.operator, PACKAGING))["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}\n" in text

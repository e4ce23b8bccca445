"""Manifests of an operator: what is in them, that servers take them, and their three layouts."""

from __future__ import annotations

from typing import Any

import librarian
import msgspec
import pytest
from deployed import objects_of
from librarian import Book
from shelved import (
    PACKAGING,
    OldBook,
    check,
    converting,
    downgraded,
    nothing,
    upgraded,
    with_files,
    with_managed,
    with_two_versions,
)

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
    found: dict[str, Any] = by_kind(objects)["Deployment"]["spec"]["template"]["spec"]
    return found


def test_what_others_need_comes_first_and_everything_has_the_label_of_the_operator() -> None:
    objects = objects_of(librarian.operator, PACKAGING)
    assert [obj["kind"] for obj in objects] == [
        "CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
        "Role", "RoleBinding", "NetworkPolicy", "PodDisruptionBudget", "Deployment",
    ]  # fmt: skip
    assert {obj["metadata"]["labels"]["app.kubernetes.io/name"] for obj in objects} == {"books"}
    assert {obj["metadata"].get("namespace", "library") for obj in objects} == {"library"}


def test_probes_ask_the_pages_of_the_health_port() -> None:
    def operator(client: Client) -> Operator:
        return Operator(port=8080)

    container = pod_of(objects_of(operator, PACKAGING))["containers"][0]
    assert container["ports"] == [{"name": "health", "containerPort": 8080}]
    asked = {name: container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe", "startupProbe")}
    assert asked == {
        "livenessProbe": {"path": "/livez", "port": "health"},
        "readinessProbe": {"path": "/readyz", "port": "health"},
        "startupProbe": {"path": "/readyz", "port": "health"},
    }
    [policy] = [obj for obj in objects_of(operator, PACKAGING) if obj["kind"] == "NetworkPolicy"]
    assert policy["spec"]["ingress"] == [{"ports": [{"port": "health"}]}]


def test_a_pod_whose_webhooks_convert_is_ready_before_its_caches() -> None:
    def probed(webhooks: Webhooks[Book]) -> set[str]:
        server = WebhookServer(webhooks, CertificateFiles("/c/tls.crt", "/c/tls.key"))
        objects = objects_of(lambda client: Operator(port=8080, webhooks=server), PACKAGING)
        container = pod_of(objects)["containers"][0]
        return {container[name]["httpGet"]["path"] for name in ("readinessProbe", "startupProbe")}

    assert probed(Webhooks(Book).validate(check)) == {"/readyz"}
    assert probed(Webhooks(Book).convert(OldBook, up=upgraded, down=downgraded)) == {"/readyz/webhooks"}


def test_an_operator_without_a_health_port_has_no_probes_and_lets_nothing_in() -> None:
    objects = objects_of(lambda client: Operator(), PACKAGING)
    container = pod_of(objects)["containers"][0]
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()
    assert by_kind(objects)["NetworkPolicy"]["spec"]["ingress"] == []


def test_pods_have_time_to_end_and_are_replaced_one_by_one() -> None:
    objects = objects_of(librarian.operator, PACKAGING)
    assert pod_of(objects)["terminationGracePeriodSeconds"] == 30  # the grace of 20 s, and 10 to leave
    assert by_kind(objects)["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_two_replicas_need_an_election_and_one_without_is_never_two_at_once() -> None:
    assert by_kind(objects_of(librarian.operator, PACKAGING))["Deployment"]["spec"]["replicas"] == 2

    def alone(client: Client) -> Operator:
        operator = Operator()
        operator.add(Controller(client, Book).run(librarian.label))  # type: ignore[arg-type]
        return operator

    spec = by_kind(objects_of(alone, PACKAGING))["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    with pytest.raises(ValueError, match="2 replicas of books without an election would all reconcile"):
        objects_of(alone, msgspec.structs.replace(PACKAGING, replicas=2))


def test_a_certificate_in_files_comes_from_cert_manager_and_is_mounted_where_it_is_read() -> None:
    objects = objects_of(with_files, PACKAGING)
    found = by_kind(objects)
    assert found["Certificate"]["spec"] == {
        "secretName": "books-webhooks",
        "dnsNames": ["books-webhooks.library.svc", "books-webhooks.library.svc.cluster.local"],
        "issuerRef": {"name": "books-webhooks"},
    }
    mounts = pod_of(objects)["containers"][0]["volumeMounts"]
    assert {"name": "certificates", "mountPath": "/certificates"} in mounts
    assert {"name": "certificates", "secret": {"secretName": "books-webhooks"}} in pod_of(objects)["volumes"]
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        annotations = found[kind]["metadata"]["annotations"]
        assert annotations == {"cert-manager.io/inject-ca-from": "library/books-webhooks"}
        [webhook] = found[kind]["webhooks"]
        assert webhook["clientConfig"]["service"]["name"] == found["Service"]["metadata"]["name"]
    assert found["Service"]["spec"]["ports"] == [{"name": "webhooks", "port": 443, "targetPort": "webhooks"}]
    assert {"name": "webhooks", "containerPort": 9443} in pod_of(objects)["containers"][0]["ports"]


def test_an_operator_that_makes_its_certificates_may_write_its_secret_and_its_configurations_alone() -> None:
    objects = objects_of(with_managed, PACKAGING)
    found = by_kind(objects)
    assert not {"Certificate", "Issuer"} & found.keys()
    assert {
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["certificate"],
        "verbs": ["get", "list", "watch", "update"],
    } in found["Role"]["rules"]  # fmt: skip
    named = {
        rule["resources"][0]: (rule["resourceNames"], rule["verbs"])
        for rule in found["ClusterRole"]["rules"]
        if rule["apiGroups"] == ["admissionregistration.k8s.io"]
    }
    allowed = (["books-books"], ["get", "list", "watch", "patch"])
    assert named == {"validatingwebhookconfigurations": allowed, "mutatingwebhookconfigurations": allowed}


@pytest.mark.parametrize("make", [librarian.operator, with_files, with_managed])
def test_the_simulated_server_takes_them_in_their_order(make: Any) -> None:
    async def body() -> list[str]:
        cluster = sim.Cluster(populated=True)
        for name in ("Certificate", "Issuer"):
            cluster.define(anything(name))
        cluster.advance(5)
        async with simulated(cluster) as client:
            applied = await client.apply_manifests(
                manifests(described_in(make, client), PACKAGING), field_manager="test"
            )
        return [one.outcome for one in applied]

    assert set(run(body)) <= {"created", "configured"}


def described_in(make: Any, client: Client) -> Any:
    return description_of(make(client))


def anything(kind: str) -> dict[str, Any]:
    """A definition that takes whatever is sent, of a kind of cert-manager."""
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


@pytest.mark.parametrize("wrong", [None, "books", [], [1], 5])
def test_what_is_not_an_operator_is_refused_with_what_to_return(wrong: Any) -> None:
    with pytest.raises(TypeError, match="is not an operator: return an Operator"):
        description_of(wrong)


def test_certificates_for_other_names_are_refused_with_what_to_change() -> None:
    with pytest.raises(ValueError, match=r"does not renew the authorities in .*Configuration others-books"):
        objects_of(with_managed, msgspec.structs.replace(PACKAGING, name="others"))
    with pytest.raises(ValueError, match=r"is not valid for books-webhooks\.elsewhere\.svc, where"):
        objects_of(with_managed, msgspec.structs.replace(PACKAGING, namespace="elsewhere"))


# Programs without an Operator


def a_page(client: Client) -> ProgramDescription:
    follows = (FollowedKind(Book.resource, (client.namespace,)),)
    return ProgramDescription(
        kinds=(Book,), follows=follows, reconciles=False, health_port=8000, http_port=8000
    )


def test_a_program_without_an_operator_describes_itself() -> None:
    objects = objects_of(a_page, PACKAGING)
    found = by_kind(objects)
    assert found["CustomResourceDefinition"]["metadata"]["name"] == "books.manifests.example.com"
    assert found["Service"]["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "health"}]
    assert pod_of(objects)["containers"][0]["ports"] == [{"name": "health", "containerPort": 8000}]
    assert "ClusterRole" not in found  # also what its tests have recorded is about its own namespace
    [role] = [obj for obj in objects if obj["kind"] == "Role"]
    assert role["metadata"] | {"labels": {}} == {"name": "books", "namespace": "library", "labels": {}}
    assert [rule["verbs"] for rule in role["rules"]] == [["patch"], ["list", "watch"]]


def test_what_only_reads_may_run_side_by_side() -> None:
    deployment = by_kind(objects_of(a_page, msgspec.structs.replace(PACKAGING, replicas=3)))["Deployment"]
    assert deployment["spec"]["replicas"] == 3
    assert "strategy" not in deployment["spec"]


def test_a_page_may_have_a_port_of_its_own() -> None:
    def page(client: Client) -> ProgramDescription:
        return msgspec.structs.replace(a_page(client), http_port=8080)

    objects = objects_of(page, PACKAGING)
    assert by_kind(objects)["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    ports = pod_of(objects)["containers"][0]["ports"]
    assert ports == [{"name": "health", "containerPort": 8000}, {"name": "http", "containerPort": 8080}]
    assert by_kind(objects)["NetworkPolicy"]["spec"]["ingress"] == [
        {"ports": [{"port": "health"}, {"port": "http"}]}
    ]


def test_versions_of_one_kind_are_in_one_definition() -> None:
    for make in (with_two_versions, converting):
        [definition] = [
            one for one in objects_of(make, PACKAGING) if one["kind"] == "CustomResourceDefinition"
        ]
        versions = {one["name"]: one["storage"] for one in definition["spec"]["versions"]}
        assert versions == {"v1": True, "v1alpha1": False}
        assert ("conversion" in definition["spec"]) == (make is converting)


class NewBook(
    kp.Object[librarian.BookSpec, None], group="manifests.example.com", version="v2", plural="books",
    kind="Book",
):  # fmt: skip
    """A book as it will be."""


def test_a_version_that_the_webhooks_do_not_convert_is_refused() -> None:
    def operator(client: Client) -> Operator:
        made = converting(client)
        made.add(Controller(client, NewBook, name="new").run(nothing))
        return made

    with pytest.raises(ValueError, match=r"NewBook is followed, and .* do not convert it"):
        objects_of(operator, PACKAGING)


def test_the_dockerfile_runs_the_program_as_the_user_of_the_pods() -> None:
    text = dockerfile("books.py", files="books.py kinds.py")
    assert "COPY books.py kinds.py /app/\n" in text
    assert 'ENTRYPOINT ["python", "/app/books.py"]' in text
    user = pod_of(objects_of(librarian.operator, PACKAGING))["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}\n" in text

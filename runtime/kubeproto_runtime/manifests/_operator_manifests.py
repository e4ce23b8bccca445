"""`manifests`: returns the objects that a program needs in a cluster, in apply order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubeproto import Dynamic, parse_manifest
from kubeproto.crd import definitions_of

from .._documents import to_builtins
from ..webhooks import CertificateFiles, ManagedCertificates, WebhookAddress
from ._packaging import Packaging
from ._role_rules import CLUSTER, RoleRule, roles
from ._workload_manifests import (
    build_deployment,
    build_disruption_budget,
    build_http_service,
    build_network_policy,
    build_webhook_service,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..operator import ProgramDescription
    from ._workload_manifests import Document

_RBAC: Final = "rbac.authorization.k8s.io"
INJECT_FROM: Final = "cert-manager.io/inject-ca-from"


def manifests(description: ProgramDescription, packaging: Packaging) -> list[Dynamic]:
    """Return the objects that a program needs, in the order of their dependencies.

    These are definitions, Namespace, ServiceAccount, roles and bindings, Services, NetworkPolicy,
    PodDisruptionBudget, Deployment, and last the webhook configurations, because the API server calls the
    webhooks as soon as these exist. Raise ValueError if replicas would interfere with each other, or if
    `ManagedCertificates` are valid for other names than those of the webhooks in these manifests.
    """
    packaging = _fill_defaults(description, packaging)
    address = WebhookAddress(namespace=packaging.namespace, service=f"{packaging.name}-webhooks")
    documents = [
        document | _labelled_metadata(document, packaging)
        for document in _build_documents(description, packaging, address)
    ]
    _check_certificates(documents, description, address)
    return parse_manifest(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents}))


def _fill_defaults(description: ProgramDescription, packaging: Packaging) -> Packaging:
    replicas = packaging.replicas or (2 if description.lease else 1)
    if replicas > 1 and description.follows and description.reconciles and not description.lease:
        raise ValueError(
            f"{replicas} replicas of {packaging.name} without an election would all reconcile:"
            " pass a LeaderElector to its Operator, or use a single replica"
        )
    return msgspec.structs.replace(
        packaging,
        namespace=packaging.namespace or packaging.name,
        image=packaging.image or f"{packaging.name}:latest",
        replicas=replicas,
    )


def _build_documents(
    description: ProgramDescription, packaging: Packaging, address: WebhookAddress
) -> Iterator[Document]:
    yield from _build_definitions(description, packaging, address)
    yield _build_document(
        "v1", "Namespace", packaging.namespace,
        labels={"pod-security.kubernetes.io/enforce": "restricted"},
    )  # fmt: skip
    account = _build_document("v1", "ServiceAccount", packaging.name, packaging.namespace)
    yield account | {"automountServiceAccountToken": False}  # the Deployment mounts a token itself
    yield from _build_roles(description, packaging)
    if description.http_port is not None:
        yield build_http_service(description, packaging)
    if description.webhooks is not None:
        yield build_webhook_service(packaging, address.service)
        yield from _build_certificates(description, packaging, address)
    yield build_network_policy(description, packaging)
    yield build_disruption_budget(packaging)
    yield build_deployment(description, packaging)
    yield from _build_configurations(description, packaging, address)


def _build_document(api_version: str, kind: str, name: str, namespace: str = "", **metadata: Any) -> Document:
    optional = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **optional, **metadata}}


def _labelled_metadata(document: Document, packaging: Packaging) -> Document:
    labels = {"app.kubernetes.io/name": packaging.name, **document["metadata"].get("labels", {})}
    return {"metadata": {**document["metadata"], "labels": labels}}


# Roles


def _build_roles(description: ProgramDescription, packaging: Packaging) -> Iterator[Document]:
    for namespace, rules in roles(description, packaging.access, own_namespace=packaging.namespace).items():
        yield from _build_role("Cluster" if namespace == CLUSTER else "", namespace, rules, packaging)


def _build_role(
    scope: str, namespace: str, rules: tuple[RoleRule, ...], packaging: Packaging
) -> Iterator[Document]:
    name = packaging.name
    role = _build_document(f"{_RBAC}/v1", f"{scope}Role", name, namespace)
    yield role | {"rules": [_build_rule(rule) for rule in rules]}
    binding = _build_document(f"{_RBAC}/v1", f"{scope}RoleBinding", name, namespace)
    account = {"kind": "ServiceAccount", "name": packaging.name, "namespace": packaging.namespace}
    yield binding | {
        "roleRef": {"apiGroup": _RBAC, "kind": f"{scope}Role", "name": name},
        "subjects": [account],
    }


def _build_rule(rule: RoleRule) -> Document:
    names = {"resourceNames": list(rule.names)} if rule.names else {}
    return {
        "apiGroups": [rule.group], "resources": [rule.resource], **names, "verbs": list(rule.verbs),
    }  # fmt: skip


# Definitions and webhooks


def _build_definitions(
    description: ProgramDescription, packaging: Packaging, address: WebhookAddress
) -> Iterator[Document]:
    kinds = [kind for kind in dict.fromkeys(description.kinds) if _has_definition(kind)]
    for webhooks in description.webhooks.webhooks.webhooks if description.webhooks else ():
        if not webhooks.conversions:
            continue
        yield _inject_authority(to_builtins(webhooks.definition(address)), description, packaging)
        versions = [kind for kind in kinds if _kind_of(kind) == _kind_of(webhooks.kind)]
        if missing := [kind for kind in versions if kind not in webhooks.conversions.classes]:
            raise ValueError(
                f"{missing[0].__name__} is followed, but {webhooks} do not convert it: add it with convert()"
            )
        kinds = [kind for kind in kinds if kind not in versions]
    yield from map(to_builtins, definitions_of(kinds))


def _kind_of(kind: type[Any]) -> tuple[str, str]:
    return kind.resource.group, kind.resource.kind


def _has_definition(kind: type[Any]) -> bool:
    # Built-in kinds need no definition, and a Dynamic has no schema.
    return not kind.__module__.startswith("kubeproto.") and not issubclass(kind, Dynamic)


def _build_configurations(
    description: ProgramDescription, packaging: Packaging, address: WebhookAddress
) -> Iterator[Document]:
    if description.webhooks is None:
        return
    for webhooks in description.webhooks.webhooks.webhooks:
        name = f"{packaging.name}-{webhooks.kind.resource.plural}"
        for configuration in webhooks.configurations(name, address):
            yield _inject_authority(to_builtins(configuration), description, packaging)


def _inject_authority(document: Document, description: ProgramDescription, packaging: Packaging) -> Document:
    """Return a document into which cert-manager injects its authority, if the certificate is in files."""
    if description.webhooks is None or not isinstance(description.webhooks.certificates, CertificateFiles):
        return document
    annotations = {INJECT_FROM: f"{packaging.namespace}/{packaging.name}-webhooks"}
    return document | {"metadata": {**document["metadata"], "annotations": annotations}}


def _check_certificates(
    documents: list[Document], description: ProgramDescription, address: WebhookAddress
) -> None:
    """Raise ValueError for certificates that the API server would not trust once these are applied."""
    certificates = description.webhooks.certificates if description.webhooks is not None else None
    if not isinstance(certificates, ManagedCertificates):
        return
    managed = {(resource.kind, name) for resource, name in certificates.targets}
    calling = {
        (document["kind"], document["metadata"]["name"])
        for document in documents
        if _calls_webhooks(document)
    }
    if missing := ", ".join(f"{kind} {name}" for kind, name in sorted(calling - managed)):
        raise ValueError(
            f"{certificates} does not renew the authorities in {missing}: pass it the configurations of these"
            " manifests, or package the program under the expected name"
        )
    if address.hosts[0] not in certificates.hosts:
        raise ValueError(
            f"{certificates} is not valid for {address.hosts[0]}, where the API server calls these webhooks:"
            " pass it a WebhookAddress with this Service and namespace"
        )


def _calls_webhooks(document: Document) -> bool:
    return "webhooks" in document or "conversion" in document.get("spec", {})


def _build_certificates(
    description: ProgramDescription, packaging: Packaging, address: WebhookAddress
) -> Iterator[Document]:
    if description.webhooks is None or not isinstance(description.webhooks.certificates, CertificateFiles):
        return  # the operator issues its certificate
    name = f"{packaging.name}-webhooks"
    yield _build_document("cert-manager.io/v1", "Issuer", name, packaging.namespace) | {
        "spec": {"selfSigned": {}}
    }
    yield _build_document("cert-manager.io/v1", "Certificate", name, packaging.namespace) | {
        "spec": {"secretName": name, "dnsNames": list(address.hosts), "issuerRef": {"name": name}}
    }

"""`manifests`: everything that a program needs in a cluster, as objects to apply in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubeproto import Dynamic, parse_manifest
from kubeproto.crd import definitions_of

from .._documents import plain
from ..webhooks import CertificateFiles, ManagedCertificates, Where
from ._packaging import Packaging
from ._pods import deployment, disruption_budget, http_service, network_policy, webhook_service
from ._rights import CLUSTER, RoleRule, roles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..operator import ProgramDescription
    from ._pods import Document

_RBAC: Final = "rbac.authorization.k8s.io"
INJECT_FROM: Final = "cert-manager.io/inject-ca-from"


def manifests(described: ProgramDescription, packaging: Packaging) -> list[Dynamic]:
    """Return the objects that a program needs, those first that others need.

    Definitions, Namespace, ServiceAccount, roles and bindings, Services, NetworkPolicy, PodDisruptionBudget,
    Deployment, and the webhook configurations last: from then on the API server calls the webhooks.
    ValueError if replicas would interfere with each other, or if `ManagedCertificates` are for other names
    than the webhooks have here.
    """
    packaging = _complete(described, packaging)
    where = Where(namespace=packaging.namespace, service=f"{packaging.name}-webhooks")
    documents = [
        document | _labelled(document, packaging) for document in _documents(described, packaging, where)
    ]
    _check_certificates(documents, described, where)
    return parse_manifest(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents}))


def _complete(described: ProgramDescription, given: Packaging) -> Packaging:
    replicas = given.replicas or (2 if described.lease else 1)
    if replicas > 1 and described.follows and described.reconciles and not described.lease:
        raise ValueError(
            f"{replicas} replicas of {given.name} without an election would all reconcile: give its Operator"
            " a LeaderElector, or leave it at one replica"
        )
    return msgspec.structs.replace(
        given,
        namespace=given.namespace or given.name,
        image=given.image or f"{given.name}:latest",
        replicas=replicas,
    )


def _documents(described: ProgramDescription, packaging: Packaging, where: Where) -> Iterator[Document]:
    yield from _definitions(described, packaging, where)
    yield _named(
        "v1", "Namespace", packaging.namespace,
        labels={"pod-security.kubernetes.io/enforce": "restricted"},
    )  # fmt: skip
    account = _named("v1", "ServiceAccount", packaging.name, packaging.namespace)
    yield account | {"automountServiceAccountToken": False}  # the Deployment asks for it
    yield from _roles(described, packaging)
    if described.http_port is not None:
        yield http_service(described, packaging)
    if described.webhooks is not None:
        yield webhook_service(packaging, where.service)
        yield from _certificates(described, packaging, where)
    yield network_policy(described, packaging)
    yield disruption_budget(packaging)
    yield deployment(described, packaging)
    yield from _configurations(described, packaging, where)


def _named(api_version: str, kind: str, name: str, namespace: str = "", **metadata: Any) -> Document:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place, **metadata}}


def _labelled(document: Document, packaging: Packaging) -> Document:
    labels = {"app.kubernetes.io/name": packaging.name, **document["metadata"].get("labels", {})}
    return {"metadata": {**document["metadata"], "labels": labels}}


# Rights


def _roles(described: ProgramDescription, packaging: Packaging) -> Iterator[Document]:
    for place, rules in roles(described, packaging.access, own=packaging.namespace).items():
        yield from _role("Cluster" if place == CLUSTER else "", place, rules, packaging)


def _role(
    scope: str, namespace: str, rules: tuple[RoleRule, ...], packaging: Packaging
) -> Iterator[Document]:
    name = packaging.name
    role = _named(f"{_RBAC}/v1", f"{scope}Role", name, namespace)
    yield role | {"rules": [_rule(one) for one in rules]}
    binding = _named(f"{_RBAC}/v1", f"{scope}RoleBinding", name, namespace)
    account = {"kind": "ServiceAccount", "name": packaging.name, "namespace": packaging.namespace}
    yield binding | {
        "roleRef": {"apiGroup": _RBAC, "kind": f"{scope}Role", "name": name},
        "subjects": [account],
    }


def _rule(rule: RoleRule) -> Document:
    names = {"resourceNames": list(rule.names)} if rule.names else {}
    return {
        "apiGroups": [rule.group], "resources": [rule.resource], **names, "verbs": list(rule.verbs),
    }  # fmt: skip


# Definitions and webhooks


def _definitions(described: ProgramDescription, packaging: Packaging, where: Where) -> Iterator[Document]:
    own = [kind for kind in dict.fromkeys(described.kinds) if _has_definition(kind)]
    for one in described.webhooks.webhooks.webhooks if described.webhooks else ():
        if not one.conversions:
            continue
        yield _injected(plain(one.definition(where)), described, packaging)
        versions = [kind for kind in own if _kind_of(kind) == _kind_of(one.kind)]
        if missing := [kind for kind in versions if kind not in one.conversions.classes]:
            raise ValueError(
                f"{missing[0].__name__} is followed, and {one} do not convert it: add it with convert()"
            )
        own = [kind for kind in own if kind not in versions]
    yield from map(plain, definitions_of(own))


def _kind_of(kind: type[Any]) -> tuple[str, str]:
    return kind.resource.group, kind.resource.kind


def _has_definition(kind: type[Any]) -> bool:
    # Built-in kinds need no definition, and a Dynamic has no schema.
    return not kind.__module__.startswith("kubeproto.") and not issubclass(kind, Dynamic)


def _configurations(described: ProgramDescription, packaging: Packaging, where: Where) -> Iterator[Document]:
    if described.webhooks is None:
        return
    for webhooks in described.webhooks.webhooks.webhooks:
        name = f"{packaging.name}-{webhooks.kind.resource.plural}"
        for one in webhooks.configurations(name, where):
            yield _injected(plain(one), described, packaging)


def _injected(document: Document, described: ProgramDescription, packaging: Packaging) -> Document:
    """Have cert-manager insert its authority, if the certificate is in files."""
    if described.webhooks is None or not isinstance(described.webhooks.certificates, CertificateFiles):
        return document
    annotations = {INJECT_FROM: f"{packaging.namespace}/{packaging.name}-webhooks"}
    return document | {"metadata": {**document["metadata"], "annotations": annotations}}


def _check_certificates(documents: list[Document], described: ProgramDescription, where: Where) -> None:
    """Refuse certificates that the API server would not trust at what these manifests create."""
    certificates = described.webhooks.certificates if described.webhooks is not None else None
    if not isinstance(certificates, ManagedCertificates):
        return
    kept = {(resource.kind, name) for resource, name in certificates.targets}
    calling = {(one["kind"], one["metadata"]["name"]) for one in documents if _calls_webhooks(one)}
    if missing := ", ".join(f"{kind} {name}" for kind, name in sorted(calling - kept)):
        raise ValueError(
            f"{certificates} keeps no authorities current in {missing}: give it the configurations that these"
            " manifests create, or package the program under the name that it expects"
        )
    if where.hosts[0] not in certificates.hosts:
        raise ValueError(
            f"{certificates} is not for {where.hosts[0]}, where the API server is to call these webhooks:"
            " give it a Where with this Service and namespace"
        )


def _calls_webhooks(document: Document) -> bool:
    return "webhooks" in document or "conversion" in document.get("spec", {})


def _certificates(described: ProgramDescription, packaging: Packaging, where: Where) -> Iterator[Document]:
    if described.webhooks is None or not isinstance(described.webhooks.certificates, CertificateFiles):
        return  # the operator makes its own
    name = f"{packaging.name}-webhooks"
    yield _named("cert-manager.io/v1", "Issuer", name, packaging.namespace) | {"spec": {"selfSigned": {}}}
    yield _named("cert-manager.io/v1", "Certificate", name, packaging.namespace) | {
        "spec": {"secretName": name, "dnsNames": list(where.hosts), "issuerRef": {"name": name}}
    }

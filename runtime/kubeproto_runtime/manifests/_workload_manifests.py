"""The Deployment of an operator, and the policies and Services of its pods.

The pods satisfy the Pod Security Standard *restricted*: no root, no writable root file system, no
capabilities, the default seccomp profile.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from ..webhooks import CertificateFiles

if TYPE_CHECKING:
    from ..operator import ProgramDescription
    from ._packaging import Packaging

    Document: TypeAlias = dict[str, Any]
else:
    Document = dict

_USER = 65532  # the user nonroot of distroless images
_EXIT_TIME = 10  # seconds after the grace period, in which a process releases its lease and exits


def _build_metadata(name: str, packaging: Packaging) -> Document:
    return {"name": name, "namespace": packaging.namespace}


def _pod_labels(packaging: Packaging) -> Document:
    return {"app.kubernetes.io/name": packaging.name}


def build_deployment(description: ProgramDescription, packaging: Packaging) -> Document:
    """Return the Deployment.

    Without an election the old pod is deleted before the new pod is created, because two pods would reconcile
    the same objects.
    """
    template = {
        "metadata": {"labels": _pod_labels(packaging)},
        "spec": _build_pod_spec(description, packaging),
    }
    spec: Document = {
        "replicas": packaging.replicas,
        "selector": {"matchLabels": _pod_labels(packaging)},
        "template": template,
    }
    if description.reconciles and not description.lease:
        spec["strategy"] = {"type": "Recreate"}
    metadata = _build_metadata(packaging.name, packaging)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _build_pod_spec(description: ProgramDescription, packaging: Packaging) -> Document:
    pod: Document = {
        "serviceAccountName": packaging.name,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": math.ceil(description.grace) + _EXIT_TIME,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_build_container(description, packaging)],
    }
    if packaging.replicas > 1:
        spread = {"labelSelector": {"matchLabels": _pod_labels(packaging)}}
        pod["topologySpreadConstraints"] = [
            spread
            | {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
        ]
    if volumes := _volumes(description, packaging):
        pod["volumes"] = volumes
    return pod


def _build_container(description: ProgramDescription, packaging: Packaging) -> Document:
    name = "operator" if description.reconciles else packaging.name
    container: Document = {"name": name, "image": packaging.image}
    if packaging.command:
        container["command"] = list(packaging.command)
    container["env"] = [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
    ]
    if ports := [{"name": name, "containerPort": port} for name, port in _ports(description).items()]:
        container["ports"] = ports
    if description.health_port:
        ready = "/readyz/webhooks" if _may_convert_own_objects(description) else "/readyz"
        container["startupProbe"] = _build_probe(ready, periodSeconds=2, failureThreshold=90)
        container["livenessProbe"] = _build_probe("/livez", periodSeconds=10, failureThreshold=3)
        container["readinessProbe"] = _build_probe(ready, periodSeconds=5, failureThreshold=3)
    container["resources"] = {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "256Mi"}}
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    if mounts := [{"name": name, "mountPath": path} for name, path in _mounts(description).items()]:
        container["volumeMounts"] = mounts
    return container


def _may_convert_own_objects(description: ProgramDescription) -> bool:
    """Return whether the caches of a program may need its own conversion webhooks.

    The API server sends webhooks only to ready pods, and must call the conversion webhook to list objects
    that are stored in another version. A pod whose readiness requires synced caches would never become ready.
    """
    server = description.webhooks
    return server is not None and any(webhooks.conversions for webhooks in server.webhooks.webhooks)


def _build_probe(path: str, **settings: int) -> Document:
    return {"httpGet": {"path": path, "port": "health"}, **settings}


def _ports(description: ProgramDescription) -> dict[str, int]:
    ports = {"health": description.health_port or 0}
    if description.http_port != description.health_port:
        ports["http"] = description.http_port or 0
    if description.webhooks is not None:
        ports["webhooks"] = description.webhooks.port
    return {name: port for name, port in ports.items() if port}


def _mounts(description: ProgramDescription) -> dict[str, str]:
    if description.webhooks is None:
        return {}
    mounts = {"tmp": "/tmp"}  # OpenSSL reads keys from files
    if isinstance(description.webhooks.certificates, CertificateFiles):
        mounts["certificates"] = description.webhooks.certificates.folder
    return mounts


def _volumes(description: ProgramDescription, packaging: Packaging) -> list[Document]:
    volumes: dict[str, Document] = {
        "tmp": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        "certificates": {"secret": {"secretName": f"{packaging.name}-webhooks"}},
    }
    return [{"name": name, **volumes[name]} for name in _mounts(description)]


def build_disruption_budget(packaging: Packaging) -> Document:
    """Return the PodDisruptionBudget. It allows the eviction of a single replica, so nodes can be drained."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _build_metadata(packaging.name, packaging),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _pod_labels(packaging)}},
    }


def build_network_policy(description: ProgramDescription, packaging: Packaging) -> Document:
    """Return the NetworkPolicy: ingress to the ports of the pods, egress to DNS and the API server.

    The API server and the kubelet are not in the network of pods, so no selector matches them. Only the ports
    are limited.
    """
    ingress_ports = [{"port": name} for name in _ports(description)]
    spec: Document = {
        "podSelector": {"matchLabels": _pod_labels(packaging)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": ingress_ports}] if ingress_ports else [],
        "egress": [
            {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
            {"ports": [{"port": 443}, {"port": 6443}]},
        ],
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _build_metadata(packaging.name, packaging),
        "spec": spec,
    }


def build_http_service(description: ProgramDescription, packaging: Packaging) -> Document:
    """Return the Service through which clients in the cluster call the program."""
    target = "health" if description.http_port == description.health_port else "http"
    return _build_service(packaging.name, packaging, {"name": "http", "port": 80, "targetPort": target})


def build_webhook_service(packaging: Packaging, name: str) -> Document:
    """Return the Service through which the API server calls webhooks."""
    return _build_service(name, packaging, {"name": "webhooks", "port": 443, "targetPort": "webhooks"})


def _build_service(name: str, packaging: Packaging, port: Document) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _build_metadata(name, packaging),
        "spec": {"selector": _pod_labels(packaging), "ports": [port]},
    }

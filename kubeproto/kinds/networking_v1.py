"""The kinds of networking.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import msgspec

from ..objects import HasStatus, KubeObject
from ._generated_base import ALL_VERBS, Filled, IntOrString, Part
from .core_v1 import TypedLocalObjectReference
from .meta_v1 import Condition, LabelSelector

__all__ = [
    "HTTPIngressPath",
    "HTTPIngressRuleValue",
    "IPAddress",
    "IPAddressSpec",
    "IPBlock",
    "Ingress",
    "IngressBackend",
    "IngressClass",
    "IngressClassParametersReference",
    "IngressClassSpec",
    "IngressLoadBalancerIngress",
    "IngressLoadBalancerStatus",
    "IngressPortStatus",
    "IngressRule",
    "IngressServiceBackend",
    "IngressSpec",
    "IngressStatus",
    "IngressTLS",
    "NetworkPolicy",
    "NetworkPolicyEgressRule",
    "NetworkPolicyIngressRule",
    "NetworkPolicyPeer",
    "NetworkPolicyPort",
    "NetworkPolicySpec",
    "ParentReference",
    "ServiceBackendPort",
    "ServiceCIDR",
    "ServiceCIDRSpec",
    "ServiceCIDRStatus",
]


class HTTPIngressPath(Part):
    backend: IngressBackend
    path_type: str
    path: str | None = None


class HTTPIngressRuleValue(Part):
    paths: Filled[list[HTTPIngressPath]]

    def __post_init__(self: Any) -> None:
        if self.paths is None:
            self.paths = []


class IPAddressSpec(Part):
    parent_ref: ParentReference


class IPBlock(Part):
    cidr: str
    except_: list[str] | None = None


class IngressBackend(Part):
    resource: TypedLocalObjectReference | None = None
    service: IngressServiceBackend | None = None


class IngressClassParametersReference(Part):
    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None
    scope: str | None = None


class IngressClassSpec(Part):
    controller: str | None = None
    parameters: IngressClassParametersReference | None = None


class IngressLoadBalancerIngress(Part):
    hostname: str | None = None
    ip: str | None = None
    ports: list[IngressPortStatus] | None = None


class IngressLoadBalancerStatus(Part):
    ingress: list[IngressLoadBalancerIngress] | None = None


class IngressPortStatus(Part):
    port: int
    protocol: str
    error: str | None = None


class IngressRule(Part):
    host: str | None = None
    http: HTTPIngressRuleValue | None = None


class IngressServiceBackend(Part):
    name: str
    port: ServiceBackendPort | None = None


class IngressSpec(Part):
    default_backend: IngressBackend | None = None
    ingress_class_name: str | None = None
    rules: list[IngressRule] | None = None
    tls: list[IngressTLS] | None = None


class IngressStatus(Part):
    load_balancer: IngressLoadBalancerStatus | None = None


class IngressTLS(Part):
    hosts: list[str] | None = None
    secret_name: str | None = None


class NetworkPolicyEgressRule(Part):
    ports: list[NetworkPolicyPort] | None = None
    to: list[NetworkPolicyPeer] | None = None


class NetworkPolicyIngressRule(Part):
    from_: list[NetworkPolicyPeer] | None = None
    ports: list[NetworkPolicyPort] | None = None


class NetworkPolicyPeer(Part):
    ip_block: IPBlock | None = None
    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None


class NetworkPolicyPort(Part):
    end_port: int | None = None
    port: IntOrString | None = None
    protocol: str | None = None


class NetworkPolicySpec(Part):
    egress: list[NetworkPolicyEgressRule] | None = None
    ingress: list[NetworkPolicyIngressRule] | None = None
    pod_selector: LabelSelector | None = None
    policy_types: list[str] | None = None


class ParentReference(Part):
    name: str
    resource: str
    group: str | None = None
    namespace: str | None = None


class ServiceBackendPort(Part):
    name: str | None = None
    number: int | None = None


class ServiceCIDRSpec(Part):
    cidrs: list[str] | None = None


class ServiceCIDRStatus(Part):
    conditions: list[Condition] | None = None


class IPAddress(
    KubeObject,
    group="networking.k8s.io",
    version="v1",
    plural="ipaddresses",
    namespaced=False,
    short_names=("ip",),
    verbs=ALL_VERBS,
):
    spec: IPAddressSpec


class Ingress(
    HasStatus,
    group="networking.k8s.io",
    version="v1",
    plural="ingresses",
    short_names=("ing",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: IngressSpec = msgspec.field(default_factory=IngressSpec)
    status: IngressStatus | None = None


class IngressClass(
    KubeObject,
    group="networking.k8s.io",
    version="v1",
    plural="ingressclasses",
    namespaced=False,
    verbs=ALL_VERBS,
):
    spec: IngressClassSpec = msgspec.field(default_factory=IngressClassSpec)


class NetworkPolicy(
    KubeObject,
    group="networking.k8s.io",
    version="v1",
    plural="networkpolicies",
    short_names=("netpol",),
    verbs=ALL_VERBS,
):
    spec: NetworkPolicySpec = msgspec.field(default_factory=NetworkPolicySpec)


class ServiceCIDR(
    HasStatus,
    group="networking.k8s.io",
    version="v1",
    plural="servicecidrs",
    namespaced=False,
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: ServiceCIDRSpec = msgspec.field(default_factory=ServiceCIDRSpec)
    status: ServiceCIDRStatus | None = None

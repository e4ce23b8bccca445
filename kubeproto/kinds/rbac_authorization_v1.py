"""The kinds of rbac.authorization.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import msgspec

from ..objects import KubeObject
from ._generated_base import ALL_VERBS, Filled, Part
from .meta_v1 import LabelSelector

__all__ = [
    "AggregationRule",
    "ClusterRole",
    "ClusterRoleBinding",
    "PolicyRule",
    "Role",
    "RoleBinding",
    "RoleRef",
    "Subject",
]


class AggregationRule(Part):
    cluster_role_selectors: list[LabelSelector] | None = None


class PolicyRule(Part):
    verbs: Filled[list[str]]
    api_groups: list[str] | None = None
    non_resource_urls: list[str] | None = msgspec.field(default=None, name="nonResourceURLs")
    resource_names: list[str] | None = None
    resources: list[str] | None = None

    def __post_init__(self: Any) -> None:
        if self.verbs is None:
            self.verbs = []


class RoleRef(Part):
    kind: str
    name: str
    api_group: str | None = None


class Subject(Part):
    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None


class ClusterRole(
    KubeObject,
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="clusterroles",
    namespaced=False,
    verbs=ALL_VERBS,
):
    aggregation_rule: AggregationRule | None = None
    rules: list[PolicyRule] | None = None


class ClusterRoleBinding(
    KubeObject,
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="clusterrolebindings",
    namespaced=False,
    verbs=ALL_VERBS,
):
    role_ref: RoleRef
    subjects: list[Subject] | None = None


class Role(KubeObject, group="rbac.authorization.k8s.io", version="v1", plural="roles", verbs=ALL_VERBS):
    rules: list[PolicyRule] | None = None


class RoleBinding(
    KubeObject, group="rbac.authorization.k8s.io", version="v1", plural="rolebindings", verbs=ALL_VERBS
):
    role_ref: RoleRef
    subjects: list[Subject] | None = None

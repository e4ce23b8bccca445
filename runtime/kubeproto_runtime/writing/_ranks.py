"""The order in which objects of different kinds are applied: dependencies first.

Namespaces come first, then definitions of custom resources, then objects that others refer to (permissions,
configuration, volumes, services), then workloads, then all other kinds, and last the kinds that can block
requests: webhooks and aggregated APIs. Deletions have the opposite order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kubeproto.objects import GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Dynamic, KubeObject

GroupKind: TypeAlias = tuple[str, str]
"""The group and the kind, which are the same in all versions of an object."""

DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE: Final = ("", "Namespace")

_RANKS: Final[tuple[tuple[GroupKind, ...], ...]] = (
    (NAMESPACE,),
    (DEFINITION,),
    (("scheduling.k8s.io", "PriorityClass"), ("storage.k8s.io", "StorageClass"),
     ("node.k8s.io", "RuntimeClass"), ("networking.k8s.io", "IngressClass"), ("", "ResourceQuota"),
     ("", "LimitRange")),
    (("", "ServiceAccount"), ("rbac.authorization.k8s.io", "ClusterRole"),
     ("rbac.authorization.k8s.io", "Role")),
    (("rbac.authorization.k8s.io", "ClusterRoleBinding"), ("rbac.authorization.k8s.io", "RoleBinding")),
    (("", "ConfigMap"), ("", "Secret"), ("", "PersistentVolume"), ("", "PersistentVolumeClaim")),
    (("", "Service"), ("networking.k8s.io", "NetworkPolicy"), ("policy", "PodDisruptionBudget")),
    (("", "Pod"), ("", "ReplicationController"), ("apps", "DaemonSet"), ("apps", "Deployment"),
     ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("batch", "Job"), ("batch", "CronJob"),
     ("autoscaling", "HorizontalPodAutoscaler"), ("networking.k8s.io", "Ingress")),
    (),  # all other kinds: mostly custom resources, whose controllers are workloads
    (("apiregistration.k8s.io", "APIService"),
     ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
     ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
     ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
     ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
     ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
     ("admissionregistration.k8s.io", "MutatingWebhookConfiguration")),
)  # fmt: skip
_RANK: Final[dict[GroupKind, int]] = {kind: rank for rank, kinds in enumerate(_RANKS) for kind in kinds}
_DEFAULT_RANK: Final = _RANKS.index(())


def group_kind(obj: KubeObject) -> GroupKind:
    """Return the group and the kind of an object."""
    group, slash, _ = obj.api_version.partition("/")
    return group if slash else "", obj.kind


def rank(kind: GroupKind) -> int:
    """Return the rank of a kind: lower ranks are applied first."""
    return _RANK.get(kind, _DEFAULT_RANK)


def defined_kinds(objects: Iterable[Dynamic]) -> dict[GroupVersionKind, Dynamic]:
    """Return the kinds that the definitions among these objects define, each with its definition."""
    definitions: dict[GroupVersionKind, Dynamic] = {}
    for obj in objects:
        if group_kind(obj) == DEFINITION:
            spec: dict[str, Any] = obj.get("spec") or {}
            names: dict[str, Any] = spec.get("names") or {}
            for version in spec.get("versions") or ():
                kind = names.get("kind", "")
                definitions[GroupVersionKind(spec.get("group", ""), version.get("name", ""), kind)] = obj
    return definitions

"""The table of the rules of built-in kinds, beyond the constraints of single fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubeproto.crd import Violation

from ..kinds._kind_defaults import POD_SPECS
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member
from . import (
    _access_rules,
    _autoscaler_rules,
    _definition_rules,
    _job_rules,
    _network_rules,
    _storage_rules,
    _workload_rules,
)
from ._pod_rules import check_pod
from ._rule_violations import Json, Violations


def has_kind_rules(full_name: str) -> bool:
    """Return whether a kind has rules."""
    return full_name in POD_SPECS or full_name in _RULES


def check_kind_rules(served: ServedKind, obj: Json) -> list[Violation]:
    """Return the violations of the rules of a kind."""
    violations: list[Violation] = []
    if (spec_path := POD_SPECS.get(served.full_name)) is not None:
        spec = obj
        for name in spec_path:
            spec = member(spec, name)
        if spec:
            violations += check_pod(spec, ".".join(spec_path))
            violations += _workload_rules.restarts(served, spec, ".".join(spec_path))
    if (rule := _RULES.get(served.full_name)) is not None:
        violations += rule(obj)
    return violations


_RULES: Final[dict[str, Callable[[Json], Violations]]] = {
    "replicationcontrollers": _workload_rules.controller,
    "deployments.apps": _workload_rules.deployment,
    "replicasets.apps": _workload_rules.workload,
    "daemonsets.apps": _workload_rules.daemon_set,
    "statefulsets.apps": _workload_rules.stateful_set,
    "jobs.batch": _job_rules.job,
    "cronjobs.batch": _workload_rules.cron_job,
    "services": _network_rules.service,
    "persistentvolumeclaims": _storage_rules.claim,
    "persistentvolumes": _storage_rules.volume,
    "roles.rbac.authorization.k8s.io": _access_rules.role,
    "clusterroles.rbac.authorization.k8s.io": lambda obj: _access_rules.role(obj, is_cluster_role=True),
    "rolebindings.rbac.authorization.k8s.io": _access_rules.role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": lambda obj: _access_rules.role_binding(
        obj, is_cluster_role_binding=True
    ),
    "horizontalpodautoscalers.autoscaling": _autoscaler_rules.autoscaler,
    "poddisruptionbudgets.policy": _workload_rules.budget,
    "resourcequotas": _storage_rules.quota,
    "limitranges": _storage_rules.limits,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _access_rules.webhooks,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _access_rules.webhooks,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _access_rules.mutations,
    "ingresses.networking.k8s.io": _network_rules.ingress,
    "networkpolicies.networking.k8s.io": _network_rules.policy,
    "priorityclasses.scheduling.k8s.io": _access_rules.priority,
    "storageclasses.storage.k8s.io": _storage_rules.storage_class,
    "customresourcedefinitions.apiextensions.k8s.io": _definition_rules.definition,
}

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
            violations += _workload_rules.check_restart_policy(served, spec, ".".join(spec_path))
    if (rule := _RULES.get(served.full_name)) is not None:
        violations += rule(obj)
    return violations


_RULES: Final[dict[str, Callable[[Json], Violations]]] = {
    "replicationcontrollers": _workload_rules.check_replication_controller,
    "deployments.apps": _workload_rules.check_deployment,
    "replicasets.apps": _workload_rules.check_workload,
    "daemonsets.apps": _workload_rules.check_daemon_set,
    "statefulsets.apps": _workload_rules.check_stateful_set,
    "jobs.batch": _job_rules.check_job,
    "cronjobs.batch": _workload_rules.check_cron_job,
    "services": _network_rules.check_service,
    "persistentvolumeclaims": _storage_rules.check_claim,
    "persistentvolumes": _storage_rules.check_volume,
    "roles.rbac.authorization.k8s.io": _access_rules.check_role,
    "clusterroles.rbac.authorization.k8s.io": lambda obj: _access_rules.check_role(obj, is_cluster_role=True),
    "rolebindings.rbac.authorization.k8s.io": _access_rules.check_role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": lambda obj: _access_rules.check_role_binding(
        obj, is_cluster_role_binding=True
    ),
    "horizontalpodautoscalers.autoscaling": _autoscaler_rules.check_autoscaler,
    "poddisruptionbudgets.policy": _workload_rules.check_budget,
    "resourcequotas": _storage_rules.check_quota,
    "limitranges": _storage_rules.check_limit_range,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _access_rules.check_webhooks,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _access_rules.check_webhooks,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _access_rules.check_mutations,
    "ingresses.networking.k8s.io": _network_rules.check_ingress,
    "networkpolicies.networking.k8s.io": _network_rules.check_network_policy,
    "priorityclasses.scheduling.k8s.io": _access_rules.check_priority_class,
    "storageclasses.storage.k8s.io": _storage_rules.check_storage_class,
    "customresourcedefinitions.apiextensions.k8s.io": _definition_rules.check_definition_rules,
}

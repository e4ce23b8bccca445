"""The checks of a server on built-in kinds beyond single fields: the rules of each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubeproto.crd import Violation

from ..kinds._defaults import POD_SPECS
from ..kinds._kinds import Served
from ..storage._json_values import member
from . import _access_rules, _job_rules, _network_rules, _scaling_rules, _storage_rules, _workload_rules
from ._pod_rules import Found, Json, check_pod


def ruled_as_whole(full_name: str) -> bool:
    """Return whether `check_object` can find anything in the objects of a kind."""
    return full_name in POD_SPECS or full_name in _RULES


def check_object(served: Served, obj: Json) -> list[Violation]:
    """Return the faults of an object as a whole."""
    found: list[Violation] = []
    if (way := POD_SPECS.get(served.full_name)) is not None:
        spec = obj
        for name in way:
            spec = member(spec, name)
        if spec:
            found += check_pod(spec, ".".join(way))
            found += _workload_rules.restarts(served, spec, ".".join(way))
    if (rule := _RULES.get(served.full_name)) is not None:
        found += rule(obj)
    return found


_RULES: Final[dict[str, Callable[[Json], Found]]] = {
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
    "clusterroles.rbac.authorization.k8s.io": lambda obj: _access_rules.role(obj, everywhere=True),
    "rolebindings.rbac.authorization.k8s.io": _access_rules.role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": lambda obj: _access_rules.role_binding(
        obj, everywhere=True
    ),
    "horizontalpodautoscalers.autoscaling": _scaling_rules.autoscaler,
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
    "customresourcedefinitions.apiextensions.k8s.io": _access_rules.definition,
}

"""The releases of Kubernetes that the server simulates: missing resources, fields and behaviours."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Final

from msgspec import Struct, structs

from kubeproto.kinds import BuiltinType, ReleaseDifferences, kind_table

_NO_FACTS: Final = ReleaseDifferences(kubernetes="")
# Streaming lists were on in 1.32, off again in 1.33, and are on for good since 1.34.
_STREAMING_LISTS: Final = (32, 34, 35, 36)
_SELECTABLE_FIELDS_SINCE: Final = 31
_SERVICE_FIELDS_SINCE: Final = 31
_SHARDS_SINCE: Final = 36
_REFUSES_NEW_KINDS_SINCE: Final = 31
_INTERIM_JOB_CONDITIONS_SINCE: Final = 31
_UNNAMED_TAINTS_SINCE: Final = 34
_TOPOLOGY_LABELS_SINCE: Final = 35
_POD_GENERATIONS_SINCE: Final = 33
_OBSERVED_POD_GENERATIONS_SINCE: Final = 34
# Fields that a release drops without a warning because a feature gate is off, with the first release that
# stores them: by the sources of Kubernetes, and by the behaviour of real servers of 1.30 and 1.33.
_STORED_SINCE: Final = {
    "apiextensions_v1.CustomResourceDefinitionVersion.selectableFields": 31,
    "autoscaling_v2.HPAScalingRules.tolerance": 35,
    "batch_v1.JobSpec.managedBy": 32,
    "batch_v1.JobSpec.successPolicy": 31,
    "core_v1.Container.resizePolicy": 33,
    "core_v1.Container.restartPolicyRules": 35,
    "core_v1.EphemeralContainer.resizePolicy": 33,
    "core_v1.PersistentVolumeClaimSpec.volumeAttributesClassName": 34,
    "core_v1.PodAffinityTerm.matchLabelKeys": 31,
    "core_v1.PodAffinityTerm.mismatchLabelKeys": 31,
    "core_v1.PodSecurityContext.supplementalGroupsPolicy": 33,
    "core_v1.PodSpec.hostUsers": 33,
    "core_v1.PodSpec.resourceClaims": 34,
    "core_v1.PodSpec.resources": 34,
    "core_v1.ResourceRequirements.claims": 34,
    "core_v1.ServiceSpec.trafficDistribution": 31,
    "core_v1.VolumeMount.recursiveReadOnly": 31,
    "discovery_v1.EndpointHints.forNodes": 34,
    "storage_v1.CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds": 35,
}
# The warning of a deprecated kind, with the first release that sends it.
_DEPRECATED: Final = {
    "endpoints": (33, "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    "componentstatuses": (19, "v1 ComponentStatus is deprecated in v1.19+"),
}


class Release(Struct, frozen=True, eq=False, dict=True):
    """A release of Kubernetes, such as 1.36, with the differences from the newest kinds."""

    number: str
    facts: ReleaseDifferences = _NO_FACTS

    @property
    def minor(self) -> int:
        """The second part of the number."""
        return int(self.number.partition(".")[2])

    @property
    def version(self) -> str:
        """The version that the server reports, such as 1.36.3."""
        return self.facts.kubernetes or kind_table().kubernetes

    @property
    def streaming_lists(self) -> bool:
        """Whether a watch may begin with the existing objects, unless a mode disables it."""
        return self.minor in _STREAMING_LISTS

    @property
    def shards(self) -> bool:
        """Whether a list or a watch may request a shard of the objects by hash."""
        return self.minor >= _SHARDS_SINCE

    @property
    def topology_labels(self) -> bool:
        """Whether pods get the zone and the region of their node as labels."""
        return self.minor >= _TOPOLOGY_LABELS_SINCE

    @property
    def pod_generations(self) -> bool:
        """Whether a pod has a generation."""
        return self.minor >= _POD_GENERATIONS_SINCE

    @property
    def observed_pod_generations(self) -> bool:
        """Whether the status of a pod contains the observed generation."""
        return self.minor >= _OBSERVED_POD_GENERATIONS_SINCE

    @property
    def refuses_new_kinds(self) -> bool:
        """Whether requests for a new custom resource are rejected until its storage is ready."""
        return self.minor >= _REFUSES_NEW_KINDS_SINCE

    @property
    def interim_job_conditions(self) -> bool:
        """Whether the conditions of a Job announce its end before all pods have ended."""
        return self.minor >= _INTERIM_JOB_CONDITIONS_SINCE

    @property
    def names_taints(self) -> bool:
        """Whether the condition of an unscheduled pod names the untolerated taint."""
        return self.minor < _UNNAMED_TAINTS_SINCE

    @property
    def selectable_fields(self) -> bool:
        """Whether a definition may declare selectable fields."""
        return self.minor >= _SELECTABLE_FIELDS_SINCE

    @property
    def has_service_fields(self) -> bool:
        """Whether Services may be selected by address and type."""
        return self.minor >= _SERVICE_FIELDS_SINCE

    def deprecation(self, kind: str) -> str:
        """Return the warning of a deprecated built-in kind; empty if it is not deprecated yet."""
        since, warning = _DEPRECATED.get(kind, (0, ""))
        return warning if self.minor >= since else ""

    @cached_property
    def missing_resources(self) -> frozenset[str]:
        """The resources that are not served: ``apps/v1/deployments``, ``v1/pods/resize``."""
        return frozenset(self.facts.missing_resources)

    @cached_property
    def missing_fields(self) -> frozenset[str]:
        """The unknown fields: ``core_v1.PodSpec.resources``."""
        return frozenset(self.facts.missing_fields)

    @cached_property
    def gated_fields(self) -> frozenset[str]:
        """The fields that are dropped without a warning because a feature gate is off."""
        return frozenset(name for name, since in _STORED_SINCE.items() if self.minor < since)

    def type_facts(self, name: str, type_facts: BuiltinType) -> BuiltinType:
        """Return the fields of a type in this release, from those of the newest release."""
        if not self.facts.missing_fields:
            return type_facts
        fields = {
            wire: structs.replace(field, required=False)
            if f"{name}.{wire}" in self.facts.optional_fields
            else field
            for wire, field in type_facts.fields.items()
            if f"{name}.{wire}" not in self.missing_fields
        }
        return structs.replace(type_facts, fields=fields)


# The release of the kinds in `kubeproto.kinds`.
NEWEST: Final = Release("1.36")


@cache
def release_of(number: str) -> Release:
    """Return the release of this number; ValueError if it cannot be simulated."""
    if number == NEWEST.number:
        return NEWEST
    release_facts = kind_table().releases.get(number)
    if release_facts is None:
        numbers = ", ".join((*kind_table().releases, NEWEST.number))
        raise ValueError(f"Kubernetes {number!r} cannot be simulated; the releases are {numbers}")
    return Release(number, release_facts)

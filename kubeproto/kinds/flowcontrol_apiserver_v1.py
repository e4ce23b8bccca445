"""The kinds of flowcontrol.apiserver.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..objects import HasStatus
from ._generated_base import ALL_VERBS, Filled, Part

__all__ = [
    "ExemptPriorityLevelConfiguration",
    "FlowDistinguisherMethod",
    "FlowSchema",
    "FlowSchemaCondition",
    "FlowSchemaSpec",
    "FlowSchemaStatus",
    "GroupSubject",
    "LimitResponse",
    "LimitedPriorityLevelConfiguration",
    "NonResourcePolicyRule",
    "PolicyRulesWithSubjects",
    "PriorityLevelConfiguration",
    "PriorityLevelConfigurationCondition",
    "PriorityLevelConfigurationReference",
    "PriorityLevelConfigurationSpec",
    "PriorityLevelConfigurationStatus",
    "QueuingConfiguration",
    "ResourcePolicyRule",
    "ServiceAccountSubject",
    "Subject",
    "UserSubject",
]


class ExemptPriorityLevelConfiguration(Part):
    lendable_percent: int | None = None
    nominal_concurrency_shares: int | None = None


class FlowDistinguisherMethod(Part):
    type: str


class FlowSchemaCondition(Part):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
    type: str | None = None


class FlowSchemaSpec(Part):
    priority_level_configuration: PriorityLevelConfigurationReference
    distinguisher_method: FlowDistinguisherMethod | None = None
    matching_precedence: int | None = None
    rules: list[PolicyRulesWithSubjects] | None = None


class FlowSchemaStatus(Part):
    conditions: list[FlowSchemaCondition] | None = None


class GroupSubject(Part):
    name: str


class LimitResponse(Part):
    type: str
    queuing: QueuingConfiguration | None = None


class LimitedPriorityLevelConfiguration(Part):
    borrowing_limit_percent: int | None = None
    lendable_percent: int | None = None
    limit_response: LimitResponse | None = None
    nominal_concurrency_shares: int | None = None


class NonResourcePolicyRule(Part):
    non_resource_urls: Filled[list[str]] = msgspec.field(name="nonResourceURLs")
    verbs: Filled[list[str]]

    def __post_init__(self: Any) -> None:
        if self.non_resource_urls is None:
            self.non_resource_urls = []
        if self.verbs is None:
            self.verbs = []


class PolicyRulesWithSubjects(Part):
    subjects: Filled[list[Subject]]
    non_resource_rules: list[NonResourcePolicyRule] | None = None
    resource_rules: list[ResourcePolicyRule] | None = None

    def __post_init__(self: Any) -> None:
        if self.subjects is None:
            self.subjects = []


class PriorityLevelConfigurationCondition(Part):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
    type: str | None = None


class PriorityLevelConfigurationReference(Part):
    name: str


class PriorityLevelConfigurationSpec(Part):
    type: str
    exempt: ExemptPriorityLevelConfiguration | None = None
    limited: LimitedPriorityLevelConfiguration | None = None


class PriorityLevelConfigurationStatus(Part):
    conditions: list[PriorityLevelConfigurationCondition] | None = None


class QueuingConfiguration(Part):
    hand_size: int | None = None
    queue_length_limit: int | None = None
    queues: int | None = None


class ResourcePolicyRule(Part):
    api_groups: Filled[list[str]]
    resources: Filled[list[str]]
    verbs: Filled[list[str]]
    cluster_scope: bool | None = None
    namespaces: list[str] | None = None

    def __post_init__(self: Any) -> None:
        if self.api_groups is None:
            self.api_groups = []
        if self.resources is None:
            self.resources = []
        if self.verbs is None:
            self.verbs = []


class ServiceAccountSubject(Part):
    name: str
    namespace: str


class Subject(Part):
    kind: str
    group: GroupSubject | None = None
    service_account: ServiceAccountSubject | None = None
    user: UserSubject | None = None


class UserSubject(Part):
    name: str


class FlowSchema(
    HasStatus,
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    plural="flowschemas",
    namespaced=False,
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: FlowSchemaSpec
    status: FlowSchemaStatus | None = None


class PriorityLevelConfiguration(
    HasStatus,
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    plural="prioritylevelconfigurations",
    namespaced=False,
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: PriorityLevelConfigurationSpec
    status: PriorityLevelConfigurationStatus | None = None

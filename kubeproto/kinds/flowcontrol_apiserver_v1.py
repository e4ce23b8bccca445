"""The kinds of flowcontrol.apiserver.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..objects import Fields, KubeObject
from ._forms import ALL_VERBS, Filled, is_null

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


class ExemptPriorityLevelConfiguration(Fields):
    lendable_percent: int | None = None
    nominal_concurrency_shares: int | None = None


class FlowDistinguisherMethod(Fields):
    type: str


class FlowSchemaCondition(Fields):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
    type: str | None = None


class FlowSchemaSpec(Fields):
    priority_level_configuration: PriorityLevelConfigurationReference
    distinguisher_method: FlowDistinguisherMethod | None = None
    matching_precedence: int | None = None
    rules: list[PolicyRulesWithSubjects] | None = None


class FlowSchemaStatus(Fields):
    conditions: list[FlowSchemaCondition] | None = None


class GroupSubject(Fields):
    name: str


class LimitResponse(Fields):
    type: str
    queuing: QueuingConfiguration | None = None


class LimitedPriorityLevelConfiguration(Fields):
    borrowing_limit_percent: int | None = None
    lendable_percent: int | None = None
    limit_response: LimitResponse | None = None
    nominal_concurrency_shares: int | None = None


class NonResourcePolicyRule(Fields):
    non_resource_urls: Filled[list[str]] = msgspec.field(name="nonResourceURLs")
    verbs: Filled[list[str]]

    def __post_init__(self) -> None:
        if is_null(self.non_resource_urls):
            self.non_resource_urls = []
        if is_null(self.verbs):
            self.verbs = []


class PolicyRulesWithSubjects(Fields):
    subjects: Filled[list[Subject]]
    non_resource_rules: list[NonResourcePolicyRule] | None = None
    resource_rules: list[ResourcePolicyRule] | None = None

    def __post_init__(self) -> None:
        if is_null(self.subjects):
            self.subjects = []


class PriorityLevelConfigurationCondition(Fields):
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
    type: str | None = None


class PriorityLevelConfigurationReference(Fields):
    name: str


class PriorityLevelConfigurationSpec(Fields):
    type: str
    exempt: ExemptPriorityLevelConfiguration | None = None
    limited: LimitedPriorityLevelConfiguration | None = None


class PriorityLevelConfigurationStatus(Fields):
    conditions: list[PriorityLevelConfigurationCondition] | None = None


class QueuingConfiguration(Fields):
    hand_size: int | None = None
    queue_length_limit: int | None = None
    queues: int | None = None


class ResourcePolicyRule(Fields):
    api_groups: Filled[list[str]]
    resources: Filled[list[str]]
    verbs: Filled[list[str]]
    cluster_scope: bool | None = None
    namespaces: list[str] | None = None

    def __post_init__(self) -> None:
        if is_null(self.api_groups):
            self.api_groups = []
        if is_null(self.resources):
            self.resources = []
        if is_null(self.verbs):
            self.verbs = []


class ServiceAccountSubject(Fields):
    name: str
    namespace: str


class Subject(Fields):
    kind: str
    group: GroupSubject | None = None
    service_account: ServiceAccountSubject | None = None
    user: UserSubject | None = None


class UserSubject(Fields):
    name: str


class FlowSchema(
    KubeObject,
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
    KubeObject,
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    plural="prioritylevelconfigurations",
    namespaced=False,
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: PriorityLevelConfigurationSpec
    status: PriorityLevelConfigurationStatus | None = None

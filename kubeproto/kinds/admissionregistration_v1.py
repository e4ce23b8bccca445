"""The kinds of admissionregistration.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import msgspec

from ..objects import HasStatus, KubeObject
from ._generated_base import ALL_VERBS, Filled, Part
from .meta_v1 import Condition, LabelSelector

__all__ = [
    "ApplyConfiguration",
    "AuditAnnotation",
    "ExpressionWarning",
    "JSONPatch",
    "MatchCondition",
    "MatchResources",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicyBindingSpec",
    "MutatingAdmissionPolicySpec",
    "MutatingWebhook",
    "MutatingWebhookConfiguration",
    "Mutation",
    "NamedRuleWithOperations",
    "ParamKind",
    "ParamRef",
    "RuleWithOperations",
    "ServiceReference",
    "TypeChecking",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicyBindingSpec",
    "ValidatingAdmissionPolicySpec",
    "ValidatingAdmissionPolicyStatus",
    "ValidatingWebhook",
    "ValidatingWebhookConfiguration",
    "Validation",
    "Variable",
    "WebhookClientConfig",
]


class ApplyConfiguration(Part):
    expression: str | None = None


class AuditAnnotation(Part):
    key: str
    value_expression: str


class ExpressionWarning(Part):
    field_ref: str
    warning: str


class JSONPatch(Part):
    expression: str | None = None


class MatchCondition(Part):
    expression: str
    name: str


class MatchResources(Part):
    exclude_resource_rules: list[NamedRuleWithOperations] | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    resource_rules: list[NamedRuleWithOperations] | None = None


class MutatingAdmissionPolicyBindingSpec(Part):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str | None = None


class MutatingAdmissionPolicySpec(Part):
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] | None = None
    match_constraints: MatchResources | None = None
    mutations: list[Mutation] | None = None
    param_kind: ParamKind | None = None
    reinvocation_policy: str | None = None
    variables: list[Variable] | None = None


class MutatingWebhook(Part):
    admission_review_versions: Filled[list[str]]
    client_config: WebhookClientConfig
    name: str
    side_effects: str
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    reinvocation_policy: str | None = None
    rules: list[RuleWithOperations] | None = None
    timeout_seconds: int | None = None

    def __post_init__(self: Any) -> None:
        if self.admission_review_versions is None:
            self.admission_review_versions = []


class Mutation(Part):
    patch_type: str
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = None


class NamedRuleWithOperations(Part):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None


class ParamKind(Part):
    api_version: str | None = None
    kind: str | None = None


class ParamRef(Part):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: LabelSelector | None = None


class RuleWithOperations(Part):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None


class ServiceReference(Part):
    name: str
    namespace: str
    path: str | None = None
    port: int | None = None


class TypeChecking(Part):
    expression_warnings: list[ExpressionWarning] | None = None


class ValidatingAdmissionPolicyBindingSpec(Part):
    policy_name: str
    validation_actions: Filled[list[str]]
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None

    def __post_init__(self: Any) -> None:
        if self.validation_actions is None:
            self.validation_actions = []


class ValidatingAdmissionPolicySpec(Part):
    audit_annotations: list[AuditAnnotation] | None = None
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] | None = None
    match_constraints: MatchResources | None = None
    param_kind: ParamKind | None = None
    validations: list[Validation] | None = None
    variables: list[Variable] | None = None


class ValidatingAdmissionPolicyStatus(Part):
    conditions: list[Condition] | None = None
    observed_generation: int | None = None
    type_checking: TypeChecking | None = None


class ValidatingWebhook(Part):
    admission_review_versions: Filled[list[str]]
    client_config: WebhookClientConfig
    name: str
    side_effects: str
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    rules: list[RuleWithOperations] | None = None
    timeout_seconds: int | None = None

    def __post_init__(self: Any) -> None:
        if self.admission_review_versions is None:
            self.admission_review_versions = []


class Validation(Part):
    expression: str
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None


class Variable(Part):
    expression: str
    name: str


class WebhookClientConfig(Part):
    ca_bundle: bytes | None = None
    service: ServiceReference | None = None
    url: str | None = None


class MutatingAdmissionPolicy(
    KubeObject,
    group="admissionregistration.k8s.io",
    version="v1",
    plural="mutatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
    verbs=ALL_VERBS,
):
    spec: MutatingAdmissionPolicySpec = msgspec.field(default_factory=MutatingAdmissionPolicySpec)


class MutatingAdmissionPolicyBinding(
    KubeObject,
    group="admissionregistration.k8s.io",
    version="v1",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
    verbs=ALL_VERBS,
):
    spec: MutatingAdmissionPolicyBindingSpec = msgspec.field(
        default_factory=MutatingAdmissionPolicyBindingSpec
    )


class MutatingWebhookConfiguration(
    KubeObject,
    group="admissionregistration.k8s.io",
    version="v1",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
    categories=("api-extensions",),
    verbs=ALL_VERBS,
):
    webhooks: list[MutatingWebhook] | None = None


class ValidatingAdmissionPolicy(
    HasStatus,
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: ValidatingAdmissionPolicySpec = msgspec.field(default_factory=ValidatingAdmissionPolicySpec)
    status: ValidatingAdmissionPolicyStatus | None = None


class ValidatingAdmissionPolicyBinding(
    KubeObject,
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
    verbs=ALL_VERBS,
):
    spec: ValidatingAdmissionPolicyBindingSpec


class ValidatingWebhookConfiguration(
    KubeObject,
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    namespaced=False,
    categories=("api-extensions",),
    verbs=ALL_VERBS,
):
    webhooks: list[ValidatingWebhook] | None = None

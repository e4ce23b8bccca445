"""The kinds of admissionregistration.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

import msgspec

from ..objects import Fields, KubeObject
from ._forms import ALL_VERBS, Filled, is_null
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


class ApplyConfiguration(Fields):
    expression: str | None = None


class AuditAnnotation(Fields):
    key: str
    value_expression: str


class ExpressionWarning(Fields):
    field_ref: str
    warning: str


class JSONPatch(Fields):
    expression: str | None = None


class MatchCondition(Fields):
    expression: str
    name: str


class MatchResources(Fields):
    exclude_resource_rules: list[NamedRuleWithOperations] | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    resource_rules: list[NamedRuleWithOperations] | None = None


class MutatingAdmissionPolicyBindingSpec(Fields):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str | None = None


class MutatingAdmissionPolicySpec(Fields):
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] | None = None
    match_constraints: MatchResources | None = None
    mutations: list[Mutation] | None = None
    param_kind: ParamKind | None = None
    reinvocation_policy: str | None = None
    variables: list[Variable] | None = None


class MutatingWebhook(Fields):
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

    def __post_init__(self) -> None:
        if is_null(self.admission_review_versions):
            self.admission_review_versions = []


class Mutation(Fields):
    patch_type: str
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = None


class NamedRuleWithOperations(Fields):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None


class ParamKind(Fields):
    api_version: str | None = None
    kind: str | None = None


class ParamRef(Fields):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: LabelSelector | None = None


class RuleWithOperations(Fields):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resources: list[str] | None = None
    scope: str | None = None


class ServiceReference(Fields):
    name: str
    namespace: str
    path: str | None = None
    port: int | None = None


class TypeChecking(Fields):
    expression_warnings: list[ExpressionWarning] | None = None


class ValidatingAdmissionPolicyBindingSpec(Fields):
    policy_name: str
    validation_actions: Filled[list[str]]
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None

    def __post_init__(self) -> None:
        if is_null(self.validation_actions):
            self.validation_actions = []


class ValidatingAdmissionPolicySpec(Fields):
    audit_annotations: list[AuditAnnotation] | None = None
    failure_policy: str | None = None
    match_conditions: list[MatchCondition] | None = None
    match_constraints: MatchResources | None = None
    param_kind: ParamKind | None = None
    validations: list[Validation] | None = None
    variables: list[Variable] | None = None


class ValidatingAdmissionPolicyStatus(Fields):
    conditions: list[Condition] | None = None
    observed_generation: int | None = None
    type_checking: TypeChecking | None = None


class ValidatingWebhook(Fields):
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

    def __post_init__(self) -> None:
        if is_null(self.admission_review_versions):
            self.admission_review_versions = []


class Validation(Fields):
    expression: str
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None


class Variable(Fields):
    expression: str
    name: str


class WebhookClientConfig(Fields):
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
    KubeObject,
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

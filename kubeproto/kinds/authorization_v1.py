"""The kinds of authorization.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

import msgspec

from ..objects import Fields, KubeObject
from ._forms import Filled, is_null
from .meta_v1 import FieldSelectorRequirement, LabelSelectorRequirement

__all__ = [
    "FieldSelectorAttributes",
    "LabelSelectorAttributes",
    "LocalSubjectAccessReview",
    "NonResourceAttributes",
    "NonResourceRule",
    "ResourceAttributes",
    "ResourceRule",
    "SelfSubjectAccessReview",
    "SelfSubjectAccessReviewSpec",
    "SelfSubjectRulesReview",
    "SelfSubjectRulesReviewSpec",
    "SubjectAccessReview",
    "SubjectAccessReviewSpec",
    "SubjectAccessReviewStatus",
    "SubjectRulesReviewStatus",
]


class FieldSelectorAttributes(Fields):
    raw_selector: str | None = None
    requirements: list[FieldSelectorRequirement] | None = None


class LabelSelectorAttributes(Fields):
    raw_selector: str | None = None
    requirements: list[LabelSelectorRequirement] | None = None


class NonResourceAttributes(Fields):
    path: str | None = None
    verb: str | None = None


class NonResourceRule(Fields):
    verbs: Filled[list[str]]
    non_resource_urls: list[str] | None = msgspec.field(default=None, name="nonResourceURLs")

    def __post_init__(self) -> None:
        if is_null(self.verbs):
            self.verbs = []


class ResourceAttributes(Fields):
    field_selector: FieldSelectorAttributes | None = None
    group: str | None = None
    label_selector: LabelSelectorAttributes | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None


class ResourceRule(Fields):
    verbs: Filled[list[str]]
    api_groups: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None

    def __post_init__(self) -> None:
        if is_null(self.verbs):
            self.verbs = []


class SelfSubjectAccessReviewSpec(Fields):
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None


class SelfSubjectRulesReviewSpec(Fields):
    namespace: str | None = None


class SubjectAccessReviewSpec(Fields):
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None
    uid: str | None = None
    user: str | None = None


class SubjectAccessReviewStatus(Fields):
    allowed: bool
    denied: bool | None = None
    evaluation_error: str | None = None
    reason: str | None = None


class SubjectRulesReviewStatus(Fields):
    incomplete: bool
    non_resource_rules: Filled[list[NonResourceRule]]
    resource_rules: Filled[list[ResourceRule]]
    evaluation_error: str | None = None

    def __post_init__(self) -> None:
        if is_null(self.non_resource_rules):
            self.non_resource_rules = []
        if is_null(self.resource_rules):
            self.resource_rules = []


class LocalSubjectAccessReview(
    KubeObject,
    group="authorization.k8s.io",
    version="v1",
    plural="localsubjectaccessreviews",
    verbs=("create",),
):
    spec: SubjectAccessReviewSpec = msgspec.field(default_factory=SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus | None = None


class SelfSubjectAccessReview(
    KubeObject,
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectaccessreviews",
    namespaced=False,
    verbs=("create",),
):
    spec: SelfSubjectAccessReviewSpec = msgspec.field(default_factory=SelfSubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus | None = None


class SelfSubjectRulesReview(
    KubeObject,
    group="authorization.k8s.io",
    version="v1",
    plural="selfsubjectrulesreviews",
    namespaced=False,
    verbs=("create",),
):
    spec: SelfSubjectRulesReviewSpec = msgspec.field(default_factory=SelfSubjectRulesReviewSpec)
    status: SubjectRulesReviewStatus | None = None


class SubjectAccessReview(
    KubeObject,
    group="authorization.k8s.io",
    version="v1",
    plural="subjectaccessreviews",
    namespaced=False,
    verbs=("create",),
):
    spec: SubjectAccessReviewSpec = msgspec.field(default_factory=SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus | None = None

"""The kinds of authorization.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import msgspec

from ..objects import KubeObject
from ._generated_base import Filled, Part
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


class FieldSelectorAttributes(Part):
    raw_selector: str | None = None
    requirements: list[FieldSelectorRequirement] | None = None


class LabelSelectorAttributes(Part):
    raw_selector: str | None = None
    requirements: list[LabelSelectorRequirement] | None = None


class NonResourceAttributes(Part):
    path: str | None = None
    verb: str | None = None


class NonResourceRule(Part):
    verbs: Filled[list[str]]
    non_resource_urls: list[str] | None = msgspec.field(default=None, name="nonResourceURLs")

    def __post_init__(self: Any) -> None:
        if self.verbs is None:
            self.verbs = []


class ResourceAttributes(Part):
    field_selector: FieldSelectorAttributes | None = None
    group: str | None = None
    label_selector: LabelSelectorAttributes | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None


class ResourceRule(Part):
    verbs: Filled[list[str]]
    api_groups: list[str] | None = None
    resource_names: list[str] | None = None
    resources: list[str] | None = None

    def __post_init__(self: Any) -> None:
        if self.verbs is None:
            self.verbs = []


class SelfSubjectAccessReviewSpec(Part):
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None


class SelfSubjectRulesReviewSpec(Part):
    namespace: str | None = None


class SubjectAccessReviewSpec(Part):
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None
    uid: str | None = None
    user: str | None = None


class SubjectAccessReviewStatus(Part):
    allowed: bool
    denied: bool | None = None
    evaluation_error: str | None = None
    reason: str | None = None


class SubjectRulesReviewStatus(Part):
    incomplete: bool
    non_resource_rules: Filled[list[NonResourceRule]]
    resource_rules: Filled[list[ResourceRule]]
    evaluation_error: str | None = None

    def __post_init__(self: Any) -> None:
        if self.non_resource_rules is None:
            self.non_resource_rules = []
        if self.resource_rules is None:
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

"""The kinds of apiextensions.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..objects import HasStatus
from ._generated_base import ALL_VERBS, Filled, Part

__all__ = [
    "CustomResourceColumnDefinition",
    "CustomResourceConversion",
    "CustomResourceDefinition",
    "CustomResourceDefinitionCondition",
    "CustomResourceDefinitionNames",
    "CustomResourceDefinitionSpec",
    "CustomResourceDefinitionStatus",
    "CustomResourceDefinitionVersion",
    "CustomResourceSubresourceScale",
    "CustomResourceSubresourceStatus",
    "CustomResourceSubresources",
    "CustomResourceValidation",
    "ExternalDocumentation",
    "JSONSchemaProps",
    "SelectableField",
    "ServiceReference",
    "ValidationRule",
    "WebhookClientConfig",
    "WebhookConversion",
]


class CustomResourceColumnDefinition(Part):
    json_path: str
    name: str
    type: str
    description: str | None = None
    format: str | None = None
    priority: int | None = None


class CustomResourceConversion(Part):
    strategy: str
    webhook: WebhookConversion | None = None


class CustomResourceDefinitionCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None


class CustomResourceDefinitionNames(Part):
    kind: str
    plural: str
    categories: list[str] | None = None
    list_kind: str | None = None
    short_names: list[str] | None = None
    singular: str | None = None


class CustomResourceDefinitionSpec(Part):
    group: str
    names: CustomResourceDefinitionNames
    scope: str
    versions: Filled[list[CustomResourceDefinitionVersion]]
    conversion: CustomResourceConversion | None = None
    preserve_unknown_fields: bool | None = None

    def __post_init__(self: Any) -> None:
        if self.versions is None:
            self.versions = []


class CustomResourceDefinitionStatus(Part):
    accepted_names: CustomResourceDefinitionNames | None = None
    conditions: list[CustomResourceDefinitionCondition] | None = None
    observed_generation: int | None = None
    stored_versions: list[str] | None = None


class CustomResourceDefinitionVersion(Part):
    name: str
    served: bool
    storage: bool
    additional_printer_columns: list[CustomResourceColumnDefinition] | None = None
    deprecated: bool | None = None
    deprecation_warning: str | None = None
    schema: CustomResourceValidation | None = None
    selectable_fields: list[SelectableField] | None = None
    subresources: CustomResourceSubresources | None = None


class CustomResourceSubresourceScale(Part):
    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str | None = None


class CustomResourceSubresourceStatus(Part):
    pass


class CustomResourceSubresources(Part):
    scale: CustomResourceSubresourceScale | None = None
    status: CustomResourceSubresourceStatus | None = None


class CustomResourceValidation(Part):
    open_api_v3_schema: JSONSchemaProps | None = msgspec.field(default=None, name="openAPIV3Schema")


class ExternalDocumentation(Part):
    description: str | None = None
    url: str | None = None


class JSONSchemaProps(Part):
    ref: str | None = msgspec.field(default=None, name="$ref")
    schema: str | None = msgspec.field(default=None, name="$schema")
    additional_items: JSONSchemaProps | bool | None = None
    additional_properties: JSONSchemaProps | bool | None = None
    all_of: list[JSONSchemaProps] | None = None
    any_of: list[JSONSchemaProps] | None = None
    default: Any = None
    definitions: dict[str, JSONSchemaProps] | None = None
    dependencies: dict[str, JSONSchemaProps | list[str]] | None = None
    description: str | None = None
    enum: list[Any] | None = None
    example: Any = None
    exclusive_maximum: bool | None = None
    exclusive_minimum: bool | None = None
    external_docs: ExternalDocumentation | None = None
    format: str | None = None
    id: str | None = None
    items: JSONSchemaProps | list[JSONSchemaProps] | None = None
    max_items: int | None = None
    max_length: int | None = None
    max_properties: int | None = None
    maximum: float | None = None
    min_items: int | None = None
    min_length: int | None = None
    min_properties: int | None = None
    minimum: float | None = None
    multiple_of: float | None = None
    not_: JSONSchemaProps | None = None
    nullable: bool | None = None
    one_of: list[JSONSchemaProps] | None = None
    pattern: str | None = None
    pattern_properties: dict[str, JSONSchemaProps] | None = None
    properties: dict[str, JSONSchemaProps] | None = None
    required: list[str] | None = None
    title: str | None = None
    type: str | None = None
    unique_items: bool | None = None
    x_kubernetes_embedded_resource: bool | None = msgspec.field(
        default=None, name="x-kubernetes-embedded-resource"
    )
    x_kubernetes_int_or_string: bool | None = msgspec.field(default=None, name="x-kubernetes-int-or-string")
    x_kubernetes_list_map_keys: list[str] | None = msgspec.field(
        default=None, name="x-kubernetes-list-map-keys"
    )
    x_kubernetes_list_type: str | None = msgspec.field(default=None, name="x-kubernetes-list-type")
    x_kubernetes_map_type: str | None = msgspec.field(default=None, name="x-kubernetes-map-type")
    x_kubernetes_preserve_unknown_fields: bool | None = msgspec.field(
        default=None, name="x-kubernetes-preserve-unknown-fields"
    )
    x_kubernetes_validations: list[ValidationRule] | None = msgspec.field(
        default=None, name="x-kubernetes-validations"
    )


class SelectableField(Part):
    json_path: str


class ServiceReference(Part):
    name: str
    namespace: str
    path: str | None = None
    port: int | None = None


class ValidationRule(Part):
    rule: str
    field_path: str | None = None
    message: str | None = None
    message_expression: str | None = None
    optional_old_self: bool | None = None
    reason: str | None = None


class WebhookClientConfig(Part):
    ca_bundle: bytes | None = None
    service: ServiceReference | None = None
    url: str | None = None


class WebhookConversion(Part):
    conversion_review_versions: Filled[list[str]]
    client_config: WebhookClientConfig | None = None

    def __post_init__(self: Any) -> None:
        if self.conversion_review_versions is None:
            self.conversion_review_versions = []


class CustomResourceDefinition(
    HasStatus,
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: CustomResourceDefinitionSpec
    status: CustomResourceDefinitionStatus | None = None

"""Reading a definition: resources for dynamic objects, their columns, scale paths and schemas."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ..._errors import InvalidObject
from ...objects import Column, Reader, Resource, Scale, api_version_priority


class DefinedVersion(Struct, frozen=True, kw_only=True):
    """A version of a kind: its resource, the schema of its objects, their columns."""

    resource: Resource
    schema: dict[str, Any]
    served: bool
    stored: bool
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    scale: Scale | None = None
    has_status: bool = False
    deprecation: str = ""


class KindConversion(Struct, frozen=True):
    """The webhook that converts the objects of a kind; `client` is the `clientConfig` of its definition."""

    kind: str  # the name of the definition
    client: dict[str, Any]
    review_versions: tuple[str, ...]


class DefinedKind(Struct, frozen=True):
    """A kind that a definition describes, with its versions in the order of a server's preference.

    Without a `conversion` the versions of an object differ only in their `apiVersion`.
    """

    name: str
    list_kind: str
    versions: tuple[DefinedVersion, ...]
    conversion: KindConversion | None = None

    def version(self, name: str) -> DefinedVersion:
        """Return the version with this name, or raise LookupError."""
        for version in self.versions:
            if version.resource.version == name:
                return version
        names = ", ".join(version.resource.version for version in self.versions)
        raise LookupError(f"{self.name} has no version {name!r}, only {names}")

    @property
    def stored(self) -> DefinedVersion:
        """The version in which a server stores objects."""
        return next(version for version in self.versions if version.stored)

    @property
    def preferred(self) -> DefinedVersion:
        """The preferred version for clients: the first version that is served."""
        for version in self.versions:
            if version.served:
                return version
        raise LookupError(f"no version of {self.name} is served")


class _JsonColumn(Struct, rename="camel"):
    name: str
    json_path: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class _JsonScale(Struct, rename="camel"):
    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


class _JsonSubresources(Struct):
    status: dict[str, Any] | None = None
    scale: _JsonScale | None = None


class _JsonSchema(Struct):
    schema: dict[str, Any] = msgspec.field(name="openAPIV3Schema", default_factory=dict[str, Any])


class _JsonField(Struct, rename="camel"):
    json_path: str


class _JsonVersion(Struct, rename="camel"):
    name: str
    served: bool
    storage: bool
    schema: _JsonSchema = msgspec.field(default_factory=_JsonSchema)
    deprecated: bool = False
    deprecation_warning: str = ""
    subresources: _JsonSubresources = msgspec.field(default_factory=_JsonSubresources)
    selectable_fields: list[_JsonField] = []
    additional_printer_columns: list[_JsonColumn] = []


class _JsonNames(Struct, rename="camel"):
    plural: str
    kind: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _JsonWebhook(Struct, rename="camel"):
    client_config: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    conversion_review_versions: tuple[str, ...] = ()


class _JsonConversion(Struct):
    strategy: str = "None"
    webhook: _JsonWebhook | None = None


class _JsonSpec(Struct):
    group: str
    names: _JsonNames
    scope: str
    versions: list[_JsonVersion]
    conversion: _JsonConversion | None = None


class _JsonDefinition(Struct):
    spec: _JsonSpec


_read_definition: Final = Reader[_JsonDefinition](_JsonDefinition).read


def read_definition(data: bytes | str | dict[str, Any]) -> DefinedKind:
    """Return the kind of a CustomResourceDefinition: JSON or a decoded object. Raise `InvalidObject`."""
    try:
        if isinstance(data, dict):
            spec = msgspec.convert(data, _JsonDefinition).spec
        else:
            spec = _read_definition(data.encode() if isinstance(data, str) else data).spec
    except (msgspec.MsgspecError, RecursionError, InvalidObject) as error:
        raise InvalidObject(
            f"this is not a CustomResourceDefinition of apiextensions.k8s.io/v1: {error}"
        ) from None
    name = f"{spec.names.plural}.{spec.group}"
    if sum(version.storage for version in spec.versions) != 1:
        raise InvalidObject(f"{name}: exactly one version must have storage: true")
    versions = sorted(spec.versions, key=lambda version: api_version_priority(version.name))
    return DefinedKind(
        name=name,
        list_kind=spec.names.list_kind or f"{spec.names.kind}List",
        versions=tuple(_defined_version(spec, version) for version in versions),
        conversion=_read_conversion(name, spec.conversion),
    )


def _read_conversion(name: str, conversion: _JsonConversion | None) -> KindConversion | None:
    if conversion is None or conversion.strategy != "Webhook" or conversion.webhook is None:
        return None
    webhook = conversion.webhook
    return KindConversion(name, webhook.client_config, webhook.conversion_review_versions)


def _defined_version(spec: _JsonSpec, version: _JsonVersion) -> DefinedVersion:
    names, scale = spec.names, version.subresources.scale
    resource = Resource(
        spec.group,
        version.name,
        names.kind,
        names.plural,
        spec.scope == "Namespaced",
        names.singular or names.kind.lower(),
        names.short_names,
        names.categories,
        tuple(name for name in ("status", "scale") if getattr(version.subresources, name) is not None),
    )
    deprecation = version.deprecation_warning or f"{spec.group}/{version.name} {names.kind} is deprecated"
    return DefinedVersion(
        resource=resource,
        schema=version.schema.schema,
        served=version.served,
        stored=version.storage,
        columns=tuple(
            msgspec.convert(column, Column, from_attributes=True)
            for column in version.additional_printer_columns
        ),
        selectable_fields=tuple(field.json_path for field in version.selectable_fields),
        scale=None
        if scale is None
        else Scale(scale.spec_replicas_path, scale.status_replicas_path, scale.label_selector_path),
        has_status=version.subresources.status is not None,
        deprecation=deprecation if version.deprecated else "",
    )

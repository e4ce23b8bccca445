"""A definition as it is read: resources for dynamic objects, their columns, scale paths and schemas."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ..._errors import InvalidObject
from ...objects import Column, Reader, Resource, Scale, api_version_priority


class DefinedVersion(Struct, frozen=True, kw_only=True):
    """One version of a kind: how it is addressed, what its objects look like, how they are shown."""

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
    """A kind that a definition describes, its versions in the order that a server prefers.

    Without a `conversion` its versions differ only in their `apiVersion`.
    """

    name: str
    list_kind: str
    versions: tuple[DefinedVersion, ...]
    conversion: KindConversion | None = None

    def version(self, name: str) -> DefinedVersion:
        """Return the version of this name; LookupError lists the existing ones."""
        for one in self.versions:
            if one.resource.version == name:
                return one
        known = ", ".join(one.resource.version for one in self.versions)
        raise LookupError(f"{self.name} has no version {name!r}, only {known}")

    @property
    def stored(self) -> DefinedVersion:
        """The version in which a server keeps objects."""
        return next(one for one in self.versions if one.stored)

    @property
    def preferred(self) -> DefinedVersion:
        """The preferred version for clients: the first that is served."""
        for one in self.versions:
            if one.served:
                return one
        raise LookupError(f"no version of {self.name} is served")


class _WireColumn(Struct, rename="camel"):
    name: str
    json_path: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class _WireScale(Struct, rename="camel"):
    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


class _WireSubresources(Struct):
    status: dict[str, Any] | None = None
    scale: _WireScale | None = None


class _WireSchema(Struct):
    schema: dict[str, Any] = msgspec.field(name="openAPIV3Schema", default_factory=dict[str, Any])


class _WireField(Struct, rename="camel"):
    json_path: str


class _WireVersion(Struct, rename="camel"):
    name: str
    served: bool
    storage: bool
    schema: _WireSchema = msgspec.field(default_factory=_WireSchema)
    deprecated: bool = False
    deprecation_warning: str = ""
    subresources: _WireSubresources = msgspec.field(default_factory=_WireSubresources)
    selectable_fields: list[_WireField] = []
    additional_printer_columns: list[_WireColumn] = []


class _WireNames(Struct, rename="camel"):
    plural: str
    kind: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _WireWebhook(Struct, rename="camel"):
    client_config: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    conversion_review_versions: tuple[str, ...] = ()


class _WireConversion(Struct):
    strategy: str = "None"
    webhook: _WireWebhook | None = None


class _WireSpec(Struct):
    group: str
    names: _WireNames
    scope: str
    versions: list[_WireVersion]
    conversion: _WireConversion | None = None


class _WireDefinition(Struct):
    spec: _WireSpec


_read_definition: Final = Reader[_WireDefinition](_WireDefinition).read


def read_definition(data: bytes | str | dict[str, Any]) -> DefinedKind:
    """Read a CustomResourceDefinition from JSON, or from a decoded value; or raise `InvalidObject`."""
    try:
        if isinstance(data, dict):
            spec = msgspec.convert(data, _WireDefinition).spec
        else:
            spec = _read_definition(data.encode() if isinstance(data, str) else data).spec
    except (msgspec.MsgspecError, RecursionError, InvalidObject) as error:
        raise InvalidObject(f"not a CustomResourceDefinition of apiextensions.k8s.io/v1: {error}") from None
    name = f"{spec.names.plural}.{spec.group}"
    if sum(one.storage for one in spec.versions) != 1:
        raise InvalidObject(f"{name}: exactly one version must be the stored one")
    ordered = sorted(spec.versions, key=lambda one: api_version_priority(one.name))
    return DefinedKind(
        name=name,
        list_kind=spec.names.list_kind or f"{spec.names.kind}List",
        versions=tuple(_version(spec, one) for one in ordered),
        conversion=_conversion(name, spec.conversion),
    )


def _conversion(name: str, conversion: _WireConversion | None) -> KindConversion | None:
    if conversion is None or conversion.strategy != "Webhook" or conversion.webhook is None:
        return None
    webhook = conversion.webhook
    return KindConversion(name, webhook.client_config, webhook.conversion_review_versions)


def _version(spec: _WireSpec, one: _WireVersion) -> DefinedVersion:
    names, scale = spec.names, one.subresources.scale
    resource = Resource(
        spec.group,
        one.name,
        names.kind,
        names.plural,
        spec.scope == "Namespaced",
        names.singular or names.kind.lower(),
        names.short_names,
        names.categories,
        tuple(name for name in ("status", "scale") if getattr(one.subresources, name) is not None),
    )
    deprecation = one.deprecation_warning or f"{spec.group}/{one.name} {names.kind} is deprecated"
    return DefinedVersion(
        resource=resource,
        schema=one.schema.schema,
        served=one.served,
        stored=one.storage,
        columns=tuple(
            msgspec.convert(column, Column, from_attributes=True) for column in one.additional_printer_columns
        ),
        selectable_fields=tuple(field.json_path for field in one.selectable_fields),
        scale=None
        if scale is None
        else Scale(scale.spec_replicas_path, scale.status_replicas_path, scale.label_selector_path),
        has_status=one.subresources.status is not None,
        deprecation=deprecation if one.deprecated else "",
    )

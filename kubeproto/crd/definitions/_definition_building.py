"""Building the CustomResourceDefinition of a kind from the classes of its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..._errors import LocalProtocolError
from ...objects import (
    Column,
    ConversionWebhook,
    Definition,
    KubeObject,
    ObjectMeta,
    Scale,
    api_version_priority,
    encode,
)
from ..schemas._annotations import add_marker
from ..schemas._class_fields import fields_of
from ..schemas._schema_building import schema_of
from ._definition_checks import check_definition

if TYPE_CHECKING:
    from collections.abc import Iterable


class DefinitionError(LocalProtocolError, ValueError):
    """These classes have no valid definition; the message names the class or field and the rule."""


class CustomResourceDefinition(
    KubeObject,
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    namespaced=False,
    short_names=("crd", "crds"),
):
    """A CustomResourceDefinition. `definition_of` builds it from classes."""

    spec: dict[str, Any]
    status: dict[str, Any] | None = None

    def to_json(self) -> str:
        """Return indented JSON, identical in every run."""
        return msgspec.json.format(encode(self), indent=2).decode() + "\n"

    def to_yaml(self) -> str:
        """Return YAML, identical in every run; requires the extra `yaml`."""
        from ...yaml import write_documents

        # Encoded and decoded, because a lazy object contains raw JSON.
        return write_documents([msgspec.json.decode(encode(self))])


def definition_of(*classes: type[KubeObject], storage: str = "") -> CustomResourceDefinition:
    """Return the definition of a kind from the classes of its versions; `storage` names the stored version.

    A definition that a server would refuse is a `DefinitionError` with every path and reason.
    """
    classes = tuple(dict.fromkeys(version for cls in classes for version in _with_versions(cls)))
    if not classes:
        raise DefinitionError("a definition needs at least one class")
    first = classes[0].resource
    _check_same_kind(classes)
    stored = storage or _stored_version(classes)
    definitions = [_definition_of(cls) for cls in classes]
    spec: dict[str, Any] = {
        "group": first.group,
        "names": _build_names(classes, definitions),
        "scope": "Namespaced" if first.namespaced else "Cluster",
        "versions": [
            _build_version(cls, stored)
            for cls in sorted(classes, key=lambda cls: api_version_priority(cls.resource.version))
        ],
    }
    conversion = _common_value(classes, "conversion", [definition.conversion for definition in definitions])
    if conversion is not None:
        spec["conversion"] = _build_conversion(conversion)
    crd = CustomResourceDefinition(
        metadata=ObjectMeta(
            name=f"{first.plural}.{first.group}",
            labels=_merge_metadata(classes, "labels"),
            annotations=_merge_metadata(classes, "annotations"),
        ),
        spec=spec,
    )
    if violations := check_definition(msgspec.to_builtins(crd)):
        raise DefinitionError(f"{first.kind}: " + "; ".join(map(str, violations)))
    return crd


def definitions_of(classes: Iterable[type[KubeObject]]) -> list[CustomResourceDefinition]:
    """Return one definition for each kind; the classes of a kind are its versions."""
    kinds: dict[tuple[str, str], list[type[KubeObject]]] = {}
    for cls in classes:
        kinds.setdefault((cls.resource.group, cls.resource.kind), []).append(cls)
    return [definition_of(*versions) for versions in kinds.values()]


def _build_names(classes: tuple[type[KubeObject], ...], definitions: list[Definition]) -> dict[str, Any]:
    first = classes[0].resource
    list_kind = _common_value(classes, "list_kind", [definition.list_kind for definition in definitions])
    names: dict[str, Any] = {
        "plural": first.plural,
        "singular": first.singular,
        "kind": first.kind,
        "listKind": list_kind or f"{first.kind}List",
    }
    for name, json_name in (("short_names", "shortNames"), ("categories", "categories")):
        values = [
            tuple(dict.fromkeys(getattr(cls.resource, name) + getattr(definition, name)))
            for cls, definition in zip(classes, definitions, strict=True)
        ]
        if value := _common_value(classes, name, values):
            names[json_name] = list(value)
    return names


def _definition_of(cls: type[KubeObject]) -> Definition:
    return cls.definition or Definition()


def _with_versions(cls: type[KubeObject]) -> tuple[type[KubeObject], ...]:
    if not hasattr(cls, "resource"):
        raise DefinitionError(
            f"{cls.__name__} has no group, version and kind: write them as class keywords of a KubeObject"
        )
    return (cls, *_definition_of(cls).versions)


def _check_same_kind(classes: tuple[type[KubeObject], ...]) -> None:
    first = classes[0]
    for name in ("group", "kind", "plural", "singular", "namespaced"):
        for cls in classes[1:]:
            first_value, value = getattr(first.resource, name), getattr(cls.resource, name)
            if first_value != value:
                raise DefinitionError(
                    f"{first.__name__} and {cls.__name__} are not versions of the same kind:"
                    f" {name} is {first_value!r} and {value!r}"
                )
    class_names: dict[str, str] = {}
    for cls in classes:
        other = class_names.setdefault(cls.resource.version, cls.__name__)
        if other != cls.__name__ or list(classes).count(cls) > 1:
            raise DefinitionError(f"{other} and {cls.__name__} are both version {cls.resource.version!r}")


def _stored_version(classes: tuple[type[KubeObject], ...]) -> str:
    stored = [cls.resource.version for cls in classes if _definition_of(cls).storage]
    if len(classes) == 1 and _definition_of(classes[0]).storage is None:
        return classes[0].resource.version
    if len(stored) != 1:
        names = "none" if not stored else " and ".join(stored)
        raise DefinitionError(
            f"{classes[0].resource.kind}: exactly one version must be the stored version, and {names} of"
            f" {', '.join(cls.resource.version for cls in classes)} has storage=True;"
            " set storage=True in the Definition of one version, or pass its name as storage="
        )
    return stored[0]


def _common_value(classes: tuple[type[KubeObject], ...], name: str, values: list[Any]) -> Any:
    """Return the value that all versions have in common, or None; versions without a value are ignored."""
    declared = [(cls, value) for cls, value in zip(classes, values, strict=True) if value]
    if not declared:
        return None
    first_cls, first_value = declared[0]
    for cls, value in declared[1:]:
        if value != first_value:
            raise DefinitionError(
                f"{first_cls.__name__} and {cls.__name__} are versions of the same kind, but {name} is"
                f" {first_value!r} and {value!r}"
            )
    return first_value


def _merge_metadata(classes: tuple[type[KubeObject], ...], attribute: str) -> dict[str, str]:
    merged: dict[str, str] = {}
    for cls in classes:
        for name, value in getattr(_definition_of(cls), attribute).items():
            if merged.setdefault(name, value) != value:
                raise DefinitionError(
                    f"{cls.__name__}: {attribute} {name!r} is {merged[name]!r} in another version"
                )
    return merged


def _build_version(cls: type[KubeObject], stored: str) -> dict[str, Any]:
    definition = _definition_of(cls)
    schema = schema_with_root_rules(cls)
    name = cls.resource.version
    version: dict[str, Any] = {"name": name, "served": definition.served, "storage": name == stored}
    if definition.deprecated:
        version["deprecated"] = True
        if isinstance(definition.deprecated, str):
            version["deprecationWarning"] = definition.deprecated
    version["schema"] = {"openAPIV3Schema": schema}
    typed_status = any(field.name == "status" for field in fields_of(cls) or ())
    subresources: dict[str, Any] = {}
    if typed_status if definition.status is None else definition.status:
        subresources["status"] = {}
    if definition.scale is not None:
        subresources["scale"] = _build_scale(definition.scale)
    if subresources:
        version["subresources"] = subresources
    if definition.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in definition.selectable_fields]
    if definition.columns:
        version["additionalPrinterColumns"] = [_build_column(column) for column in definition.columns]
    return version


def schema_with_root_rules(cls: type[KubeObject]) -> dict[str, Any]:
    """Return the schema of a kind, with the rules of its `Definition` at the root."""
    schema = schema_of(cls)
    for rule in _definition_of(cls).rules if hasattr(cls, "resource") else ():
        add_marker(schema, rule, "")
    return schema


def _build_scale(scale: Scale) -> dict[str, str]:
    paths = {"specReplicasPath": scale.spec_replicas, "statusReplicasPath": scale.status_replicas}
    return paths | ({"labelSelectorPath": scale.label_selector} if scale.label_selector else {})


def _build_column(column: Column) -> dict[str, Any]:
    return {"name": column.name, "type": column.type, "jsonPath": column.json_path} | {
        name: value
        for name in ("format", "description", "priority")
        if (value := getattr(column, name))
    }  # fmt: skip


def _build_conversion(webhook: ConversionWebhook) -> dict[str, Any]:
    client: dict[str, Any] = {}
    if webhook.url:
        client["url"] = webhook.url
    if webhook.name or webhook.namespace:
        client["service"] = {"namespace": webhook.namespace, "name": webhook.name, "port": webhook.port}
        if webhook.path:
            client["service"]["path"] = webhook.path
    if webhook.ca_bundle:
        client["caBundle"] = msgspec.to_builtins(webhook.ca_bundle)
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }

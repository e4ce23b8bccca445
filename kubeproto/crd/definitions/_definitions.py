"""From classes to the CustomResourceDefinition that a server accepts."""

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
from ..schemas._class_fields import fields_of
from ..schemas._markers import mark
from ..schemas._schemas import schema_of
from ._definition_checks import check_definition

if TYPE_CHECKING:
    from collections.abc import Iterable


class DefinitionError(LocalProtocolError, ValueError):
    """A definition cannot be made from these classes; the message names the class or field and the rule."""


class CustomResourceDefinition(
    KubeObject,
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    namespaced=False,
    short_names=("crd", "crds"),
):
    """A definition as it is sent. `definition_of` makes one from classes."""

    spec: dict[str, Any]
    status: dict[str, Any] | None = None

    def to_json(self) -> str:
        """Return indented JSON, the same from run to run."""
        return msgspec.json.format(encode(self), indent=2).decode() + "\n"

    def to_yaml(self) -> str:
        """Return YAML, the same from run to run; it needs the extra `yaml`."""
        from ...yaml import write_documents

        # Through JSON: an object that was read from a server may still be lazy, and contain raw JSON.
        return write_documents([msgspec.json.decode(encode(self))])


def definition_of(*classes: type[KubeObject], storage: str = "") -> CustomResourceDefinition:
    """Return the definition of a kind from the classes of its versions; `storage` names the stored one.

    If a server would refuse it, `DefinitionError` names every path and reason.
    """
    classes = tuple(dict.fromkeys(one for cls in classes for one in _with_versions(cls)))
    if not classes:
        raise DefinitionError("a definition needs at least one class")
    first = classes[0].resource
    _check_same_kind(classes)
    stored = storage or _stored_version(classes)
    definitions = [_definition(cls) for cls in classes]
    spec: dict[str, Any] = {
        "group": first.group,
        "names": _names(classes, definitions),
        "scope": "Namespaced" if first.namespaced else "Cluster",
        "versions": [
            _version(cls, stored)
            for cls in sorted(classes, key=lambda cls: api_version_priority(cls.resource.version))
        ],
    }
    conversion = _agreed(classes, "conversion", [one.conversion for one in definitions])
    if conversion is not None:
        spec["conversion"] = _conversion(conversion)
    made = CustomResourceDefinition(
        metadata=ObjectMeta(
            name=f"{first.plural}.{first.group}",
            labels=_merged(classes, "labels"),
            annotations=_merged(classes, "annotations"),
        ),
        spec=spec,
    )
    if wrong := check_definition(msgspec.to_builtins(made)):
        raise DefinitionError(f"{first.kind}: " + "; ".join(map(str, wrong)))
    return made


def definitions_of(classes: Iterable[type[KubeObject]]) -> list[CustomResourceDefinition]:
    """Return the definitions of several kinds; classes of one kind are its versions."""
    kinds: dict[tuple[str, str], list[type[KubeObject]]] = {}
    for cls in classes:
        kinds.setdefault((cls.resource.group, cls.resource.kind), []).append(cls)
    return [definition_of(*versions) for versions in kinds.values()]


def _names(classes: tuple[type[KubeObject], ...], definitions: list[Definition]) -> dict[str, Any]:
    first = classes[0].resource
    list_kind = _agreed(classes, "list_kind", [one.list_kind for one in definitions])
    names: dict[str, Any] = {
        "plural": first.plural,
        "singular": first.singular,
        "kind": first.kind,
        "listKind": list_kind or f"{first.kind}List",
    }
    for name, wire in (("short_names", "shortNames"), ("categories", "categories")):
        own = [
            tuple(dict.fromkeys(getattr(cls.resource, name) + getattr(one, name)))
            for cls, one in zip(classes, definitions, strict=True)
        ]
        if agreed := _agreed(classes, name, own):
            names[wire] = list(agreed)
    return names


def _definition(cls: type[KubeObject]) -> Definition:
    return cls.definition or Definition()


def _with_versions(cls: type[KubeObject]) -> tuple[type[KubeObject], ...]:
    if not hasattr(cls, "resource"):
        raise DefinitionError(f"{cls.__name__} has no group, version and kind, so nothing defines it")
    return (cls, *_definition(cls).versions)


def _check_same_kind(classes: tuple[type[KubeObject], ...]) -> None:
    first = classes[0]
    for what in ("group", "kind", "plural", "singular", "namespaced"):
        for cls in classes[1:]:
            mine, yours = getattr(first.resource, what), getattr(cls.resource, what)
            if mine != yours:
                raise DefinitionError(
                    f"{first.__name__} and {cls.__name__} are not versions of one kind:"
                    f" {what} is {mine!r} here and {yours!r} there"
                )
    seen: dict[str, str] = {}
    for cls in classes:
        other = seen.setdefault(cls.resource.version, cls.__name__)
        if other != cls.__name__ or list(classes).count(cls) > 1:
            raise DefinitionError(f"{other} and {cls.__name__} are both version {cls.resource.version!r}")


def _stored_version(classes: tuple[type[KubeObject], ...]) -> str:
    marked = [cls.resource.version for cls in classes if _definition(cls).storage]
    if len(classes) == 1 and _definition(classes[0]).storage is None:
        return classes[0].resource.version
    if len(marked) != 1:
        found = "none" if not marked else " and ".join(marked)
        raise DefinitionError(
            f"{classes[0].resource.kind}: exactly one version is stored, and {found} of"
            f" {', '.join(cls.resource.version for cls in classes)} says so;"
            " give one Definition storage=True, or name it with storage="
        )
    return marked[0]


def _agreed(classes: tuple[type[KubeObject], ...], what: str, values: list[Any]) -> Any:
    """Return what all versions declare of the kind; those that declare nothing agree."""
    said = [(cls, value) for cls, value in zip(classes, values, strict=True) if value]
    for cls, value in said[1:]:
        if value != said[0][1]:
            raise DefinitionError(
                f"{said[0][0].__name__} and {cls.__name__} are versions of one kind, but {what} is"
                f" {said[0][1]!r} here and {value!r} there"
            )
    return said[0][1] if said else None


def _merged(classes: tuple[type[KubeObject], ...], what: str) -> dict[str, str]:
    merged: dict[str, str] = {}
    for cls in classes:
        for name, value in getattr(_definition(cls), what).items():
            if merged.setdefault(name, value) != value:
                raise DefinitionError(
                    f"{cls.__name__}: {what} {name!r} is {merged[name]!r} in another version"
                )
    return merged


def _version(cls: type[KubeObject], stored: str) -> dict[str, Any]:
    own = _definition(cls)
    schema = schema_for(cls)
    name = cls.resource.version
    version: dict[str, Any] = {"name": name, "served": own.served, "storage": name == stored}
    if own.deprecated:
        version["deprecated"] = True
        if isinstance(own.deprecated, str):
            version["deprecationWarning"] = own.deprecated
    version["schema"] = {"openAPIV3Schema": schema}
    typed_status = any(field.name == "status" for field in fields_of(cls) or ())
    subresources: dict[str, Any] = {}
    if typed_status if own.status is None else own.status:
        subresources["status"] = {}
    if own.scale is not None:
        subresources["scale"] = _scale(own.scale)
    if subresources:
        version["subresources"] = subresources
    if own.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in own.selectable_fields]
    if own.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in own.columns]
    return version


def schema_for(cls: type[KubeObject]) -> dict[str, Any]:
    """Return the schema of a kind with the rules that its `Definition` adds at the root."""
    schema = schema_of(cls)
    for rule in _definition(cls).rules if hasattr(cls, "resource") else ():
        mark(schema, rule, "")
    return schema


def _scale(scale: Scale) -> dict[str, str]:
    paths = {"specReplicasPath": scale.spec_replicas, "statusReplicasPath": scale.status_replicas}
    return paths | ({"labelSelectorPath": scale.label_selector} if scale.label_selector else {})


def _column(column: Column) -> dict[str, Any]:
    return {"name": column.name, "type": column.type, "jsonPath": column.json_path} | {
        name: value
        for name in ("format", "description", "priority")
        if (value := getattr(column, name))
    }  # fmt: skip


def _conversion(webhook: ConversionWebhook) -> dict[str, Any]:
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

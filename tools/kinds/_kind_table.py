"""The table of kinds: schemas become types with fields, under names such as `core_v1.PodSpec`."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubeproto.kinds import (
    BuiltinField,
    BuiltinResource,
    BuiltinSubresource,
    BuiltinType,
    KindTable,
    ReleaseDifferences,
)
from kubeproto.kinds._python_names import module_name
from kubeproto.objects import GroupVersionKind, Resource
from tools.kinds._api_description import Json, ref_of

# Types whose schemas do not describe them: most of them encode themselves as JSON in Go.
_SPECIAL_TYPES: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "object",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "schema-or-array",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": (
        "schema-or-strings"
    ),
}
_NONE: Final[Mapping[str, ReleaseDifferences]] = {}
_FORMATS: Final = {"byte": "bytes", "date-time": "time", "int-or-string": "int-or-string"}


def table_of(description: Json, releases: Mapping[str, ReleaseDifferences] = _NONE) -> KindTable:
    """Return the table of a description, with the differences of older releases."""
    schemas: Json = description["schemas"]
    names = _type_names(schemas)
    kinds = {gvk: names[name] for name, schema in schemas.items() if (gvk := _gvk_of(schema))}
    types = {
        names[name]: _type(schema, names) for name, schema in schemas.items() if name not in _SPECIAL_TYPES
    }
    return KindTable(
        kubernetes=description["kubernetes"],
        resources=tuple(_resource(resource, kinds) for resource in description["resources"]),
        types={name: types[name] for name in sorted(types)},
        releases=dict(releases),
    )


def dump(table: KindTable) -> bytes:
    """Return the text of `table.json`: a line for each resource and a line for each type."""
    resources = b",\n".join(msgspec.json.encode(resource) for resource in table.resources)
    types = b",\n".join(
        msgspec.json.encode(name) + b":" + msgspec.json.encode(type_) for name, type_ in table.types.items()
    )
    releases = b",\n".join(
        msgspec.json.encode(number) + b":" + msgspec.json.encode(differences)
        for number, differences in table.releases.items()
    )
    version = msgspec.json.encode(table.kubernetes)
    return b'{"kubernetes":%b,\n"resources":[\n%b\n],\n"types":{\n%b\n},\n"releases":{\n%b\n}}\n' % (
        version, resources, types, releases,
    )  # fmt: skip


def _type_names(schemas: Json) -> dict[str, str]:
    """Return a name for each schema: the module of its package, and the last part of its name."""
    packages = {"io.k8s.apimachinery.pkg.apis.meta.v1": "meta_v1"}
    for name, schema in schemas.items():
        if gvk := _gvk_of(schema):
            packages.setdefault(name.rpartition(".")[0], module_name(gvk.group, gvk.version))
    return {
        name: f"{packages[package]}.{last}"
        for name in schemas
        for package, _, last in [name.rpartition(".")]
        if name not in _SPECIAL_TYPES
    }


def _gvk_of(schema: Json) -> GroupVersionKind | None:
    entries = schema.get("x-kubernetes-group-version-kind")
    return _gvk(entries[0]) if entries else None


def _gvk(entry: Json) -> GroupVersionKind:
    return GroupVersionKind(entry["group"], entry["version"], entry["kind"])


def _resource(entry: Json, kinds: dict[GroupVersionKind, str]) -> BuiltinResource:
    resource = Resource(
        group=entry["group"],
        version=entry["version"],
        kind=entry["kind"],
        plural=entry["plural"],
        namespaced=entry["namespaced"],
        singular=entry["singular"],
        short_names=tuple(entry["shortNames"]),
        categories=tuple(entry["categories"]),
        subresources=tuple(subresource["name"] for subresource in entry["subresources"]),
        verbs=tuple(entry["verbs"]),
    )
    subresources = tuple(
        BuiltinSubresource(
            name=subresource["name"],
            kind=_gvk(subresource),
            verbs=tuple(subresource["verbs"]),
            accepts=tuple(_gvk(kind) for kind in subresource["accepts"]),
        )
        for subresource in entry["subresources"]
    )
    return BuiltinResource(resource=resource, type=kinds[resource.gvk], subresources=subresources)


def _type(schema: Json, names: dict[str, str]) -> BuiltinType:
    required = schema.get("required", ())
    properties: Json = schema.get("properties", {})
    return BuiltinType(
        gvk=_gvk_of(schema),
        map_type=schema.get("x-kubernetes-map-type", ""),
        fields={wire: _field(member, names, wire in required) for wire, member in sorted(properties.items())},
    )


def _field(schema: Json, names: dict[str, str], required: bool) -> BuiltinField:
    type_, form = _shape(schema, names)
    strategy = schema.get("x-kubernetes-patch-strategy", "")
    return BuiltinField(
        type=type_,
        form=form,
        required=required,
        default=schema.get("default"),
        enum=tuple(schema.get("enum", ())),
        list_type=schema.get("x-kubernetes-list-type", ""),
        list_map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        map_type=schema.get("x-kubernetes-map-type", ""),
        patch_strategy=tuple(strategy.split(",")) if strategy else (),
        patch_merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
    )


def _shape(schema: Json, names: dict[str, str]) -> tuple[str, tuple[Any, ...]]:
    """Return the innermost type, and the lists and maps around it."""
    if ref := ref_of(schema):
        return _SPECIAL_TYPES.get(ref) or names[ref], ()
    for key, form_name in (("items", "list"), ("additionalProperties", "map")):
        if isinstance(schema.get(key), dict):
            type_, form = _shape(schema[key], names)
            return type_, (form_name, *form)
    return _FORMATS.get(schema.get("format", "")) or schema.get("type", "any"), ()

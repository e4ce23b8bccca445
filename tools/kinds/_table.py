"""From facts to the table: schemas become types of named fields, under names such as `core_v1.PodSpec`."""

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
from tools.kinds._facts import Json, ref_of

# What a schema stands for when its own words say too little: most of these write themselves as JSON in Go.
_WORDS: Final = {
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


def table_of(facts: Json, releases: Mapping[str, ReleaseDifferences] = _NONE) -> KindTable:
    """The table of these facts, and of how older releases differ."""
    schemas: Json = facts["schemas"]
    names = _type_names(schemas)
    kinds = {gvk: names[name] for name, schema in schemas.items() if (gvk := _gvk_of(schema))}
    types = {names[name]: _type(schema, names) for name, schema in schemas.items() if name not in _WORDS}
    return KindTable(
        kubernetes=facts["kubernetes"],
        resources=tuple(_resource(found, kinds) for found in facts["resources"]),
        types={name: types[name] for name in sorted(types)},
        releases=dict(releases),
    )


def dump(table: KindTable) -> bytes:
    """The text of `table.json`: one line a resource and one a type."""
    resources = b",\n".join(msgspec.json.encode(each) for each in table.resources)
    types = b",\n".join(
        msgspec.json.encode(name) + b":" + msgspec.json.encode(facts) for name, facts in table.types.items()
    )
    releases = b",\n".join(
        msgspec.json.encode(number) + b":" + msgspec.json.encode(facts)
        for number, facts in table.releases.items()
    )
    version = msgspec.json.encode(table.kubernetes)
    return b'{"kubernetes":%b,\n"resources":[\n%b\n],\n"types":{\n%b\n},\n"releases":{\n%b\n}}\n' % (
        version, resources, types, releases,
    )  # fmt: skip


def _type_names(schemas: Json) -> dict[str, str]:
    """A name for each schema: the module of the kinds that share its package, and its last word."""
    packages = {"io.k8s.apimachinery.pkg.apis.meta.v1": "meta_v1"}
    for name, schema in schemas.items():
        if gvk := _gvk_of(schema):
            packages.setdefault(name.rpartition(".")[0], module_name(gvk.group, gvk.version))
    return {
        name: f"{packages[package]}.{last}"
        for name in schemas
        for package, _, last in [name.rpartition(".")]
        if name not in _WORDS
    }


def _gvk_of(schema: Json) -> GroupVersionKind | None:
    named = schema.get("x-kubernetes-group-version-kind")
    return _spoken(named[0]) if named else None


def _spoken(named: Json) -> GroupVersionKind:
    return GroupVersionKind(named["group"], named["version"], named["kind"])


def _resource(found: Json, kinds: dict[GroupVersionKind, str]) -> BuiltinResource:
    resource = Resource(
        group=found["group"],
        version=found["version"],
        kind=found["kind"],
        plural=found["plural"],
        namespaced=found["namespaced"],
        singular=found["singular"],
        short_names=tuple(found["shortNames"]),
        categories=tuple(found["categories"]),
        subresources=tuple(each["name"] for each in found["subresources"]),
        verbs=tuple(found["verbs"]),
    )
    subresources = tuple(
        BuiltinSubresource(
            name=each["name"],
            kind=_spoken(each),
            verbs=tuple(each["verbs"]),
            accepts=tuple(_spoken(accepted) for accepted in each["accepts"]),
        )
        for each in found["subresources"]
    )
    return BuiltinResource(resource=resource, type=kinds[resource.gvk], subresources=subresources)


def _type(schema: Json, names: dict[str, str]) -> BuiltinType:
    required = schema.get("required", ())
    properties: Json = schema.get("properties", {})
    return BuiltinType(
        gvk=_gvk_of(schema),
        map_type=schema.get("x-kubernetes-map-type", ""),
        fields={wire: _field(each, names, wire in required) for wire, each in sorted(properties.items())},
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
    """The innermost type, and what it is wrapped in."""
    if ref := ref_of(schema):
        return _WORDS.get(ref) or names[ref], ()
    for key, wrap in (("items", "list"), ("additionalProperties", "map")):
        if isinstance(schema.get(key), dict):
            type_, form = _shape(schema[key], names)
            return type_, (wrap, *form)
    return _FORMATS.get(schema.get("format", "")) or schema.get("type", "any"), ()

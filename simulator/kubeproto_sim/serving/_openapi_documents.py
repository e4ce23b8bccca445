"""The content of OpenAPI documents: the schemas of the served kinds, and their paths.

kubectl reads them to validate, to merge by merge keys, to explain, and to detect `fieldValidation`. Schemas
of built-in kinds are made from the table of kinds, schemas of custom resources from their definitions.
Built-in fields have no descriptions, because the table has none.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from kubeproto.kinds import BuiltinField, BuiltinType, kind_table
from kubeproto.objects import is_list, is_object

from ..kinds._kind_registry import KindRegistry
from ..kinds._kubernetes_releases import Release, release_of
from ..kinds._served_kinds import ServedKind

Json = dict[str, Any]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_PACKAGES: Final = {
    "meta_v1": _META,
    "apiextensions_v1": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "apiregistration_v1": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
    "rbac_authorization_v1": "io.k8s.api.rbac.v1",
    "flowcontrol_apiserver_v1": "io.k8s.api.flowcontrol.v1",
}
_LEAVES: Final[dict[str, Json]] = {
    "string": {"type": "string"}, "integer": {"type": "integer", "format": "int64"},
    "number": {"type": "number", "format": "double"}, "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"}, "any": {},
    "schema-or-array": {}, "schema-or-bool": {}, "schema-or-strings": {},
}  # fmt: skip
_SHARED: Final[dict[str, Json]] = {
    f"{_META}.Time": {"type": "string", "format": "date-time"},
    f"{_META}.MicroTime": {"type": "string", "format": "date-time"},
    f"{_META}.FieldsV1": {"type": "object"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
}
_SHARED_LEAVES: Final = {
    "time": f"{_META}.Time", "micro-time": f"{_META}.MicroTime",
    "object": f"{_META}.FieldsV1",
    "quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "int-or-string": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}  # fmt: skip
# The prefixes of references to schemas in the two versions of the format.
_V2: Final = "#/definitions/"
_V3: Final = "#/components/schemas/"
_PATCHES: Final = (
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)  # fmt: skip
_METHODS: Final = (
    ("get", "get", True), ("put", "update", True), ("patch", "patch", True), ("delete", "delete", True),
    ("post", "create", False), ("get", "list", False),
)  # fmt: skip


def index(kinds: KindRegistry, hashes: dict[tuple[str, str], str]) -> Json:
    """Return the index of version 3: the URLs of the documents by group version, with hashes for caches."""
    return {
        "paths": {
            _path(group, version): {
                "serverRelativeURL": f"/openapi/v3/{_path(group, version)}?hash={hashes[group, version]}"
            }
            for group, version in kinds.by_version
        }
    }


def document_v3(kinds: KindRegistry, group: str, version: str) -> Json:
    """Return the document of a group version."""
    served = list(kinds.by_version[group, version].values())
    schemas = _schemas(served, _V3, kinds.release)
    return {
        "openapi": "3.0.0",
        "info": _info(kinds.release),
        "paths": _paths(served, _V3),
        "components": {"schemas": schemas},
    }


def document_v2(kinds: KindRegistry) -> Json:
    """Return the document of version 2, which describes all kinds."""
    served = list(kinds)
    return {
        "swagger": "2.0",
        "info": _info(kinds.release),
        "paths": _paths(served, _V2),
        "definitions": _schemas(served, _V2, kinds.release),
    }


def _info(release: Release) -> Json:
    return {"title": "Kubernetes", "version": f"v{release.version}"}


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _schemas(kinds: list[ServedKind], refs: str, release: Release) -> Json:
    schemas: Json = {}
    types = ["meta_v1.DeleteOptions", "meta_v1.ObjectMeta"]
    for served in kinds:
        if served.custom:
            schemas[_custom_name(served)] = _custom_schema(served, refs)
        else:
            types.append(served.type)
        types += [_type_of_subresource(served, name) for name in served.subresources]
    for name, schema in _closure(tuple(sorted(set(types) - {""})), refs, release.number).items():
        schemas[name] = schema
    return dict(sorted(schemas.items()))


def _type_of_subresource(served: ServedKind, name: str) -> str:
    gvk = served.subresources[name].kind
    try:
        return kind_table().type_of(gvk)
    except KeyError:
        return ""  # the custom resource itself


@functools.lru_cache(maxsize=64)
def _closure(roots: tuple[str, ...], refs: str, release: str) -> Json:
    """Return the schemas of these types, and of all types that they refer to, in a release."""
    known_release = release_of(release)
    pending, schemas = list(roots), dict[str, Json](_SHARED)
    types = kind_table().types
    while pending:
        name = pending.pop()
        if _name(name) in schemas:
            continue
        type_facts = known_release.type_facts(name, types[name])
        schemas[_name(name)] = _schema(type_facts, refs)
        pending += [field.type for field in type_facts.fields.values() if "." in field.type]
    return schemas


def _name(type_: str) -> str:
    module, _, class_ = type_.partition(".")
    return f"{_PACKAGES.get(module) or 'io.k8s.api.' + module.replace('_', '.')}.{class_}"


def _schema(type_facts: BuiltinType, refs: str) -> Json:
    schema: Json = {"type": "object"}
    if required := sorted(name for name, field in type_facts.fields.items() if field.required):
        schema["required"] = required
    if type_facts.fields:
        schema["properties"] = {
            name: _field(field, refs) for name, field in sorted(type_facts.fields.items())
        }
    if type_facts.gvk is not None:
        gvk = type_facts.gvk
        schema["x-kubernetes-group-version-kind"] = [_gvk(gvk.group, gvk.version, gvk.kind)]
    if type_facts.map_type:
        schema["x-kubernetes-map-type"] = type_facts.map_type
    return schema


def _gvk(group: str, version: str, kind: str) -> Json:
    return {"group": group, "kind": kind, "version": version}


def _field(field: BuiltinField, refs: str) -> Json:
    schema = _leaf(field.type, refs)
    for form in reversed(field.form):
        inner = schema
        schema = {"type": "array", "items": inner} if form == "list" else {
            "type": "object", "additionalProperties": inner,
        }  # fmt: skip
    if "$ref" in schema and refs == _V3 and (field.default is not None or field.map_type):
        schema = {"allOf": [schema]}  # a reference allows no other members beside it
    extra: Json = {
        "enum": list(field.enum), "default": field.default, "x-kubernetes-list-type": field.list_type,
        "x-kubernetes-list-map-keys": list(field.list_map_keys), "x-kubernetes-map-type": field.map_type,
        "x-kubernetes-patch-strategy": ",".join(field.patch_strategy),
        "x-kubernetes-patch-merge-key": field.patch_merge_key,
    }  # fmt: skip
    return schema | {name: value for name, value in extra.items() if value not in (None, "", [])}


def _leaf(type_: str, refs: str) -> Json:
    if "." in type_:
        return {"$ref": refs + _name(type_)}
    if shared := _SHARED_LEAVES.get(type_):
        return {"$ref": refs + shared}
    return dict(_LEAVES[type_])


# Custom resources.


def _custom_name(served: ServedKind) -> str:
    return f"{'.'.join(reversed(served.group.split('.')))}.{served.version}.{served.kind}"


def _custom_schema(served: ServedKind, refs: str) -> Json:
    assert served.defined is not None  # a custom resource
    schema = dict(served.defined.schema)
    if refs == _V2:
        schema = _for_v2(schema)
    properties: Json = dict(schema.get("properties") or {})
    for name in ("apiVersion", "kind"):
        properties.setdefault(name, {"type": "string"})
    reference: Json = {"$ref": f"{refs}{_META}.ObjectMeta"}
    properties["metadata"] = reference if refs == _V2 else {"allOf": [reference]}
    schema["type"] = "object"
    schema["properties"] = properties
    schema["x-kubernetes-group-version-kind"] = [_gvk(served.group, served.version, served.kind)]
    return schema


# Version 2 has none of these, and its readers refuse unknown keywords.
_NOT_IN_V2: Final = frozenset(("oneOf", "anyOf", "not", "nullable", "allOf", "x-kubernetes-validations"))


def _for_v2(schema: Any) -> Any:
    if is_list(schema):
        return [_for_v2(element) for element in schema]
    if not is_object(schema):
        return schema
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        retained = ("description", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
        return {name: schema[name] for name in retained if name in schema}
    return {name: _for_v2(value) for name, value in schema.items() if name not in _NOT_IN_V2}


# Paths.


def _paths(kinds: list[ServedKind], refs: str) -> Json:
    paths: Json = {}
    for served in kinds:
        root = f"/{_path(served.group, served.version)}/"
        base = (
            f"{root}namespaces/{{namespace}}/{served.plural}" if served.namespaced else root + served.plural
        )
        for path, has_name in ((base, False), (base + "/{name}", True)):
            operations = {
                method: _operation(served, verb, has_name, refs)
                for method, verb, on_named in _METHODS
                if on_named == has_name and verb in served.verbs
            }
            if operations:
                paths[path] = operations
    return dict(sorted(paths.items()))


def _operation(served: ServedKind, verb: str, has_name: bool, refs: str) -> Json:
    names = [
        name for name, is_present in (("namespace", served.namespaced), ("name", has_name)) if is_present
    ]
    parameters = [_parameter(name, "path", refs) for name in names]
    if verb in ("create", "update", "patch"):
        query = ("dryRun", "fieldManager", "fieldValidation", "pretty")
        parameters += [_parameter(name, "query", refs) for name in query]
    if verb == "patch":
        parameters.append(_parameter("force", "query", refs, "boolean"))
    name = _custom_name(served) if served.custom else _name(served.type)
    schema: Json = {"schema": {"$ref": refs + name}}
    operation: Json = {
        "operationId": f"{verb}{'Namespaced' if served.namespaced else ''}{served.kind}"
        f"{served.group.partition('.')[0].title()}{served.version.title()}",
        "x-kubernetes-action": {"get": "get", "list": "list", "create": "post", "update": "put"}.get(
            verb, verb
        ),
        "x-kubernetes-group-version-kind": _gvk(served.group, served.version, served.kind),
        "parameters": parameters,
    }
    # kubectl chooses its patch from this list: custom resources support no strategic merge.
    patches = _PATCHES[:-1] if served.custom else _PATCHES
    if refs == _V2:
        operation["responses"] = {"200": {"description": "OK", **schema}}
        return operation | {
            "consumes": list(patches) if verb == "patch" else ["*/*"],
            "produces": ["application/json"],
        }
    if verb in ("create", "update"):
        operation["requestBody"] = {"required": True, "content": {"*/*": schema}}
    elif verb == "patch":
        anything: Json = {"schema": {"type": "object"}}
        operation["requestBody"] = {"required": True, "content": dict.fromkeys(patches, anything)}
    operation["responses"] = {"200": {"description": "OK", "content": {"application/json": schema}}}
    return operation


def _parameter(name: str, location: str, refs: str, type_: str = "string") -> Json:
    parameter: Json = {"name": name, "in": location}
    if location == "path":
        parameter["required"] = True
    return parameter | ({"type": type_, "uniqueItems": True} if refs == _V2 else {"schema": {"type": type_}})

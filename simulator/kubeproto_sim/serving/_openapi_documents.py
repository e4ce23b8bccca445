"""The OpenAPI documents of a server: the schemas of what it serves, and the paths that clients look up.

kubectl reads them to validate, to merge (merge keys), to explain, and to find out that `fieldValidation` is
understood. Schemas of built-in kinds are made from the kinds' table, those of custom resources from their
definitions. Descriptions of built-in fields are left out, since the table has none.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from kubeproto.kinds import FieldFacts, TypeFacts, table

from ..kinds._kinds import Kinds, Served
from ..kinds._releases import Release, release_of
from ..storage._json_values import is_list, is_map

Json = dict[str, Any]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_HOMES: Final = {
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
# Where a schema is in each of the two versions of the format.
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


def index(kinds: Kinds, hashes: dict[tuple[str, str], str]) -> Json:
    """Return the index of version 3: where the document of each group version is, by a hash for caches."""
    return {
        "paths": {
            _path(group, version): {
                "serverRelativeURL": f"/openapi/v3/{_path(group, version)}?hash={hashes[group, version]}"
            }
            for group, version in kinds.by_version
        }
    }


def document_v3(kinds: Kinds, group: str, version: str) -> Json:
    """Return the document of one group version."""
    served = list(kinds.by_version[group, version].values())
    schemas = _schemas(served, _V3, kinds.release)
    return {
        "openapi": "3.0.0",
        "info": _info(kinds.release),
        "paths": _paths(served, _V3),
        "components": {"schemas": schemas},
    }


def document_v2(kinds: Kinds) -> Json:
    """Return the one document of version 2, with everything in it."""
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


def _schemas(kinds: list[Served], refs: str, release: Release) -> Json:
    found: Json = {}
    wanted = ["meta_v1.DeleteOptions", "meta_v1.ObjectMeta"]
    for served in kinds:
        if served.custom:
            found[_custom_name(served)] = _custom_schema(served, refs)
        else:
            wanted.append(served.type)
        wanted += [_type_of_subresource(served, name) for name in served.subresources]
    for name, schema in _closure(tuple(sorted(set(wanted) - {""})), refs, release.number).items():
        found[name] = schema
    return dict(sorted(found.items()))


def _type_of_subresource(served: Served, name: str) -> str:
    gvk = served.subresources[name].kind
    try:
        return table().type_of(gvk)
    except KeyError:
        return ""  # the kind itself, where it is a custom resource


@functools.lru_cache(maxsize=64)
def _closure(wanted: tuple[str, ...], refs: str, release: str) -> Json:
    """Return the schemas of these types and of all that they refer to, as a release has them."""
    known = release_of(release)
    todo, found = list(wanted), dict[str, Json](_SHARED)
    types = table().types
    while todo:
        name = todo.pop()
        if _name(name) in found:
            continue
        facts = known.type_facts(name, types[name])
        found[_name(name)] = _schema(facts, refs)
        todo += [field.type for field in facts.fields.values() if "." in field.type]
    return found


def _name(type_: str) -> str:
    home, _, class_ = type_.partition(".")
    return f"{_HOMES.get(home) or 'io.k8s.api.' + home.replace('_', '.')}.{class_}"


def _schema(facts: TypeFacts, refs: str) -> Json:
    schema: Json = {"type": "object"}
    if required := sorted(name for name, field in facts.fields.items() if field.required):
        schema["required"] = required
    if facts.fields:
        schema["properties"] = {name: _field(field, refs) for name, field in sorted(facts.fields.items())}
    if facts.gvk is not None:
        gvk = facts.gvk
        schema["x-kubernetes-group-version-kind"] = [_gvk(gvk.group, gvk.version, gvk.kind)]
    if facts.map_type:
        schema["x-kubernetes-map-type"] = facts.map_type
    return schema


def _gvk(group: str, version: str, kind: str) -> Json:
    return {"group": group, "kind": kind, "version": version}


def _field(field: FieldFacts, refs: str) -> Json:
    schema = _leaf(field.type, refs)
    for form in reversed(field.form):
        inner = schema
        schema = {"type": "array", "items": inner} if form == "list" else {
            "type": "object", "additionalProperties": inner,
        }  # fmt: skip
    if "$ref" in schema and refs == _V3 and (field.default is not None or field.map_type):
        schema = {"allOf": [schema]}  # nothing else is allowed beside a reference
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


def _custom_name(served: Served) -> str:
    return f"{'.'.join(reversed(served.group.split('.')))}.{served.version}.{served.kind}"


def _custom_schema(served: Served, refs: str) -> Json:
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


# Version 2 cannot express these, and readers of it refuse what they do not know.
_NOT_IN_V2: Final = frozenset(("oneOf", "anyOf", "not", "nullable", "allOf", "x-kubernetes-validations"))


def _for_v2(schema: Any) -> Any:
    if is_list(schema):
        return [_for_v2(one) for one in schema]
    if not is_map(schema):
        return schema
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        kept = ("description", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
        return {name: schema[name] for name in kept if name in schema}
    return {name: _for_v2(value) for name, value in schema.items() if name not in _NOT_IN_V2}


# Paths.


def _paths(kinds: list[Served], refs: str) -> Json:
    found: Json = {}
    for served in kinds:
        root = f"/{_path(served.group, served.version)}/"
        base = (
            f"{root}namespaces/{{namespace}}/{served.plural}" if served.namespaced else root + served.plural
        )
        for path, named in ((base, False), (base + "/{name}", True)):
            operations = {
                method: _operation(served, verb, named, refs)
                for method, verb, on_named in _METHODS
                if on_named == named and verb in served.verbs
            }
            if operations:
                found[path] = operations
    return dict(sorted(found.items()))


def _operation(served: Served, verb: str, named: bool, refs: str) -> Json:
    names = [name for name, there in (("namespace", served.namespaced), ("name", named)) if there]
    parameters = [_parameter(name, "path", refs) for name in names]
    if verb in ("create", "update", "patch"):
        query = ("dryRun", "fieldManager", "fieldValidation", "pretty")
        parameters += [_parameter(name, "query", refs) for name in query]
    if verb == "patch":
        parameters.append(_parameter("force", "query", refs, "boolean"))
    name = _custom_name(served) if served.custom else _name(served.type)
    shown: Json = {"schema": {"$ref": refs + name}}
    found: Json = {
        "operationId": f"{verb}{'Namespaced' if served.namespaced else ''}{served.kind}"
        f"{served.group.partition('.')[0].title()}{served.version.title()}",
        "x-kubernetes-action": {"get": "get", "list": "list", "create": "post", "update": "put"}.get(
            verb, verb
        ),
        "x-kubernetes-group-version-kind": _gvk(served.group, served.version, served.kind),
        "parameters": parameters,
    }
    # kubectl follows this list: custom resources support no strategic merge.
    patches = _PATCHES[:-1] if served.custom else _PATCHES
    if refs == _V2:
        found["responses"] = {"200": {"description": "OK", **shown}}
        return found | {
            "consumes": list(patches) if verb == "patch" else ["*/*"],
            "produces": ["application/json"],
        }
    if verb in ("create", "update"):
        found["requestBody"] = {"required": True, "content": {"*/*": shown}}
    elif verb == "patch":
        anything: Json = {"schema": {"type": "object"}}
        found["requestBody"] = {"required": True, "content": dict.fromkeys(patches, anything)}
    found["responses"] = {"200": {"description": "OK", "content": {"application/json": shown}}}
    return found


def _parameter(name: str, place: str, refs: str, type_: str = "string") -> Json:
    found: Json = {"name": name, "in": place}
    if place == "path":
        found["required"] = True
    return found | ({"type": type_, "uniqueItems": True} if refs == _V2 else {"schema": {"type": type_}})

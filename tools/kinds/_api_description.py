"""A server's description of its kinds, reduced to the parts that the classes and the table need.

The file `api_description.json` has one line for each resource and one for each schema, so the diff of a new
Kubernetes version is readable.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

PATH: Final = Path(__file__).with_name("api_description.json")
_REF: Final = "#/components/schemas/"
_OMITTED: Final = ("description", "title", "x-kubernetes-unions")


def gather(kubernetes: str, discovery: Mapping[str, Json], documents: Iterable[Json]) -> Json:
    """Return the description from the aggregated discovery (`api` and `apis`) and the OpenAPI documents."""
    schemas: Json = {}
    for document in documents:
        # A server sends the schemas below "components".
        document_schemas: Json = document.get("schemas") or document["components"]["schemas"]
        schemas |= {name: _without_descriptions(schema) for name, schema in document_schemas.items()}
    schema_names = {gvk: name for name, schema in schemas.items() if (gvk := _kind_of(schema))}
    resources = [resource for root in ("api", "apis") for resource in _resources(discovery[root])]
    # The schema of a custom resource or of an aggregated server is named after its own group.
    resources = [
        resource for resource in resources if schema_names.get(_gvk(resource), "").startswith("io.k8s.")
    ]
    kinds = [_gvk(entry) for resource in resources for entry in (resource, *resource["subresources"])]
    reachable_names = _reachable([schema_names[gvk] for gvk in kinds if gvk in schema_names], schemas)
    return {
        "kubernetes": kubernetes,
        "resources": resources,
        "schemas": {name: schemas[name] for name in sorted(reachable_names)},
    }


def dump(description: Json) -> str:
    """Return the text of `api_description.json`."""
    resources = ",\n".join(_compact(resource) for resource in description["resources"])
    schemas = ",\n".join(
        f"{_compact(name)}:{_compact(schema)}" for name, schema in description["schemas"].items()
    )
    version = _compact(description["kubernetes"])
    return f'{{"kubernetes":{version},\n"resources":[\n{resources}\n],\n"schemas":{{\n{schemas}\n}}}}\n'


def ref_of(schema: Json) -> str:
    """Return the name of the schema that a reference names; empty if the schema is not a reference."""
    target = schema.get("$ref") or schema.get("allOf", [{}])[0].get("$ref", "")
    return str(target).removeprefix(_REF)


def children(schema: Json) -> Iterator[Json]:
    """Yield the schemas directly inside a schema."""
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]


def _without_descriptions(schema: Json) -> Json:
    """Return the schema without descriptions; a property with the name "description" stays."""
    reduced = {key: value for key, value in schema.items() if key not in _OMITTED}
    if "properties" in reduced:
        reduced["properties"] = {
            name: _without_descriptions(member) for name, member in reduced["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(reduced.get(key), dict):
            reduced[key] = _without_descriptions(reduced[key])
    # Types such as DeleteOptions list every group of the server, and are not the kind of any of them.
    if len(reduced.get("x-kubernetes-group-version-kind", ())) > 1:
        del reduced["x-kubernetes-group-version-kind"]
    return reduced


def _kind_of(schema: Json) -> tuple[str, str, str] | None:
    match schema.get("x-kubernetes-group-version-kind"):
        case [entry]:
            return _gvk(entry)
        case _:
            return None


def _gvk(entry: Json) -> tuple[str, str, str]:
    return entry.get("group", ""), entry["version"], entry["kind"]


def _resources(discovery: Json) -> Iterator[Json]:
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            group_version = {"group": name, "version": version["version"]}
            for resource in version.get("resources", ()):
                subresources = resource.get("subresources", ())
                yield {
                    **group_version,
                    "kind": resource["responseKind"]["kind"],
                    "plural": resource["resource"],
                    "singular": resource["singularResource"],
                    "namespaced": resource["scope"] == "Namespaced",
                    "verbs": resource["verbs"],
                    "shortNames": resource.get("shortNames", []),
                    "categories": resource.get("categories", []),
                    "subresources": [_subresource(entry, group_version) for entry in subresources],
                }


def _subresource(entry: Json, group_version: Json) -> Json:
    return {
        "name": entry["subresource"],
        **_complete(entry["responseKind"], group_version),
        "verbs": entry["verbs"],
        "accepts": [_complete(kind, group_version) for kind in entry.get("acceptedTypes", ())],
    }


def _complete(kind: Json, group_version: Json) -> Json:
    """Return a kind with group and version, which discovery omits if they are those of the core group."""
    if kind.get("version"):
        return {"group": kind.get("group", ""), "version": kind["version"], "kind": kind["kind"]}
    return {**group_version, "kind": kind["kind"]}


def _reachable(roots: Iterable[str], schemas: Json) -> set[str]:
    reachable_names: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in reachable_names:
            reachable_names.add(name)
            pending += _references(schemas[name])
    return reachable_names


def _references(schema: Json) -> Iterator[str]:
    if ref := ref_of(schema):
        yield ref
    for child in children(schema):
        yield from _references(child)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

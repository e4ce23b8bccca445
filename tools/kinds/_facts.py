"""What a server says of its kinds, cut down to what the classes and the table need: `facts.json`.

One line a resource and one line a schema, so that a new Kubernetes version shows as a readable difference.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

FACTS: Final = Path(__file__).with_name("facts.json")
_REF: Final = "#/components/schemas/"
_FORGOTTEN: Final = ("description", "title", "x-kubernetes-unions")


def gather(kubernetes: str, discovery: Mapping[str, Json], documents: Iterable[Json]) -> Json:
    """The facts from the aggregated discovery (of `api` and `apis`) and the OpenAPI documents."""
    schemas: Json = {}
    for document in documents:
        # As a server sends them the schemas stand under components.
        found: Json = document.get("schemas") or document["components"]["schemas"]
        schemas |= {name: _without_words(schema) for name, schema in found.items()}
    kinds = {gvk: name for name, schema in schemas.items() if (gvk := _kind_of(schema))}
    resources = [resource for root in ("api", "apis") for resource in _resources(discovery[root])]
    # A kind that comes from a CRD or another server is not built in: its schema is named after its own group.
    resources = [each for each in resources if kinds.get(_identity(each), "").startswith("io.k8s.")]
    spoken = [_identity(one) for each in resources for one in (each, *each["subresources"])]
    needed = _reachable([kinds[gvk] for gvk in spoken if gvk in kinds], schemas)
    return {
        "kubernetes": kubernetes,
        "resources": resources,
        "schemas": {name: schemas[name] for name in sorted(needed)},
    }


def dump(facts: Json) -> str:
    """The text of `facts.json`."""
    resources = ",\n".join(_compact(resource) for resource in facts["resources"])
    schemas = ",\n".join(f"{_compact(name)}:{_compact(schema)}" for name, schema in facts["schemas"].items())
    version = _compact(facts["kubernetes"])
    return f'{{"kubernetes":{version},\n"resources":[\n{resources}\n],\n"schemas":{{\n{schemas}\n}}}}\n'


def ref_of(schema: Json) -> str:
    """The name of the schema that this one stands for; empty if it is one of its own."""
    target = schema.get("$ref") or schema.get("allOf", [{}])[0].get("$ref", "")
    return str(target).removeprefix(_REF)


def children(schema: Json) -> Iterator[Json]:
    """The schemas directly inside this one."""
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]


def _without_words(schema: Json) -> Json:
    """The schema without descriptions; a property that is called "description" stays."""
    kept = {key: value for key, value in schema.items() if key not in _FORGOTTEN}
    if "properties" in kept:
        kept["properties"] = {name: _without_words(each) for name, each in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _without_words(kept[key])
    # DeleteOptions and its like name every group of the server: they are the kind of none.
    if len(kept.get("x-kubernetes-group-version-kind", ())) > 1:
        del kept["x-kubernetes-group-version-kind"]
    return kept


def _kind_of(schema: Json) -> tuple[str, str, str] | None:
    match schema.get("x-kubernetes-group-version-kind"):
        case [named]:
            return _identity(named)
        case _:
            return None


def _identity(named: Json) -> tuple[str, str, str]:
    return named.get("group", ""), named["version"], named["kind"]


def _resources(discovery: Json) -> Iterator[Json]:
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            for found in version.get("resources", ()):
                home = {"group": name, "version": version["version"]}
                yield {
                    **home,
                    "kind": found["responseKind"]["kind"],
                    "plural": found["resource"],
                    "singular": found["singularResource"],
                    "namespaced": found["scope"] == "Namespaced",
                    "verbs": found["verbs"],
                    "shortNames": found.get("shortNames", []),
                    "categories": found.get("categories", []),
                    "subresources": [_subresource(each, home) for each in found.get("subresources", ())],
                }


def _subresource(found: Json, home: Json) -> Json:
    return {
        "name": found["subresource"],
        **_spoken(found["responseKind"], home),
        "verbs": found["verbs"],
        "accepts": [_spoken(each, home) for each in found.get("acceptedTypes", ())],
    }


def _spoken(kind: Json, home: Json) -> Json:
    """A kind in full; discovery leaves out group and version where they are those of the core group."""
    if kind.get("version"):
        return {"group": kind.get("group", ""), "version": kind["version"], "kind": kind["kind"]}
    return {**home, "kind": kind["kind"]}


def _reachable(roots: Iterable[str], schemas: Json) -> set[str]:
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _mentioned(schemas[name])
    return found


def _mentioned(schema: Json) -> Iterator[str]:
    if ref := ref_of(schema):
        yield ref
    for child in children(schema):
        yield from _mentioned(child)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

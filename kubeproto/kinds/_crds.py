"""From CustomResourceDefinitions to a module of classes: one for each version, and for each object in it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ._names import attribute, class_name
from ._source import Class, Module, SourceField, Value, import_line, words_of, write

Json = Mapping[str, Any]

_SCALARS: Final = {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}
_FORMATS: Final = {"byte": "bytes", "date-time": "datetime"}
_OF_KINDS: Final = ("apiVersion", "kind", "metadata")
_TAKEN: Final = ("abstract", "api_version", "definition", "metadata", "resource")  # what a kind has already
_PLAIN: Final = "kp.KubeObject"
_CAPABILITIES: Final = {"scale": "HasScale", "status": "HasStatus"}
_LONGEST_DOC: Final = 90


class InvalidDefinition(ValueError):
    """What was given is not a CustomResourceDefinition, or has no schema."""


def module_source(documents: Iterable[Any]) -> str:
    """Return the source of a module with classes for the definitions among these documents, as plain JSON.

    Each served version is a class, the stored one has the kind's plain name. `InvalidDefinition` if there is
    no definition among them, or one is not whole.
    """
    return write(module_of(documents))


def module_of(documents: Iterable[Any]) -> Module:
    """Return the module of the definitions among these documents; other objects of a manifest are skipped."""
    draft = _Draft()
    for document in documents:
        for definition in _definitions(document):
            draft.add(definition)
    if not draft.classes:
        raise InvalidDefinition("there is no CustomResourceDefinition (apiextensions.k8s.io/v1) in it")
    return Module(
        doc=_sentence(f"Classes of {', '.join(draft.names)}") or "Classes of custom resources.",
        imports=_imports(draft.classes),
        classes=tuple(draft.classes),
    )


def _definitions(document: Any) -> list[Json]:
    match document:
        case {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}:
            return [document]
        case {"kind": "List" | "CustomResourceDefinitionList", "items": [*items]}:
            return [found for item in items for found in _definitions(item)]
        case _:
            return []


class _Draft:
    """The classes so far: parts before the kind that they belong to, every name given once."""

    def __init__(self) -> None:
        self.classes: list[Class] = []
        self.names: list[str] = []
        self._taken = {"Any", *_CAPABILITIES.values()}

    def add(self, definition: Json) -> None:
        """Add the classes of all served versions; the stored one has the kind's plain name."""
        try:
            spec, name = definition["spec"], definition["metadata"]["name"]
            self.names.append(str(name))
            for version in spec["versions"]:
                if version.get("served", True):
                    self._version(spec, version)
        except (KeyError, TypeError, AttributeError) as error:
            shown = definition.get("metadata", {}).get("name", "without a name")
            raise InvalidDefinition(f"CustomResourceDefinition {shown} is not whole: {error!r}") from None

    def _version(self, spec: Json, version: Json) -> None:
        kind: str = spec["names"]["kind"]
        wanted = class_name(kind) if version.get("storage") else class_name(kind, version["name"])
        name = self._unique(wanted)
        schema: Json = version.get("schema", {}).get("openAPIV3Schema", {})
        properties: Json = schema.get("properties", {})
        required = schema.get("required", ())
        fields = {
            wire: self._field(name, wire, each, required=wire in required)
            for wire, each in properties.items()
            if wire not in _OF_KINDS and _is_name(wire)
        }
        base, fields = self._base(fields)
        bases = (base,) if base != _PLAIN else _capabilities(version) or (_PLAIN,)
        self.classes.append(
            Class(
                name=name,
                bases=bases,
                keywords=_keywords(spec, version, name),
                doc=_doc(schema),
                fields=_in_order(fields.values(), taken=_TAKEN),
            )
        )

    def _base(self, fields: dict[str, SourceField]) -> tuple[str, dict[str, SourceField]]:
        """`Object[Spec, Status]` where the spec is always there or can be empty, `KubeObject` otherwise."""
        spec = fields.get("spec")
        if spec is None or not (spec.required or self._may_be_empty(spec.type)):
            return _PLAIN, fields
        status = fields["status"].type if "status" in fields else "None"
        own = {wire: field for wire, field in fields.items() if wire not in ("spec", "status")}
        if not spec.required:
            own["spec"] = SourceField(attribute="spec", wire="spec", type=spec.type, factory=spec.type)
        return f"kp.Object[{spec.type}, {status}]", own

    def _may_be_empty(self, type_: str) -> bool:
        return any(
            made.name == type_ and not any(field.required for field in made.fields) for made in self.classes
        )

    def _field(self, owner: str, wire: str, schema: Json, *, required: bool) -> SourceField:
        type_ = self._type(owner, wire, schema)
        if required and schema.get("nullable"):
            type_ = _or_none(type_)
        return SourceField(attribute=attribute(wire), wire=wire, type=type_, required=required)

    def _type(self, owner: str, wire: str, schema: Json) -> str:
        """The annotation of a schema, without None for itself."""
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return "int | str"
        if schema.get("x-kubernetes-embedded-resource"):
            return "dict[str, Any]"
        match schema.get("type"):
            case "object" if schema.get("properties"):
                return self._struct(owner, wire, schema)
            case "object":
                return f"dict[str, {self._inside(owner, wire, schema.get('additionalProperties'))}]"
            case "array":
                return f"list[{self._inside(owner, wire, schema.get('items'))}]"
            case "string":
                return _FORMATS.get(schema.get("format", ""), "str")
            case str(word):
                return _SCALARS.get(word, "Any")
            case _:
                return "Any"

    def _inside(self, owner: str, wire: str, schema: Json | bool | None) -> str:
        if schema is None or isinstance(schema, bool):
            return "Any"
        type_ = self._type(owner, wire, schema)
        return _or_none(type_) if schema.get("nullable") else type_

    def _struct(self, owner: str, wire: str, schema: Json) -> str:
        name = self._unique(class_name(owner, wire))
        required = schema.get("required", ())
        fields = [
            self._field(name, inner, each, required=inner in required)
            for inner, each in schema["properties"].items()
            if _is_name(inner)
        ]
        self.classes.append(
            Class(name=name, bases=("kp.Fields",), doc=_doc(schema), fields=_in_order(fields, taken=()))
        )
        return name

    def _unique(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}{number}"
        self._taken.add(name)
        return name


def _is_name(wire: str) -> bool:
    """Whether msgspec takes it for a field's name; what it does not is as if it were unknown."""
    return wire.isprintable() and not {'"', "\\"} & set(wire)


def _capabilities(version: Json) -> tuple[str, ...]:
    """The bases that let a checker pass what `Object` has by itself."""
    has = version.get("subresources", {})
    return tuple(base for name, base in _CAPABILITIES.items() if name in has)


def _keywords(spec: Json, version: Json, name: str) -> tuple[tuple[str, Value], ...]:
    names: Json = spec["names"]
    kind: str = names["kind"]
    words: dict[str, Value] = {
        "group": spec["group"],
        "version": version["name"],
        "kind": kind,
        "plural": names["plural"],
        "namespaced": spec["scope"] == "Namespaced",
        "singular": names.get("singular", kind.lower()),
        "short_names": tuple(names.get("shortNames", ())),
        "categories": tuple(names.get("categories", ())),
        "subresources": tuple(sorted(version.get("subresources", ()))),
    }
    silent: dict[str, Value] = {"kind": name, "namespaced": True, "singular": kind.lower()}
    return tuple((key, value) for key, value in words.items() if value != silent.get(key, ()))


def _in_order(fields: Iterable[SourceField], *, taken: tuple[str, ...]) -> tuple[SourceField, ...]:
    """Required fields first, no attribute twice."""
    seen = set(taken)
    made: list[SourceField] = []
    for field in sorted(fields, key=lambda field: not field.required):
        name = field.attribute
        while name in seen:
            name += "_"
        seen.add(name)
        made.append(msgspec.structs.replace(field, attribute=name))
    return tuple(made)


def _or_none(type_: str) -> str:
    return type_ if type_ == "Any" else f"{type_} | None"


def _doc(schema: Json) -> str:
    """The first sentence of a description, if it makes a docstring of one line."""
    return _sentence(str(schema.get("description") or "").strip().partition("\n")[0].partition(". ")[0])


def _sentence(text: str) -> str:
    fits = text and len(text) <= _LONGEST_DOC and text.isprintable() and not {'"', "\\"} & set(text)
    return f"{text.removesuffix('.')}." if fits else ""


def _imports(classes: Iterable[Class]) -> tuple[tuple[str, ...], ...]:
    fields = [field for made in classes for field in made.fields]
    words = words_of(field.type for field in fields)
    lines = {"datetime": "from datetime import datetime", "Any": "from typing import Any"}
    standard = tuple(line for word, line in lines.items() if word in words)
    bases = {base for made in classes for base in made.bases} & {*_CAPABILITIES.values()}
    local = (import_line("kubeproto.objects", bases),) if bases else ()
    spoken = ("import msgspec",) if any(field.explicit for field in fields) else ()
    return standard, ("import kubeproto as kp", *spoken, *local)

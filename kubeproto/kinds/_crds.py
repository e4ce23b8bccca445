"""`module_source`: writes classes for the versions of CustomResourceDefinitions and their nested objects."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ._module_source import Class, Module, SourceField, Value, import_line, names_in, write
from ._python_names import attribute_name, class_name

Json = Mapping[str, Any]

_SCALARS: Final = {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}
_FORMATS: Final = {"byte": "bytes", "date-time": "datetime"}
_BASE_FIELDS: Final = ("apiVersion", "kind", "metadata")
_BASE_ATTRIBUTES: Final = ("abstract", "api_version", "definition", "metadata", "resource")  # of `KubeObject`
_DEFAULT_BASE: Final = "kp.KubeObject"
_CAPABILITIES: Final = {"scale": "HasScale", "status": "HasStatus"}
_MAX_DOC: Final = 90


class InvalidDefinition(ValueError):
    """A document without a valid CustomResourceDefinition."""


def module_source(documents: Iterable[Any]) -> str:
    """Return the source of a module with classes for the definitions among these documents, as plain JSON.

    Each served version becomes a class; the class of the stored version has the name of the kind.
    `InvalidDefinition` if there is no definition among them, or a definition is incomplete.
    """
    return write(module_of(documents))


def module_of(documents: Iterable[Any]) -> Module:
    """Return the module of the definitions among these documents; other objects of a manifest are skipped."""
    draft = _Draft()
    for document in documents:
        for definition in _find_definitions(document):
            draft.add(definition)
    if not draft.classes:
        raise InvalidDefinition("the documents contain no CustomResourceDefinition (apiextensions.k8s.io/v1)")
    return Module(
        doc=_sentence(f"Classes of {', '.join(draft.names)}") or "Classes of custom resources.",
        imports=_imports(draft.classes),
        classes=tuple(draft.classes),
    )


def _find_definitions(document: Any) -> list[Json]:
    match document:
        case {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}:
            return [document]
        case {"kind": "List" | "CustomResourceDefinitionList", "items": [*items]}:
            return [definition for item in items for definition in _find_definitions(item)]
        case _:
            return []


class _Draft:
    """The classes so far, with unique names: nested types precede their kind."""

    def __init__(self) -> None:
        self.classes: list[Class] = []
        self.names: list[str] = []
        self._used_names = {"Any", *_CAPABILITIES.values()}

    def add(self, definition: Json) -> None:
        """Add the classes of all served versions."""
        try:
            spec, name = definition["spec"], definition["metadata"]["name"]
            self.names.append(str(name))
            for version in spec["versions"]:
                if version.get("served", True):
                    self._add_version(spec, version)
        except (KeyError, TypeError, AttributeError) as error:
            label = definition.get("metadata", {}).get("name", "without a name")
            raise InvalidDefinition(f"CustomResourceDefinition {label} is incomplete: {error!r}") from None

    def _add_version(self, spec: Json, version: Json) -> None:
        kind: str = spec["names"]["kind"]
        name = self._unique_name(
            class_name(kind) if version.get("storage") else class_name(kind, version["name"])
        )
        schema: Json = version.get("schema", {}).get("openAPIV3Schema", {})
        properties: Json = schema.get("properties", {})
        required = schema.get("required", ())
        fields = {
            wire: self._field(name, wire, property_schema, required=wire in required)
            for wire, property_schema in properties.items()
            if wire not in _BASE_FIELDS and _is_name(wire)
        }
        base, fields = self._choose_base(fields)
        bases = (base,) if base != _DEFAULT_BASE else _capability_bases(version) or (_DEFAULT_BASE,)
        self.classes.append(
            Class(
                name=name,
                bases=bases,
                keywords=_keywords(spec, version, name),
                doc=_doc(schema),
                fields=_order_fields(fields.values(), reserved=_BASE_ATTRIBUTES),
            )
        )

    def _choose_base(self, fields: dict[str, SourceField]) -> tuple[str, dict[str, SourceField]]:
        """Return the base class, `Object[Spec, Status]` if a spec is required, and the remaining fields."""
        spec = fields.get("spec")
        if spec is None or not (spec.required or self._may_be_empty(spec.type)):
            return _DEFAULT_BASE, fields
        status = fields["status"].type if "status" in fields else "None"
        own_fields = {wire: field for wire, field in fields.items() if wire not in ("spec", "status")}
        if not spec.required:
            own_fields["spec"] = SourceField(attribute="spec", wire="spec", type=spec.type, factory=spec.type)
        return f"kp.Object[{spec.type}, {status}]", own_fields

    def _may_be_empty(self, type_: str) -> bool:
        return any(
            class_.name == type_ and not any(field.required for field in class_.fields)
            for class_ in self.classes
        )

    def _field(self, owner: str, wire: str, schema: Json, *, required: bool) -> SourceField:
        type_ = self._type(owner, wire, schema)
        if required and schema.get("nullable"):
            type_ = _or_none(type_)
        return SourceField(attribute=attribute_name(wire), wire=wire, type=type_, required=required)

    def _type(self, owner: str, wire: str, schema: Json) -> str:
        """Return the annotation of a schema, without its own None."""
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return "int | str"
        if schema.get("x-kubernetes-embedded-resource"):
            return "dict[str, Any]"
        match schema.get("type"):
            case "object" if schema.get("properties"):
                return self._add_struct(owner, wire, schema)
            case "object":
                return f"dict[str, {self._element_type(owner, wire, schema.get('additionalProperties'))}]"
            case "array":
                return f"list[{self._element_type(owner, wire, schema.get('items'))}]"
            case "string":
                return _FORMATS.get(schema.get("format", ""), "str")
            case str(scalar):
                return _SCALARS.get(scalar, "Any")
            case _:
                return "Any"

    def _element_type(self, owner: str, wire: str, schema: Json | bool | None) -> str:
        if schema is None or isinstance(schema, bool):
            return "Any"
        type_ = self._type(owner, wire, schema)
        return _or_none(type_) if schema.get("nullable") else type_

    def _add_struct(self, owner: str, wire: str, schema: Json) -> str:
        name = self._unique_name(class_name(owner, wire))
        required = schema.get("required", ())
        fields = [
            self._field(name, inner, property_schema, required=inner in required)
            for inner, property_schema in schema["properties"].items()
            if _is_name(inner)
        ]
        self.classes.append(
            Class(
                name=name, bases=("kp.Fields",), doc=_doc(schema), fields=_order_fields(fields, reserved=())
            )
        )
        return name

    def _unique_name(self, base_name: str) -> str:
        name, number = base_name, 1
        while name in self._used_names:
            number += 1
            name = f"{base_name}{number}"
        self._used_names.add(name)
        return name


def _is_name(wire: str) -> bool:
    """Return whether msgspec accepts the name of a field; other fields are treated as unknown."""
    return wire.isprintable() and not {'"', "\\"} & set(wire)


def _capability_bases(version: Json) -> tuple[str, ...]:
    """Return the bases by which type checkers allow `scale` and `status`; `Object` allows both."""
    subresources = version.get("subresources", {})
    return tuple(base for name, base in _CAPABILITIES.items() if name in subresources)


def _keywords(spec: Json, version: Json, name: str) -> tuple[tuple[str, Value], ...]:
    names: Json = spec["names"]
    kind: str = names["kind"]
    keywords: dict[str, Value] = {
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
    defaults: dict[str, Value] = {"kind": name, "namespaced": True, "singular": kind.lower()}
    return tuple((key, value) for key, value in keywords.items() if value != defaults.get(key, ()))


def _order_fields(fields: Iterable[SourceField], *, reserved: tuple[str, ...]) -> tuple[SourceField, ...]:
    """Return the fields, the required first, with unique attributes."""
    used_names = set(reserved)
    ordered: list[SourceField] = []
    for field in sorted(fields, key=lambda field: not field.required):
        name = field.attribute
        while name in used_names:
            name += "_"
        used_names.add(name)
        ordered.append(msgspec.structs.replace(field, attribute=name))
    return tuple(ordered)


def _or_none(type_: str) -> str:
    return type_ if type_ == "Any" else f"{type_} | None"


def _doc(schema: Json) -> str:
    """Return the first sentence of a description, if it fits a docstring of one line."""
    return _sentence(str(schema.get("description") or "").strip().partition("\n")[0].partition(". ")[0])


def _sentence(text: str) -> str:
    fits = text and len(text) <= _MAX_DOC and text.isprintable() and not {'"', "\\"} & set(text)
    return f"{text.removesuffix('.')}." if fits else ""


def _imports(classes: Iterable[Class]) -> tuple[tuple[str, ...], ...]:
    fields = [field for class_ in classes for field in class_.fields]
    names = names_in(field.type for field in fields)
    lines = {"datetime": "from datetime import datetime", "Any": "from typing import Any"}
    standard = tuple(line for name, line in lines.items() if name in names)
    bases = {base for class_ in classes for base in class_.bases} & {*_CAPABILITIES.values()}
    local = (import_line("kubeproto.objects", bases),) if bases else ()
    msgspec_import = ("import msgspec",) if any(field.explicit for field in fields) else ()
    return standard, ("import kubeproto as kp", *msgspec_import, *local)

"""The modules of the built-in kinds: each type of the table is a class in the module of its group version.

Two rules determine the meaning of a missing field. A struct without a pointer in Go (its default is `{}`) is
always present in a server's objects, so `spec` is never None. And Go writes null for unset slices, maps and
bytes, even if they are required, so null is read as empty in a required field.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kubeproto.kinds import BuiltinField, BuiltinResource, BuiltinType, KindTable
from kubeproto.kinds._generated_base import ALL_VERBS
from kubeproto.kinds._module_source import BareName, Class, Module, SourceField, Value, import_line, names_in
from kubeproto.kinds._python_names import attribute_name
from tools.kinds._field_order import ORDER

_SCALARS: Final = {
    "any": "Any",
    "boolean": "bool",
    "bytes": "bytes",
    "int-or-string": "IntOrString",
    "integer": "int",
    "micro-time": "MicroTime",
    "number": "float",
    "object": "dict[str, Any]",
    "quantity": "Quantity",
    "schema-or-array": "JSONSchemaProps | list[JSONSchemaProps]",
    "schema-or-bool": "JSONSchemaProps | bool",
    "schema-or-strings": "JSONSchemaProps | list[str]",
    "string": "str",
    "time": "datetime",
}
# The core has classes for these types: they are the same in every object, and empty values are omitted.
_CORE_TYPES: Final = ("ManagedFieldsEntry", "ObjectMeta", "OwnerReference")
_FORMS: Final = {"list": "list[{}]", "map": "dict[str, {}]"}
_EMPTY: Final = {"list": "[]", "map": "{}"}
_SECRETS: Final = {
    "authentication_v1.TokenRequestStatus": ("token",),
    "authentication_v1.TokenReviewSpec": ("token",),
    "core_v1.Secret": ("data", "string_data"),
}
# The bases that declare the capabilities of a kind to type checkers, and the subresources that each needs.
_CAPABILITIES: Final = {
    "HasApproval": {"approval"},
    "HasFinalize": {"finalize"},
    "HasScale": {"scale"},
    "HasStatus": {"status"},
    "HasToken": {"token"},
    "RunsContainers": {
        "attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "resize",
    },
}  # fmt: skip
_OBJECT_FIELDS: Final = ("apiVersion", "kind", "metadata")  # inherited from KubeObject


def modules_of(table: KindTable) -> dict[str, Module]:
    """Return the modules of a table by name."""
    resources = {builtin.type: builtin for builtin in table.resources}
    types_by_module: dict[str, dict[str, BuiltinType]] = {}
    for name, type_ in table.types.items():
        module, _, class_ = name.partition(".")
        if module != "meta_v1" or class_ not in _CORE_TYPES:
            types_by_module.setdefault(module, {})[name] = type_
    return {
        module: _module(module, types, resources, table) for module, types in sorted(types_by_module.items())
    }


def _module(
    module: str, types: Mapping[str, BuiltinType], resources: Mapping[str, BuiltinResource], table: KindTable
) -> Module:
    parts = [_struct(name, type_, table) for name, type_ in types.items() if type_.gvk is None]
    kinds = [_kind(name, type_, resources.get(name), table) for name, type_ in types.items() if type_.gvk]
    api_version = next((type_.gvk.api_version for type_ in types.values() if type_.gvk), "meta/v1")
    title = "Types of many groups" if module == "meta_v1" else f"The kinds of {api_version} and their parts"
    classes = (*parts, *kinds)
    return Module(
        doc=f"{title}, generated from Kubernetes {table.kubernetes}.",
        imports=_imports(module, types.values(), classes),
        classes=classes,
    )


def _struct(name: str, type_: BuiltinType, table: KindTable) -> Class:
    fields = (_field(wire, field, table) for wire, field in type_.fields.items())
    return Class(
        name=_last(name),
        bases=("Part",),
        fields=_in_order(name, fields),
        secrets=_SECRETS.get(name, ()),
    )


def _kind(name: str, type_: BuiltinType, builtin: BuiltinResource | None, table: KindTable) -> Class:
    fields = _in_order(
        name,
        (_field(wire, field, table) for wire, field in type_.fields.items() if wire not in _OBJECT_FIELDS),
    )
    if builtin is not None:
        return Class(
            name=_last(name),
            bases=_bases(builtin),
            keywords=_keywords(builtin),
            fields=fields,
            secrets=_SECRETS.get(name, ()),
        )
    # A kind that only subresources use has no URL of its own, so it is not a `Resource`.
    assert type_.gvk is not None
    constants = {"kind": type_.gvk.kind, "apiVersion": type_.gvk.api_version}
    constant_fields = tuple(
        SourceField(attribute=attribute_name(wire), wire=wire, type="str", value=f'"{value}"')
        for wire, value in constants.items()
    )
    return Class(name=_last(name), bases=("KubeObject",), fields=(*constant_fields, *fields))


def _bases(builtin: BuiltinResource) -> tuple[str, ...]:
    subresources = set(builtin.resource.subresources)
    bases = tuple(base for base, required in _CAPABILITIES.items() if required <= subresources)
    return bases or ("KubeObject",)


def _keywords(builtin: BuiltinResource) -> tuple[tuple[str, Value], ...]:
    resource = builtin.resource
    keywords: dict[str, Value] = {
        "group": resource.group,
        "version": resource.version,
        "plural": resource.plural,
        "namespaced": resource.namespaced,
        "singular": resource.singular,
        "short_names": resource.short_names,
        "categories": resource.categories,
        "subresources": resource.subresources,
        "verbs": BareName("ALL_VERBS") if resource.verbs == ALL_VERBS else resource.verbs,
    }
    defaults: dict[str, Value] = {"group": "", "namespaced": True, "singular": resource.kind.lower()}
    return tuple((key, value) for key, value in keywords.items() if value != defaults.get(key, ()))


def _field(wire: str, field: BuiltinField, table: KindTable) -> SourceField:
    annotation = _SCALARS.get(field.type) or _last(field.type)
    for form in reversed(field.form):
        annotation = _FORMS[form].format(annotation)
    required, factory, empty = field.required, "", ""
    if field.default == {} and wire == "spec":
        required = any(member.required for member in table.types[field.type].fields.values())
        factory = "" if required else annotation
    elif field.default == {} and field.type == "meta_v1.ObjectMeta":
        factory = annotation
    elif required and field.form:
        empty = _EMPTY[field.form[0]]
    elif required and field.type == "bytes":
        empty = 'b""'
    elif field.type in ("time", "micro-time"):
        required = False  # Go encodes the zero time as null; no empty time exists
    return SourceField(
        attribute=attribute_name(wire),
        wire=wire,
        type=annotation,
        required=required,
        factory=factory,
        empty=empty,
    )


def _in_order(name: str, fields: Iterable[SourceField]) -> tuple[SourceField, ...]:
    """Return the fields in the server's order, then other fields, required ones first."""
    server_order = ORDER.get(name, "").split()

    def sort_key(field: SourceField) -> tuple[int, bool]:
        rank = server_order.index(field.wire) if field.wire in server_order else len(server_order)
        return rank, not (field.required or field.factory)

    return tuple(sorted(fields, key=sort_key))


def _imports(
    module: str, types: Iterable[BuiltinType], classes: tuple[Class, ...]
) -> tuple[tuple[str, ...], ...]:
    type_names = {field.type for type_ in types for field in type_.fields.values()}
    fields = [field for class_ in classes for field in class_.fields]
    used_names = names_in(field.type for field in fields)
    if any(field.empty for field in fields):
        used_names.add("Any")  # for the function that reads null as empty
    standard = [line for name, line in _STANDARD.items() if name in used_names]
    bases = {base for class_ in classes for base in class_.bases}
    objects = bases & {"KubeObject", *_CAPABILITIES} | used_names & {*_CORE_TYPES, "MicroTime", "Quantity"}
    base_names = bases & {"Part"} | used_names & {"IntOrString"}
    if any(field.empty for field in fields):
        base_names.add("Filled")
    if any(class_.secrets for class_ in classes):
        base_names.add("concealed_repr")
    if any(value == BareName("ALL_VERBS") for class_ in classes for _, value in class_.keywords):
        base_names.add("ALL_VERBS")
    foreign_names: dict[str, set[str]] = {}
    for type_name in type_names:
        other_module, dot, name = type_name.partition(".")
        if dot and other_module != module and name in used_names - {*_CORE_TYPES}:
            foreign_names.setdefault(other_module, set()).add(name)
    local_imports = [import_line("..objects", objects)] if objects else []
    local_imports += [import_line("._generated_base", base_names)] if base_names else []
    local_imports += [import_line(f".{other}", names) for other, names in sorted(foreign_names.items())]
    msgspec = ("import msgspec",) if any(field.explicit for field in fields) else ()
    return tuple(standard), msgspec, tuple(local_imports)


_STANDARD: Final = {"datetime": "from datetime import datetime", "Any": "from typing import Any"}


def _last(name: str) -> str:
    return name.rpartition(".")[2]

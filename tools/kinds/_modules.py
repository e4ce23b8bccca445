"""From the table to the modules: each type a class, in the module of its group-version.

Two rules decide what a field's absence means. What Go writes as a struct without a pointer (its default is
`{}`) is always there when a server answers: so `spec` is never None. And Go writes null for slices, maps and
bytes that nobody has set, required or not: so where they are required, null is read as empty.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kubeproto.kinds import BuiltinField, BuiltinResource, BuiltinType, KindTable
from kubeproto.kinds._generated_base import ALL_VERBS
from kubeproto.kinds._module_source import Class, Module, Name, SourceField, Value, import_line, names_in
from kubeproto.kinds._python_names import attribute_name
from tools.kinds._order import ORDER

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
# The core has its own classes for these: the same in every object, with Kubernetes' rule of empty is absent.
_OWN: Final = ("ManagedFieldsEntry", "ObjectMeta", "OwnerReference")
_FORMS: Final = {"list": "list[{}]", "map": "dict[str, {}]"}
_EMPTY: Final = {"list": "[]", "map": "{}"}
_SECRETS: Final = {
    "authentication_v1.TokenRequestStatus": ("token",),
    "authentication_v1.TokenReviewSpec": ("token",),
    "core_v1.Secret": ("data", "string_data"),
}
# The bases that tell the checkers what a kind can do, and the subresources that it takes.
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
_OF_KINDS: Final = ("apiVersion", "kind", "metadata")  # what KubeObject brings


def modules_of(table: KindTable) -> dict[str, Module]:
    """The modules of the table, by name."""
    resources = {facts.type: facts for facts in table.resources}
    homes: dict[str, dict[str, BuiltinType]] = {}
    for name, facts in table.types.items():
        home, _, class_ = name.partition(".")
        if home != "meta_v1" or class_ not in _OWN:
            homes.setdefault(home, {})[name] = facts
    return {home: _module(home, types, resources, table) for home, types in sorted(homes.items())}


def _module(
    home: str, types: Mapping[str, BuiltinType], resources: Mapping[str, BuiltinResource], table: KindTable
) -> Module:
    parts = [_struct(name, facts, table) for name, facts in types.items() if facts.gvk is None]
    kinds = [_kind(name, facts, resources.get(name), table) for name, facts in types.items() if facts.gvk]
    api_version = next((facts.gvk.api_version for facts in types.values() if facts.gvk), "meta/v1")
    what = "What many groups share" if home == "meta_v1" else f"The kinds of {api_version} and their parts"
    classes = (*parts, *kinds)
    return Module(
        doc=f"{what}, generated from Kubernetes {table.kubernetes}.",
        imports=_imports(home, types.values(), classes),
        classes=classes,
    )


def _struct(name: str, facts: BuiltinType, table: KindTable) -> Class:
    fields = (_field(wire, field, table) for wire, field in facts.fields.items())
    return Class(
        name=_last(name),
        bases=("Part",),
        fields=_in_order(name, fields),
        secrets=_SECRETS.get(name, ()),
    )


def _kind(name: str, facts: BuiltinType, found: BuiltinResource | None, table: KindTable) -> Class:
    own = ((wire, field) for wire, field in facts.fields.items() if wire not in _OF_KINDS)
    fields = _in_order(name, (_field(wire, field, table) for wire, field in own))
    if found is not None:
        return Class(
            name=_last(name),
            bases=_bases(found),
            keywords=_keywords(found),
            fields=fields,
            secrets=_SECRETS.get(name, ()),
        )
    # A kind that only subresources speak in has no address of its own, so it is not a `Resource`.
    assert facts.gvk is not None
    said = {"kind": facts.gvk.kind, "apiVersion": facts.gvk.api_version}
    pinned = tuple(
        SourceField(attribute=attribute_name(wire), wire=wire, type="str", value=f'"{value}"')
        for wire, value in said.items()
    )
    return Class(name=_last(name), bases=("KubeObject",), fields=(*pinned, *fields))


def _bases(found: BuiltinResource) -> tuple[str, ...]:
    has = set(found.resource.subresources)
    return tuple(base for base, needs in _CAPABILITIES.items() if needs <= has) or ("KubeObject",)


def _keywords(found: BuiltinResource) -> tuple[tuple[str, Value], ...]:
    resource = found.resource
    words: dict[str, Value] = {
        "group": resource.group,
        "version": resource.version,
        "plural": resource.plural,
        "namespaced": resource.namespaced,
        "singular": resource.singular,
        "short_names": resource.short_names,
        "categories": resource.categories,
        "subresources": resource.subresources,
        "verbs": Name("ALL_VERBS") if resource.verbs == ALL_VERBS else resource.verbs,
    }
    silent: dict[str, Value] = {"group": "", "namespaced": True, "singular": resource.kind.lower()}
    return tuple((key, value) for key, value in words.items() if value != silent.get(key, ()))


def _field(wire: str, facts: BuiltinField, table: KindTable) -> SourceField:
    annotation = _SCALARS.get(facts.type) or _last(facts.type)
    for form in reversed(facts.form):
        annotation = _FORMS[form].format(annotation)
    required, factory, empty = facts.required, "", ""
    if facts.default == {} and wire == "spec":
        required = any(field.required for field in table.types[facts.type].fields.values())
        factory = "" if required else annotation
    elif facts.default == {} and facts.type == "meta_v1.ObjectMeta":
        factory = annotation
    elif required and facts.form:
        empty = _EMPTY[facts.form[0]]
    elif required and facts.type == "bytes":
        empty = 'b""'
    elif facts.type in ("time", "micro-time"):
        required = False  # Go's zero time is null, and there is no empty time to read it as
    return SourceField(
        attribute=attribute_name(wire),
        wire=wire,
        type=annotation,
        required=required,
        factory=factory,
        empty=empty,
    )


def _in_order(name: str, fields: Iterable[SourceField]) -> tuple[SourceField, ...]:
    """The server's order as far as it is known, then what is always there, then the rest."""
    known = ORDER.get(name, "").split()

    def place(field: SourceField) -> tuple[int, bool]:
        rank = known.index(field.wire) if field.wire in known else len(known)
        return rank, not (field.required or field.factory)

    return tuple(sorted(fields, key=place))


def _imports(
    home: str, types: Iterable[BuiltinType], classes: tuple[Class, ...]
) -> tuple[tuple[str, ...], ...]:
    words = {field.type for type_ in types for field in type_.fields.values()}
    fields = [field for made in classes for field in made.fields]
    used = names_in(field.type for field in fields)
    if any(field.empty for field in fields):
        used.add("Any")  # in what reads null as empty
    standard = [line for name, line in _STANDARD.items() if name in used]
    bases = {base for made in classes for base in made.bases}
    objects = bases & {"KubeObject", *_CAPABILITIES} | used & {*_OWN, "MicroTime", "Quantity"}
    base_names = bases & {"Part"} | used & {"IntOrString"}
    if any(field.empty for field in fields):
        base_names.add("Filled")
    if any(made.secrets for made in classes):
        base_names.add("concealed_repr")
    if any(value == Name("ALL_VERBS") for made in classes for _, value in made.keywords):
        base_names.add("ALL_VERBS")
    others: dict[str, set[str]] = {}
    for word in words:
        other, dot, class_ = word.partition(".")
        if dot and other != home and class_ in used - {*_OWN}:
            others.setdefault(other, set()).add(class_)
    local = [import_line("..objects", objects)] if objects else []
    local += [import_line("._generated_base", base_names)] if base_names else []
    local += [import_line(f".{other}", names) for other, names in sorted(others.items())]
    msgspec = ("import msgspec",) if any(field.explicit for field in fields) else ()
    return tuple(standard), msgspec, tuple(local)


_STANDARD: Final = {"datetime": "from datetime import datetime", "Any": "from typing import Any"}


def _last(name: str) -> str:
    return name.rpartition(".")[2]

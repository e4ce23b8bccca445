"""Objects of built-in kinds as a server reads and writes them: by the types of its own code.

Reading drops what the type does not declare (and reports it), what is null and what is empty; it brings
quantities and times into the one form that a server stores. Writing lets msgspec do the work: for each type a
Struct is made whose fields are in the server's order, so that a value of a wrong type is found while the
bytes are made, and maps come out sorted.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from kubeproto.kinds import FieldFacts, table
from kubeproto.objects import Quantity, format_time, parse_time

from ..storage._json_values import is_list, is_map
from ._builtin import built_in
from ._orders import ALWAYS, POINTERS, SHOWN_AS, in_order
from ._protobuf import bits_of
from ._releases import NEWEST, Release
from ._stored_form import stored_form

_LEAVES: Final[dict[str, Any]] = {
    "string": str, "integer": int, "number": int | float, "boolean": bool, "bytes": str, "time": str,
    "micro-time": str, "quantity": str, "int-or-string": int | str, "object": dict[str, Any], "any": Any,
}  # fmt: skip
_INTEGERS: Final[dict[int, Any]] = {
    32: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)], 64: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
}  # fmt: skip
_MICRO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[-+]\d\d:\d\d)")
_SECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_WRONG_TYPE: Final = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| [<>]= \S+)(?: - at `(\$[^`]*)`)?")
_GO_VALUES: Final = {
    "int": "number", "float": "number", "str": "string", "object": "object", "array": "array", "bool": "bool",
}  # fmt: skip
_GO_TYPES: Final = {"string": "string", "bytes": "[]uint8", "boolean": "bool", "number": "float64"}
_STEPS: Final = re.compile(r"\.([^.[]+)|\[([^]]*)\]")
_MAP: Final = ("map",)
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Misfit(ValueError):
    """A value does not fit its type; the message is that of a server's JSON decoder."""


class FieldPlan:
    """What reading does to the fields of one type: nothing (None), or what the rule says."""

    def __init__(self, type_: str, release: Release) -> None:
        self.fields: dict[str, tuple[tuple[str, ...], FieldPlan | str | None, bool]] = {}
        self._type = type_
        self._release = release
        self._gated: frozenset[str] = frozenset()
        # Numbers and booleans of which a server was observed to leave out the zero.
        self._dropped: frozenset[str] = frozenset()

    def prepared(self) -> FieldPlan:
        """Return the plan, its fields filled in when they are first needed: types are recursive."""
        if not self.fields and (facts := table().types.get(self._type)):
            zeros = built_in().zeros.get(self._type, {})
            self._dropped = frozenset(name for name, kept in zeros.items() if not kept)
            for name, field in facts.fields.items():
                if f"{self._type}.{name}" in self._release.missing_fields:
                    continue
                if f"{self._type}.{name}" in self._release.gated_fields:
                    self._gated |= {name}
                    continue
                leaf: FieldPlan | str | None = None
                if "." in field.type:
                    leaf = plan_of(field.type, self._release)
                elif field.type in ("quantity", "time", "micro-time", "any", "object"):
                    leaf = field.type
                elif field.type.startswith("schema-"):
                    leaf = "any"
                # A server leaves out what is empty, except what the type always has.
                kept = field.required or field.default is not None or (self._type, name) in POINTERS
                kept = zeros.get(name, kept)
                self.fields[name] = (field.form, leaf, kept)
        return self

    def tidy(self, obj: dict[str, Any], path: str, unknown: list[str]) -> None:
        """Bring an object into the form that is stored, in place; paths of unknown fields are collected."""
        fields = self.fields or self.prepared().fields
        for name, value in list(obj.items()):
            step = fields.get(name)
            if step is None:
                if name not in self._gated:
                    unknown.append(path + name)
                del obj[name]
                continue
            form, leaf, kept = step
            if value is None:
                del obj[name]
            elif form:
                if not value and not kept and isinstance(value, list if form[0] == "list" else dict):
                    del obj[name]
                elif leaf is None:
                    if form == _MAP and is_map(value) and None in value.values():
                        obj[name] = {key: "" if item is None else item for key, item in value.items()}
                else:
                    self._tidy_many(obj, name, value, form, leaf, path, unknown)
            elif leaf is None:
                if not kept and (value == "" or (value == 0 and name in self._dropped)):
                    del obj[name]
            elif isinstance(leaf, FieldPlan):
                if is_map(value):
                    leaf.tidy(value, f"{path}{name}.", unknown)
            else:
                obj[name] = _canonical(leaf, value)

    def _tidy_many(
        self, obj: dict[str, Any], name: str, value: Any, form: tuple[str, ...], leaf: FieldPlan | str,
        path: str, unknown: list[str],
    ) -> None:  # fmt: skip
        items: Any = list(value.items()) if is_map(value) else enumerate(value) if is_list(value) else ()
        for key, item in items:
            where = f"{path}{name}[{key}]" if form[0] == "list" else f"{path}{name}.{key}"
            if isinstance(leaf, FieldPlan):
                if is_map(item):
                    leaf.tidy(item, f"{where}.", unknown)
            else:
                value[key] = _canonical(leaf, item)


@cache
def plan_of(type_: str, release: Release = NEWEST) -> FieldPlan:
    """Return the plan for a type of the table, as a release knows it."""
    return FieldPlan(type_, release)


class TypedCodec:
    """Reads and writes the objects of one built-in kind."""

    def __init__(self, type_: str, kind: str, release: Release = NEWEST) -> None:
        self.type = type_
        self.kind = kind
        self.release = release
        self.plan = plan_of(type_, release)

    def tidy(self, obj: dict[str, Any]) -> list[str]:
        """Bring an object into the form that is stored; return the paths of undeclared fields; or `Misfit`.

        A value of a wrong type is found here, before anything else reads it.
        """
        unknown: list[str] = []
        if not stored_form(self.type, self.release)(obj):
            self.plan.tidy(obj, "", unknown)
            self.write(obj)
        return unknown

    def write(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON as a server writes it; or `Misfit`."""
        try:
            return escaped(_encode(msgspec.convert(obj, struct_of(self.type))))
        except msgspec.ValidationError as error:
            raise Misfit(self._go_text(str(error), obj)) from None

    def _go_text(self, text: str, obj: dict[str, Any]) -> str:
        found = _WRONG_TYPE.match(text)
        if not found:
            return f"json: {text}"
        wanted, got, path = found[1].partition(" | ")[0], found[2] or "int", found[3] or "$"
        go_value, go_type = _GO_VALUES.get(got, got), _GO_VALUES.get(wanted, wanted)
        field = re.sub(r"\[[^]]*\]", "", path).removeprefix("$")
        holder, held = self._holder(field)
        if held is not None:
            inside = path.endswith("]")
            go_type = _go_type(holder, field.rpartition(".")[2], held, inside=inside)
            if go_value == "number" and not (held.form and not inside) and held.type == "integer":
                go_value = f"number {_encode(_value_at(obj, path)).decode()}"
        shown = self.kind if holder == self.type else holder.rpartition(".")[2]
        return f"json: cannot unmarshal {go_value} into Go struct field {shown}{field} of type {go_type}"

    def _holder(self, field: str) -> tuple[str, FieldFacts | None]:
        """Return the type of the struct that contains a field, and the field."""
        holder, held = self.type, None
        for name in field.split(".")[1:]:
            if held is not None:
                holder = held.type
            facts = table().types.get(holder)
            held = facts.fields.get(name) if facts else None
            if held is None:
                return self.type, None
        return holder, held


def _go_type(holder: str, name: str, field: FieldFacts, *, inside: bool) -> str:
    """Return the type of a field, or of its elements, as Go names it."""
    forms = field.form[1:] if inside else field.form
    form = "".join("[]" if one == "list" else "map[string]" for one in forms)
    if "." in field.type:
        package, _, struct = field.type.rpartition(".")
        return f"{form}{package.rpartition('_')[2]}.{struct}"
    if field.type == "integer":
        return f"{form}int{bits_of(holder, name)}"
    return form + _GO_TYPES.get(field.type, field.type)


def _value_at(obj: Any, path: str) -> Any:
    """Return the value at a path as msgspec names it: `$.spec.ports[0].port`, with `[...]` for any key."""
    found = [obj]
    for name, index in _STEPS.findall(path):
        if name:
            found = [each[name] for each in found if is_map(each) and name in each]
        elif index == "...":
            found = [value for each in found if is_map(each) for value in each.values()]
        else:
            found = [each[int(index)] for each in found if is_list(each)]
    # Of several, the first that does not fit 32 bits: that is where a server stops.
    return next((one for one in found if not _is_small(one)), found[0])


def _is_small(value: Any) -> bool:
    return isinstance(value, int) and -(2**31) <= value < 2**31


def escaped(data: bytes) -> bytes:
    """Return JSON with the characters escaped that Go escapes; they occur in strings alone."""
    if b"<" in data:
        data = data.replace(b"<", b"\\u003c")
    if b">" in data:
        data = data.replace(b">", b"\\u003e")
    if b"&" in data:
        data = data.replace(b"&", b"\\u0026")
    return data


@cache
def struct_of(type_: str) -> type[Struct]:
    """Return a Struct that writes a type in the server's order and refuses values of other types."""
    facts = table().types[type_].fields
    fields: list[tuple[str, Any, Any]] = []
    nulls = built_in().nulls.get(SHOWN_AS.get(type_, type_), [])
    for name in in_order(type_, facts):
        field = facts[name]
        annotation = _annotation(field, type_, name)
        if not field.form and field.default == {} and "." in field.type:
            default: Any = msgspec.field(name=name, default_factory=_empty(annotation))
        elif (type_, name) in ALWAYS and field.type == "string" and not field.form:
            default = msgspec.field(name=name, default="")
        elif (field.required and field.form) or (type_, name) in ALWAYS or name in nulls:
            # A list that the type requires is always written, null where there is none.
            annotation, default = annotation | None, msgspec.field(name=name, default=None)
        elif field.required and isinstance(field.default, (str, int)):
            default = msgspec.field(name=name, default=field.default)
        else:
            annotation, default = annotation | UnsetType, msgspec.field(name=name, default=UNSET)
        fields.append((f"f{len(fields)}", annotation, default))
    return msgspec.defstruct(type_.rpartition(".")[2], fields, kw_only=True)


def _annotation(field: FieldFacts, above: str, name: str) -> Any:
    if field.type == above or field.type.startswith("schema-"):
        annotation: Any = Any  # JSON schemas hold schemas; below the first they are written as they are
    elif field.type == "integer":
        annotation = _INTEGERS[bits_of(above, name)]
    else:
        annotation = struct_of(field.type) if "." in field.type else _LEAVES[field.type]
    for form in reversed(field.form):
        annotation = list[annotation] if form == "list" else dict[str, annotation]
    return annotation


def _empty(made: type[Struct]) -> Any:
    return lambda: msgspec.convert({}, made)


def _canonical(leaf: str, value: Any) -> Any:
    """Return a quantity or a time in the form that is stored."""
    match leaf:
        case "quantity" if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            try:
                return str(Quantity(str(value)))
            except ValueError as error:
                raise Misfit(f"quantities must match the regular expression: {error}") from None
        case "time" if isinstance(value, str):
            return _time(value)
        case "micro-time" if isinstance(value, str):
            if not _MICRO_TIME.fullmatch(value):
                whole = _SECONDS.match(value)
                rest, wanted = (value[19:], ".000000") if whole else (value, "2006")
                raise Misfit(
                    f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00":'
                    f' cannot parse "{rest}" as "{wanted}"'
                )
            return value if value.endswith("Z") else parse_time(value).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case _:
            return value


def _time(value: str) -> str:
    # The usual form is the stored one already.
    if len(value) == 20 and value[19] == "Z" and value[10] == "T":
        return value
    try:
        return format_time(parse_time(value).replace(microsecond=0))
    except ValueError:
        raise Misfit(
            f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
        ) from None

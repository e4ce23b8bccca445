"""The codec of built-in kinds, by the types of a server's own code.

Reading drops undeclared fields (and reports them), null and empty values, and brings quantities and times
into canonical form. msgspec writes: each type has a Struct with the fields in the server's order, so that a
value of a wrong type is detected during encoding, and maps are sorted.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import Quantity, format_time, is_list, is_object, parse_time

from ._builtin_table import built_in
from ._field_orders import ALWAYS, NULLS_LIKE, POINTERS, in_order
from ._kubernetes_releases import NEWEST, Release
from ._protobuf_bodies import bits_of
from ._stored_form import BASE64, stored_form

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
_LINE_BREAKS: Final = {ord("\n"): None, ord("\r"): None}
_BASE64: Final = re.compile(BASE64)
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/]")
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class TypeMismatch(ValueError):
    """A value has a wrong type. The message is that of a server's JSON decoder."""


class MalformedBase64(TypeMismatch):
    """Data are not base64."""


class FieldPlan:
    """The treatment of the fields of a type by reading."""

    def __init__(self, type_: str, release: Release) -> None:
        self.fields: dict[str, tuple[tuple[str, ...], FieldPlan | str | None, bool]] = {}
        self._type = type_
        self._release = release
        self._gated: frozenset[str] = frozenset()
        # Numbers and booleans whose zero a server omits.
        self._dropped: frozenset[str] = frozenset()

    def prepare(self) -> FieldPlan:
        """Return the plan with its fields, which are built on first use because types are recursive."""
        if not self.fields and (type_facts := kind_table().types.get(self._type)):
            zeros = built_in().zeros.get(self._type, {})
            self._dropped = frozenset(name for name, keeps_empty in zeros.items() if not keeps_empty)
            for name, field in type_facts.fields.items():
                if f"{self._type}.{name}" in self._release.missing_fields:
                    continue
                if f"{self._type}.{name}" in self._release.gated_fields:
                    self._gated |= {name}
                    continue
                leaf: FieldPlan | str | None = None
                if "." in field.type:
                    leaf = plan_of(field.type, self._release)
                elif field.type in ("quantity", "time", "micro-time", "bytes", "any", "object"):
                    leaf = field.type
                elif field.type.startswith("schema-"):
                    leaf = "any"
                # A server omits empty values, except for fields that the type always has.
                keeps_empty = field.required or field.default is not None or (self._type, name) in POINTERS
                keeps_empty = zeros.get(name, keeps_empty)
                self.fields[name] = (field.form, leaf, keeps_empty)
        return self

    def tidy(self, obj: dict[str, Any], path: str, undeclared: list[str]) -> None:
        """Bring an object into its stored form, in place, and collect the paths of undeclared fields."""
        fields = self.fields or self.prepare().fields
        for name, value in list(obj.items()):
            rule = fields.get(name)
            if rule is None:
                if name not in self._gated:
                    undeclared.append(path + name)
                del obj[name]
                continue
            form, leaf, keeps_empty = rule
            if value is None:
                del obj[name]
            elif form:
                if not value and not keeps_empty and isinstance(value, list if form[0] == "list" else dict):
                    del obj[name]
                elif leaf is None:
                    if form == _MAP and is_object(value) and None in value.values():
                        obj[name] = {key: "" if item is None else item for key, item in value.items()}
                else:
                    self._tidy_many(obj, name, value, form, leaf, path, undeclared)
            elif leaf is None:
                if not keeps_empty and (value == "" or (value == 0 and name in self._dropped)):
                    del obj[name]
            elif isinstance(leaf, FieldPlan):
                if is_object(value):
                    leaf.tidy(value, f"{path}{name}.", undeclared)
            else:
                obj[name] = _canonical(leaf, value)

    def _tidy_many(
        self, obj: dict[str, Any], name: str, value: Any, form: tuple[str, ...], leaf: FieldPlan | str,
        path: str, undeclared: list[str],
    ) -> None:  # fmt: skip
        items: Any = list(value.items()) if is_object(value) else enumerate(value) if is_list(value) else ()
        for key, item in items:
            item_path = f"{path}{name}[{key}]" if form[0] == "list" else f"{path}{name}.{key}"
            if isinstance(leaf, FieldPlan):
                if is_object(item):
                    leaf.tidy(item, f"{item_path}.", undeclared)
            else:
                value[key] = _canonical(leaf, item)


@cache
def plan_of(type_: str, release: Release = NEWEST) -> FieldPlan:
    """Return the plan of a type in a release."""
    return FieldPlan(type_, release)


class TypedCodec:
    """The codec of a built-in kind."""

    def __init__(self, type_: str, kind: str, release: Release = NEWEST) -> None:
        self.type = type_
        self.kind = kind
        self.release = release
        self.plan = plan_of(type_, release)

    def tidy(self, obj: dict[str, Any]) -> list[str]:
        """Bring an object into its stored form, and return the paths of undeclared fields.

        Raise `TypeMismatch` for values of wrong types.

        A value of a wrong type is detected here, before other code reads it.
        """
        undeclared: list[str] = []
        if not stored_form(self.type, self.release)(obj):
            self.plan.tidy(obj, "", undeclared)
            self.write(obj)
        return undeclared

    def write(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON in the form of a server; raise `TypeMismatch` for values of wrong types."""
        try:
            return go_escaped(_encode(msgspec.convert(obj, struct_of(self.type))))
        except msgspec.ValidationError as error:
            raise TypeMismatch(self._go_text(str(error), obj)) from None

    def _go_text(self, text: str, obj: dict[str, Any]) -> str:
        match = _WRONG_TYPE.match(text)
        if not match:
            return f"json: {text}"
        expected, json_type, path = match[1].partition(" | ")[0], match[2] or "int", match[3] or "$"
        go_value, go_type = _GO_VALUES.get(json_type, json_type), _GO_VALUES.get(expected, expected)
        field = re.sub(r"\[[^]]*\]", "", path).removeprefix("$")
        holder, field_facts = self._holder(field)
        if field_facts is not None:
            is_element = path.endswith("]")
            go_type = _go_type(holder, field.rpartition(".")[2], field_facts, is_element=is_element)
            if (
                go_value == "number"
                and not (field_facts.form and not is_element)
                and field_facts.type == "integer"
            ):
                go_value = f"number {_encode(_value_at(obj, path)).decode()}"
        struct_name = self.kind if holder == self.type else holder.rpartition(".")[2]
        return (
            f"json: cannot unmarshal {go_value} into Go struct field {struct_name}{field} of type {go_type}"
        )

    def _holder(self, field: str) -> tuple[str, BuiltinField | None]:
        """Return the type of the struct that declares a field, and the field."""
        holder, field_facts = self.type, None
        for name in field.split(".")[1:]:
            if field_facts is not None:
                holder = field_facts.type
            type_facts = kind_table().types.get(holder)
            field_facts = type_facts.fields.get(name) if type_facts else None
            if field_facts is None:
                return self.type, None
        return holder, field_facts


def _go_type(holder: str, name: str, field: BuiltinField, *, is_element: bool) -> str:
    """Return the Go type of a field or of its elements."""
    forms = field.form[1:] if is_element else field.form
    form = "".join("[]" if container_form == "list" else "map[string]" for container_form in forms)
    if "." in field.type:
        package, _, struct = field.type.rpartition(".")
        return f"{form}{package.rpartition('_')[2]}.{struct}"
    if field.type == "integer":
        return f"{form}int{bits_of(holder, name)}"
    return form + _GO_TYPES.get(field.type, field.type)


def _value_at(obj: Any, path: str) -> Any:
    """Return the value at a path of msgspec: `$.spec.ports[0].port`, with `[...]` for any key."""
    values = [obj]
    for name, index in _STEPS.findall(path):
        if name:
            values = [each[name] for each in values if is_object(each) and name in each]
        elif index == "...":
            values = [value for each in values if is_object(each) for value in each.values()]
        else:
            values = [each[int(index)] for each in values if is_list(each)]
    # Of several values, a server reports the first that does not fit 32 bits.
    return next((candidate for candidate in values if not _is_small(candidate)), values[0])


def _is_small(value: Any) -> bool:
    return isinstance(value, int) and -(2**31) <= value < 2**31


def go_escaped(data: bytes) -> bytes:
    """Escape the characters that Go escapes in JSON; they occur in strings alone."""
    if b"<" in data:
        data = data.replace(b"<", b"\\u003c")
    if b">" in data:
        data = data.replace(b">", b"\\u003e")
    if b"&" in data:
        data = data.replace(b"&", b"\\u0026")
    return data


@cache
def struct_of(type_: str) -> type[Struct]:
    """Return a Struct that encodes a type in the server's order and rejects values of other types."""
    fields_of_type = kind_table().types[type_].fields
    fields: list[tuple[str, Any, Any]] = []
    nulls = built_in().nulls.get(NULLS_LIKE.get(type_, type_), [])
    for name in in_order(type_, fields_of_type):
        field = fields_of_type[name]
        annotation = _annotation(field, type_, name)
        if not field.form and field.default == {} and "." in field.type:
            default: Any = msgspec.field(name=name, default_factory=_empty(annotation))
        elif (type_, name) in ALWAYS and field.type == "string" and not field.form:
            default = msgspec.field(name=name, default="")
        elif (field.required and field.form) or (type_, name) in ALWAYS or name in nulls:
            # A required list is always written, as null if it is missing.
            annotation, default = annotation | None, msgspec.field(name=name, default=None)
        elif field.required and isinstance(field.default, (str, int)):
            default = msgspec.field(name=name, default=field.default)
        else:
            annotation, default = annotation | UnsetType, msgspec.field(name=name, default=UNSET)
        fields.append((f"f{len(fields)}", annotation, default))
    return msgspec.defstruct(type_.rpartition(".")[2], fields, kw_only=True)


def _annotation(field: BuiltinField, struct_type: str, name: str) -> Any:
    if field.type == struct_type or field.type.startswith("schema-"):
        annotation: Any = Any  # nested JSON schemas are written unchanged
    elif field.type == "integer":
        annotation = _INTEGERS[bits_of(struct_type, name)]
    else:
        annotation = struct_of(field.type) if "." in field.type else _LEAVES[field.type]
    for form in reversed(field.form):
        annotation = list[annotation] if form == "list" else dict[str, annotation]
    return annotation


def _empty(struct: type[Struct]) -> Any:
    return lambda: msgspec.convert({}, struct)


def _canonical(leaf: str, value: Any) -> Any:
    """Return a quantity or a time in canonical form."""
    match leaf:
        case "quantity" if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            try:
                return str(Quantity(str(value)))
            except ValueError as error:
                raise TypeMismatch(f"quantities must match the regular expression: {error}") from None
        case "bytes" if isinstance(value, str):
            return _base64(value)
        case "time" if isinstance(value, str):
            return _time(value)
        case "micro-time" if isinstance(value, str):
            if not _MICRO_TIME.fullmatch(value):
                seconds_match = _SECONDS.match(value)
                remainder, layout = (value[19:], ".000000") if seconds_match else (value, "2006")
                raise TypeMismatch(
                    f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00":'
                    f' cannot parse "{remainder}" as "{layout}"'
                )
            return value if value.endswith("Z") else parse_time(value).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case _:
            return value


def _base64(value: str) -> str:
    """Return base64 without the line breaks, which a server ignores."""
    if "\n" in value or "\r" in value:
        value = value.translate(_LINE_BREAKS)
    if not _BASE64.fullmatch(value):
        match = _NOT_BASE64.search(value)
        offset = match.start() if match else len(value) // 4 * 4
        raise MalformedBase64(f"illegal base64 data at input byte {offset}")
    return value


def _time(value: str) -> str:
    # The usual form is canonical.
    if len(value) == 20 and value[19] == "Z" and value[10] == "T":
        return value
    try:
        return format_time(parse_time(value).replace(microsecond=0))
    except ValueError:
        raise TypeMismatch(
            f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
        ) from None

"""What a CEL rule sees of a value: the fields that its schema types, with dates, spans and bytes as such.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from .._json import is_list, is_object

_RESERVED: Final = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
))  # fmt: skip
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_REFERENCE: Final = re.compile(r"(?<![\w.])(?:self|oldSelf)((?:\.\??\w+(?!\w*\())+)")
_LITERALS: Final = re.compile(r"""\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.S)
_DATES: Final = {"date", "date-time", "datetime", "duration"}


class Dated(msgspec.Struct, frozen=True):
    """A text that CEL is to read as a timestamp or a duration."""

    function: str
    text: str


def escape(name: str) -> str | None:
    """A property's name in CEL; None for one that no rule can name."""
    if not _NAME.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda found: _ESCAPES[found[0]], name)


def visible(schema: dict[str, Any], value: Any, *, root: bool = False) -> Any:
    """The value as rules see it; what the schema does not type is not there."""
    if value is None:
        return None
    if is_object(value):
        return _visible_members(schema, value, root)
    if is_list(value):
        items = schema.get("items", {})
        return [visible(items, element) for element in value] if is_typed(items) else []
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "number":
        return float(value)
    if isinstance(value, str):
        return _visible_text(schema.get("format", ""), value)
    return value


def _visible_text(format_: str, text: str) -> Any:
    match format_:
        case "byte":
            return msgspec.convert(text, bytes)
        case "date":
            return Dated("timestamp", f"{text}T00:00:00Z")
        case "date-time" | "datetime":
            return Dated("timestamp", text)
        case "duration":
            return Dated("duration", text)
        case _:
            return text


def _visible_members(schema: dict[str, Any], value: dict[str, Any], root: bool) -> dict[str, Any]:
    known: dict[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    seen: dict[str, Any] = {}
    if root or schema.get("x-kubernetes-embedded-resource"):
        seen = {name: value[name] for name in ("apiVersion", "kind") if name in value}
        metadata = value.get("metadata")
        if is_object(metadata):
            seen["metadata"] = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    for name, below in value.items():
        if name in seen:
            continue
        if name in known:
            # To `has` a null is a field that is not set.
            if below is not None and is_typed(known[name]) and (escaped := escape(name)) is not None:
                seen[escaped] = visible(known[name], below)
        elif is_object(others):
            seen[name] = visible(others, below)
    return seen


def is_typed(schema: dict[str, Any]) -> bool:
    """Whether rules can see values of this schema."""
    return "type" in schema or bool(schema.get("x-kubernetes-int-or-string"))


def literal(value: Any) -> str:
    """A visible value as CEL source."""
    if isinstance(value, Dated):
        return f"{value.function}({_quoted(value.text)})"
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    if is_object(value):
        return "{" + ", ".join(f"{_quoted(name)}: {literal(one)}" for name, one in value.items()) + "}"
    if is_list(value):
        return "[" + ", ".join(map(literal, value)) + "]"
    return _quoted(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _quoted(text: str) -> str:
    # Everything but plain letters as \u: no quote or line end of whatever kind can end the literal.
    return (
        '"' + "".join(one if one.isalnum() and one.isascii() else f"\\U{ord(one):08x}" for one in text) + '"'
    )


def holds_dates(schema: Any) -> bool:
    """Whether any value below may be a timestamp or a duration, which only CEL source can carry."""
    return _any(schema, _is_date)


def holds_associative_lists(schema: Any) -> bool:
    """Whether any list below is a set or map, for which CEL's `==` and `+` mean something else."""
    return _any(schema, _is_associative)


def _is_date(schema: dict[str, Any]) -> bool:
    return schema.get("format") in _DATES and schema.get("type") == "string"


def _is_associative(schema: dict[str, Any]) -> bool:
    return schema.get("x-kubernetes-list-type") in ("set", "map")


def _any(schema: Any, fits: Callable[[dict[str, Any]], bool]) -> bool:
    if not is_object(schema):
        return False
    below = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    return fits(schema) or any(_any(one, fits) for one in below)


def in_order(schema: Any, value: Any) -> Any:
    """A value whose sets and map lists stand in one order, whatever order they came in."""
    if is_object(value):
        known: dict[str, Any] = schema.get("properties", {})
        others = schema.get("additionalProperties")
        return {
            name: in_order(known[name] if name in known else others if is_object(others) else {}, one)
            for name, one in value.items()
        }
    if is_list(value):
        ordered = [in_order(schema.get("items", {}), element) for element in value]
        if schema.get("x-kubernetes-list-type") in ("set", "map"):
            ordered.sort(key=lambda one: msgspec.json.encode(one, order="deterministic"))
        return ordered
    return value


def unknown_reference(schema: dict[str, Any], source: str, *, root: bool) -> str | None:
    """The first field that a rule names and the schema does not type; a server refuses such a rule."""
    for steps in _REFERENCE.findall(_LITERALS.sub('""', source)):
        where: Any = schema
        path = ""
        for name in re.findall(r"\w+", steps):
            path += f".{name}"
            if "properties" not in where and not (root and path in _IDENTITY):
                break
            if (root or where.get("x-kubernetes-embedded-resource")) and path in _IDENTITY:
                break
            known = {
                escape(one): below for one, below in where.get("properties", {}).items() if is_typed(below)
            }
            if name not in known:
                return path
            where = known[name]
    return None


def unequal_kinds(schema: dict[str, Any], source: str) -> str | None:
    """The first field that a rule compares with a literal of another type; a server refuses such a rule."""
    for steps, operand in _COMPARISON.findall(source):
        where: Any = schema
        for name in re.findall(r"\w+", steps):
            known = {escape(one): below for one, below in where.get("properties", {}).items()}
            where = known.get(name, {})
        kind = where.get("type")
        if kind in _LITERAL_KINDS and _literal_kind(operand) not in _LITERAL_KINDS[kind]:
            return f"{kind} with {operand}"
    return None


def compares_lists(source: str) -> bool:
    """Whether a rule may compare whole lists: what stands beside == is neither a scalar literal nor a call of
    one of the functions that give a scalar."""
    plain = _LITERALS.sub('""', source)
    return any(not _SCALAR_BESIDE.search(beside) for beside in _BESIDE_EQUALS.findall(plain))


def compares_null(schema: dict[str, Any], source: str) -> str | None:
    """The first typed field that a rule compares with null; a server refuses such a rule, nullable or not."""
    for steps in _NULL_COMPARISON.findall(_LITERALS.sub('""', source)):
        where: Any = schema
        for name in re.findall(r"\w+", steps):
            known = {escape(one): below for one, below in where.get("properties", {}).items()}
            where = known.get(name, {})
        if where.get("type") in _TYPED:
            return f"{where['type']} with null"
    return None


def _literal_kind(operand: str) -> str:
    if operand[0] in "\"'":
        return "string"
    return "boolean" if operand in ("true", "false") else "number"


_OPERAND: Final = r"""("[^"]*"|'[^']*'|-?[0-9.]+|true\b|false\b)"""
_COMPARISON: Final = re.compile(rf"(?:^|[(,?:&|])\s*(?:self|oldSelf)((?:\.\w+)+)\s*[!=]=\s*{_OPERAND}")
_NULL_COMPARISON: Final = re.compile(r"(?<![\w.])(?:self|oldSelf)((?:\.\w+)*)\s*[!=]=\s*null\b")
# A comparison with the text, number or word on its right, or the size or element on its left.
_BESIDE_EQUALS: Final = re.compile(r"[^&|?:!=]*[!=]=[^&|?:,)]*")
_SCALAR_BESIDE: Final = re.compile(
    r"""[!=]=\s*(?:""|-?[0-9.]+|true|false|null)\s*$|size\(|\b[a-z]\w?\s*[!=]=\s*\w"""
)
_TYPED: Final = ("string", "integer", "number", "boolean", "array", "object")
_LITERAL_KINDS: Final = {
    "string": ("string",),
    "integer": ("number",),
    "number": ("number",),
    "boolean": ("boolean",),
}
_IDENTITY: Final = (".apiVersion", ".kind", ".metadata")

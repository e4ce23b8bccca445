"""YAML in and out as plain JSON values, read as Kubernetes' own tools read it.

Those turn YAML into JSON by rules between YAML 1.1 and 1.2, and so does this module, for a manifest must mean
the same here and to kubectl: ``yes``, ``on`` and ``y`` are true, ``0755`` and ``0o755`` are octal, ``08`` is
eight, ``1e3`` and ``3.0`` are whole numbers, but a date, ``12:30:45`` and ``1e400`` are text. Keys become
text. Beyond that it is strict where a mistake would pass unseen: duplicate keys, unknown tags and values
that JSON does not have are refused.

Aliases may not make a text grow beyond a bound, neither in values nor in characters: ten lines can describe a
billion values. PyYAML is imported when the first text is read or written.
"""

from __future__ import annotations

import math
import re
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Document", "YamlError", "YamlUnavailable", "read_documents", "write_documents"]

# The limit for the values of a text with its aliases written out. The largest manifests that people
# apply, bundles of custom-resource definitions, have some 200,000.
_MAX_VALUES: Final = 1_000_000
# The limit for the characters that aliases add to a text. Anchors in manifests hold labels or a pod's
# template, some kilobytes in a few places; without this bound 200 KB of text become 800 MB.
_MAX_COPIED: Final = 16 << 20

_PREFIX: Final = "tag:yaml.org,2002:"
_NO_TAG: Final = "this tag has no meaning in JSON: a text that begins with ! needs quotes"
_MAPPING: Final = f"{_PREFIX}map"
_SEQUENCE: Final = f"{_PREFIX}seq"
_TAGGED: Final = {"null": (type(None),), "bool": (bool,), "int": (int,), "float": (float, int)}
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE: Final = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE: Final = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
# Underscores are removed before a number is parsed, wherever they are.
_INT: Final = r"[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)"
_FLOAT: Final = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
# The same two with underscores, and a little more: unnecessary quotes do no harm.
_MAYBE_NUMBER: Final = (
    r"[-+]?_*(?:0_*[bB][01_]+|0_*[xX][0-9a-fA-F_]+|0_*[oO][0-7_]+"
    r"|(?:\._*[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE]_*[-+]?_*[0-9_]+)?)"
)
_NOT_JSON: Final = r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_LONGEST_INT: Final = 66  # 64 bits in binary, with 0b before them
# From here on Go writes a number with an exponent, and reads it as a floating one again.
_WITH_EXPONENT: Final = 1e21


class YamlError(ValueError):
    """A text that is not YAML, or none that can become JSON; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class YamlUnavailable(ImportError):
    """PyYAML is not installed."""


class Document:
    """A document of a text: its value, and the line of each part of it.

    `duplicate_keys` are the lines and names of keys that an object already has, if they are allowed.
    """

    # Kubernetes' decoder stops at 10,000 levels, Python's own stack long before that.
    MAX_DEPTH: ClassVar = 200

    def __init__(self, node: _Node, *, allow_duplicates: bool = False) -> None:
        self._node = node
        self.duplicate_keys: list[tuple[int, str]] = []
        self.value = _value(node, self.duplicate_keys if allow_duplicates else None)

    def line_of(self, path: Sequence[str | int] = ()) -> int:
        """Return the line of the value at this path, or of the deepest part of the path that exists."""
        node, line = self._node, self._node.line
        for step in path:
            child = _child(node, step)
            if child is None:
                break
            line, node = child
        return line


def read_documents(text: str, *, allow_duplicates: bool = False) -> Iterator[Document]:
    """Yield the documents of a text, one after another. An empty document has the value None.

    Of duplicate keys the last counts if they are allowed, as in a server; otherwise they are an error.
    """
    yaml = _library()
    try:
        # libyaml where it is built in: it reads ten times as fast, and the events are the same.
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        composer = _Composer(events)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield Document(composer.document(), allow_duplicates=allow_duplicates)
    except yaml.MarkedYAMLError as error:
        position = error.problem_mark or error.context_mark
        raise YamlError(error.problem or str(error), position.line + 1 if position else 1) from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).partition("\n")[0], 1) from None


def write_documents(values: Sequence[Any]) -> str:
    """Return plain JSON values as YAML documents, keys in their order.

    A text that any reader, old or new, could take for something else is quoted.
    """
    text: str = _library().dump_all(
        values,
        Dumper=_dumper(),
        sort_keys=False,
        allow_unicode=True,
        explicit_start=len(values) > 1,
        width=110,
    )
    return text


class _Node:
    """A value of the text. `size` counts the values and `length` the characters in it, aliases
    written out."""

    __slots__ = ("length", "line", "members", "quoted", "size", "tag", "text")

    def __init__(self, event: Any) -> None:
        self.line: int = event.start_mark.line + 1
        self.tag: str = event.tag or ""
        self.text: str | None = getattr(event, "value", None)  # of a scalar
        self.quoted = bool(getattr(event, "style", None))
        self.members: list[tuple[_Node | None, _Node]] = []  # of a list without keys
        self.size = 1
        self.length = len(self.text or "")

    @property
    def is_mapping(self) -> bool:
        return self.text is None and self.tag == _MAPPING


class _Composer:
    """Makes the nodes of a document from its events.

    PyYAML could do it too, but libyaml's composer recurses in C and dies of a hundred kilobytes of brackets.
    """

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchored: dict[str, _Node | None] = {}  # None while it is still open
        self._copied = 0  # characters, in all documents: many small ones must not add up to a large one

    def document(self) -> _Node:
        """Return the next document. Its anchors are its own."""
        self._anchored.clear()
        return self.node(next(self._events), 0)

    def node(self, event: Any, depth: int) -> _Node:
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event)
        node = _Node(event)
        if depth > Document.MAX_DEPTH:
            raise YamlError(f"values are nested more than {Document.MAX_DEPTH} deep", node.line)
        anchor: str | None = event.anchor
        if anchor:
            self._anchored[anchor] = None
        if kind == "SequenceStartEvent":
            self._check_tag(node, _SEQUENCE)
            while type(event := next(self._events)).__name__ != "SequenceEndEvent":
                self._add(node, None, self.node(event, depth + 1))
        elif kind == "MappingStartEvent":
            self._check_tag(node, _MAPPING)
            while type(event := next(self._events)).__name__ != "MappingEndEvent":
                key = self.node(event, depth + 1)
                self._add(node, key, self.node(next(self._events), depth + 1))
        if anchor:
            self._anchored[anchor] = node
        return node

    def _add(self, node: _Node, key: _Node | None, value: _Node) -> None:
        node.members.append((key, value))
        node.size += value.size + (key.size if key else 0)
        node.length += value.length + (key.length if key else 0)
        if node.size > _MAX_VALUES:
            raise YamlError(f"with its aliases written out it holds over {_MAX_VALUES} values", node.line)

    def _check_tag(self, node: _Node, tag: str) -> None:
        if node.tag not in ("", "!", tag):
            raise YamlError(_NO_TAG, node.line)
        node.tag = tag

    def _alias(self, event: Any) -> _Node:
        line: int = event.start_mark.line + 1
        if event.anchor not in self._anchored:
            # Not quoted, here and below: it may be the password that somebody wrote without quotes.
            raise YamlError("this alias stands for nothing: a text that begins with * needs quotes", line)
        node = self._anchored[event.anchor]
        if node is None:
            raise YamlError("a value contains itself", line)
        self._copied += node.length
        if self._copied > _MAX_COPIED:
            raise YamlError(f"its aliases stand for over {_MAX_COPIED} characters", line)
        return node


def _library() -> Any:
    try:
        import yaml
    except ImportError:
        raise YamlUnavailable(
            "YAML needs PyYAML, which is not installed: pip install 'kubeproto[yaml]', or use JSON"
        ) from None
    return yaml


@cache
def _dumper() -> Any:
    import yaml

    def text(dumper: Any, value: str) -> Any:
        style = "|" if "\n" in value.rstrip("\n") else None
        if not value.replace("\n", "").isprintable():
            style = '"'  # PyYAML forgets to escape the line ends that only YAML 1.1 knows
        return dumper.represent_scalar(f"{_PREFIX}str", value, style=style)

    dumper_class: Any = type("_Dumper", (yaml.SafeDumper,), {"ignore_aliases": _never})
    dumper_class.add_representer(str, text)
    # PyYAML quotes strings that it would read as another type itself; other readers would misread these.
    word_pattern = "|".join(re.escape(word) for word in sorted(_TRUE | _FALSE))
    ambiguous = re.compile(f"(?:{word_pattern}|{_NOT_JSON}|{_MAYBE_NUMBER})$")
    dumper_class.add_implicit_resolver(f"{_PREFIX}bool", ambiguous, None)
    return dumper_class


def _never(*_: Any) -> bool:
    return True


def _child(node: _Node, step: str | int) -> tuple[int, _Node] | None:
    """Return the line on which a member or element begins, and its value."""
    if isinstance(step, int):
        elements = [] if node.is_mapping else node.members
        return (elements[step][1].line, elements[step][1]) if step < len(elements) else None
    for key, value in node.members:
        if key is not None and key.text == step:
            return key.line, value
    return None


_Duplicates = list[tuple[int, str]] | None  # None refuses duplicate keys


def _value(node: _Node, duplicates: _Duplicates) -> Any:
    if node.text is not None:
        value = _scalar(node, node.text)
        return _shortest(value) if isinstance(value, float) else value
    if node.is_mapping:
        return _mapping(node, duplicates)
    return [_value(child, duplicates) for _, child in node.members]


def _scalar(node: _Node, text: str) -> Any:
    if node.tag in ("", "!"):
        return text if node.quoted or node.tag else _plain(text, node.line)
    name = node.tag.removeprefix(_PREFIX)
    if name == "str":
        return text
    types = _TAGGED.get(name)
    if types is None:
        raise YamlError(_NO_TAG, node.line)
    value = _plain(text, node.line)
    if type(value) not in types:
        raise YamlError(f"this is not a valid {name}", node.line)
    return float(value) if name == "float" else value


def _plain(text: str, line: int) -> Any:
    """Return the value of a scalar without quotes."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text[0] not in "+-.0123456789":
        return text
    if re.fullmatch(_NOT_JSON, text):
        raise YamlError(f"{text} is not a valid JSON number", line)
    # Behind a leading point Go's library takes an underscore only between two digits.
    digits = re.sub("(?<=[0-9])_(?=[0-9])" if text[0] == "." else "_", "", text)
    if re.fullmatch(_INT, digits):
        return _integer(digits, text)
    if re.fullmatch(_FLOAT, digits):
        number = float(digits)
        return text if math.isinf(number) else number
    return text


def _integer(digits: str, text: str) -> int | float | str:
    unsigned = digits.lstrip("+-").lower()
    octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1] in "01234567"
    if len(unsigned) <= _LONGEST_INT:
        value = int(unsigned, 8) if octal else int(unsigned, 0)
        value = -value if digits[0] == "-" else value
        if -(1 << 63) <= value < 1 << 63:
            return value
        # What 64 bits do not hold becomes a floating number in Go, to kubectl and to a server.
        if 0 < value < 1 << 64:
            return float(value)
    # Beyond that Go reads decimal digits alone, and reads a number as text if no floating number can hold it.
    number = float(digits) if unsigned.isdigit() else math.inf
    return text if math.isinf(number) else number


def _shortest(value: float) -> int | float:
    """Return a number as JSON carries it from Go: a whole one without a fraction, unless it is huge."""
    return int(value) if value.is_integer() and abs(value) < _WITH_EXPONENT else value


def _mapping(node: _Node, duplicates: _Duplicates) -> dict[str, Any]:
    """Return an object. Its own members take precedence over those that `<<` merges in."""
    members: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key_node, value_node in node.members:
        assert key_node is not None  # a mapping's members have keys
        if key_node.text == "<<" and not key_node.quoted and not key_node.tag:
            merged = _merged(value_node, duplicates) | merged
            continue
        key = _key(key_node)
        if key in members:
            if duplicates is None:
                raise YamlError(f"the key {key!r} occurs twice", key_node.line)
            duplicates.append((key_node.line, key))
        members[key] = _value(value_node, duplicates)
    return merged | members


def _merged(node: _Node, duplicates: _Duplicates) -> dict[str, Any]:
    sources = [node] if node.is_mapping else [child for _, child in node.members]
    merged: dict[str, Any] = {}
    for source in sources or [node]:
        if not source.is_mapping:
            raise YamlError("only a mapping can be merged by <<", source.line)
        merged = _mapping(source, duplicates) | merged
    return merged


def _key(node: _Node) -> str:
    text = node.text or ""
    if not (node.quoted or node.tag) and re.fullmatch(_NOT_JSON, text):
        return text.lower().lstrip("+")  # no number of JSON, but a key is a text
    value = None if node.text is None else _scalar(node, text)
    match value:
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case float() if not (abs(value) >= 1 << 63 and re.fullmatch(_INT, text.replace("_", ""))):
            return _float_key(value)
        case _:
            raise YamlError(
                "a key must be a string; if it looks like another value, put it in quotes", node.line
            )


def _float_key(value: float) -> str:
    """Return the key for a floating number: kubectl's library cuts it to 32 bits (16777217.0 loses 1)."""
    single = _single(value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    precision = next(p for p in range(9) if p == 8 or _single(float(f"{single:.{p}e}")) == single)
    text = f"{single:.{precision}e}"
    exponent = int(text.partition("e")[2])
    if -4 <= exponent < 6:
        return f"{single:.{max(precision - exponent, 0)}f}"
    return text


def _single(value: float) -> float:
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single

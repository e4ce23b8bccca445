"""YAML in and out as plain JSON values, read as Kubernetes' own tools read it.

Those turn YAML into JSON by rules between YAML 1.1 and 1.2, and so does this module, for a manifest must mean
the same here and to kubectl: ``yes``, ``on`` and ``y`` are true, ``0755`` and ``0o755`` are octal, ``1e3`` is
a number, but a date and ``12:30:45`` are text. Keys become text. Beyond that it is strict where a mistake
would pass unseen: duplicate keys, unknown tags and values that JSON does not have are refused.

Aliases may not make a document grow beyond a bound: ten lines can say a billion things. PyYAML is imported
when the first text is read or written.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# How many values a text may hold once its aliases are written out. The largest manifests that people
# apply, bundles of custom-resource definitions, have some 200,000.
MOST_VALUES: Final = 1_000_000
# Kubernetes' decoder stops at 10,000 levels, Python's own stack long before that.
DEEPEST: Final = 200

_PREFIX: Final = "tag:yaml.org,2002:"
_MAPPING: Final = f"{_PREFIX}map"
_SEQUENCE: Final = f"{_PREFIX}seq"
_TAGGED: Final = {"null": (type(None),), "bool": (bool,), "int": (int,), "float": (float, int)}
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE: Final = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE: Final = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_INT: Final = r"[-+]?(?:0b[01_]+|0o[0-7_]+|0[0-7_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*)"
_FLOAT: Final = r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
_NOT_JSON: Final = r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"


class YamlError(ValueError):
    """A text that is no YAML, or none that can become JSON; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class YamlUnavailable(ImportError):
    """PyYAML is not installed."""


class Document:
    """One document of a text: its value, and the line on which each part of it stands."""

    def __init__(self, node: _Node) -> None:
        self._node = node
        self.value = _value(node)

    def line_of(self, path: Sequence[str | int] = ()) -> int:
        """The line of the value at this path, or of the deepest part of the path that is there."""
        node, line = self._node, self._node.line
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return line


def read_documents(text: str) -> Iterator[Document]:
    """The documents of a text, one after another. An empty one has the value None."""
    yaml = _library()
    try:
        # libyaml where it is built in: it reads ten times as fast, and the events are the same.
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield Document(_Composer(events).node(next(events), 0))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(error.problem or str(error), mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).partition("\n")[0], 1) from None


def write_documents(values: Sequence[Any]) -> str:
    """Plain JSON values as YAML documents, keys in the order in which they stand.

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
    """A value as it stands in the text. `size` counts what is in it, aliases written out."""

    __slots__ = ("line", "members", "quoted", "size", "tag", "text")

    def __init__(self, event: Any) -> None:
        self.line: int = event.start_mark.line + 1
        self.tag: str = event.tag or ""
        self.text: str | None = getattr(event, "value", None)  # of a scalar
        self.quoted = bool(getattr(event, "style", None))
        self.members: list[tuple[_Node | None, _Node]] = []  # of a list without keys
        self.size = 1

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

    def node(self, event: Any, depth: int) -> _Node:
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event)
        node = _Node(event)
        if depth > DEEPEST:
            raise YamlError(f"values are nested more than {DEEPEST} deep", node.line)
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
        if node.size > MOST_VALUES:
            raise YamlError(f"with its aliases written out it holds over {MOST_VALUES} values", node.line)

    def _check_tag(self, node: _Node, tag: str) -> None:
        if node.tag not in ("", "!", tag):
            raise YamlError(f"the tag {node.tag!r} has no meaning in JSON", node.line)
        node.tag = tag

    def _alias(self, event: Any) -> _Node:
        line: int = event.start_mark.line + 1
        if event.anchor not in self._anchored:
            raise YamlError(f"the alias {event.anchor!r} stands for nothing", line)
        node = self._anchored[event.anchor]
        if node is None:
            raise YamlError("a value contains itself", line)
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

    made: Any = type("_Dumper", (yaml.SafeDumper,), {"ignore_aliases": _never})
    made.add_representer(str, text)
    # PyYAML quotes what itself would take for another type; these others would take for one.
    words = "|".join(re.escape(word) for word in sorted(_TRUE | _FALSE))
    ambiguous = re.compile(f"(?:{words}|{_INT}|{_FLOAT}|{_NOT_JSON})$")
    made.add_implicit_resolver(f"{_PREFIX}bool", ambiguous, None)
    return made


def _never(*_: Any) -> bool:
    return True


def _child(node: _Node, step: str | int) -> tuple[int, _Node] | None:
    """The line on which a member or element begins, and its value."""
    if isinstance(step, int):
        elements = [] if node.is_mapping else node.members
        return (elements[step][1].line, elements[step][1]) if step < len(elements) else None
    for key, value in node.members:
        if key is not None and key.text == step:
            return key.line, value
    return None


def _value(node: _Node) -> Any:
    if node.text is not None:
        return _scalar(node, node.text)
    if node.is_mapping:
        return _mapping(node)
    return [_value(child) for _, child in node.members]


def _scalar(node: _Node, text: str) -> Any:
    if node.tag in ("", "!"):
        return text if node.quoted or node.tag else _plain(text, node.line)
    name = node.tag.removeprefix(_PREFIX)
    if name == "str":
        return text
    types = _TAGGED.get(name)
    if types is None:
        raise YamlError(f"the tag {node.tag!r} has no meaning in JSON", node.line)
    value = _plain(text, node.line)
    if type(value) not in types:
        raise YamlError(f"{text!r} is no {name}", node.line)
    return float(value) if name == "float" else value


def _plain(text: str, line: int) -> Any:
    """What a scalar without quotes means."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text[0] not in "+-.0123456789":
        return text
    if re.fullmatch(_INT, text):
        return _integer(text)
    if re.fullmatch(_FLOAT, text):
        return float(text.replace("_", ""))
    if re.fullmatch(_NOT_JSON, text):
        raise YamlError(f"{text} is no number of JSON", line)
    return text


def _integer(text: str) -> int:
    digits = text.replace("_", "").lstrip("+-").lower()
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567"
    value = int(digits, 8) if octal else int(digits, 0)
    return -value if text[0] == "-" else value


def _mapping(node: _Node) -> dict[str, Any]:
    """An object. Members that `<<` merges in give way to its own."""
    members: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key_node, value_node in node.members:
        assert key_node is not None  # a mapping's members have keys
        if key_node.text == "<<" and not key_node.quoted and not key_node.tag:
            merged = _merged(value_node) | merged
            continue
        key = _key(key_node)
        if key in members:
            raise YamlError(f"the key {key!r} stands here twice", key_node.line)
        members[key] = _value(value_node)
    return merged | members


def _merged(node: _Node) -> dict[str, Any]:
    sources = [node] if node.is_mapping else [child for _, child in node.members]
    merged: dict[str, Any] = {}
    for source in sources or [node]:
        if not source.is_mapping:
            raise YamlError("only a mapping can be merged by <<", source.line)
        merged = _mapping(source) | merged
    return merged


def _key(node: _Node) -> str:
    match _value(node):
        case bool() as value:
            return str(value).lower()
        case str() | int() | float() as value:
            return str(value)
        case _:
            raise YamlError("a key must be a text", node.line)

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
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

# A node of PyYAML: scalar, sequence or mapping, told apart by its `id`.
_Node: TypeAlias = Any

# How many values a text may hold once its aliases are written out. The largest manifests that people
# apply, bundles of custom-resource definitions, have some 200,000.
MOST_VALUES: Final = 1_000_000
# Kubernetes' decoder stops at 10,000 levels, Python's own stack long before that.
DEEPEST: Final = 200

_PREFIX: Final = "tag:yaml.org,2002:"
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

    def __init__(self, node: _Node, value: Any) -> None:
        self._node = node
        self.value = value

    def line_of(self, path: Sequence[str | int] = ()) -> int:
        """The line of the value at this path, or of the deepest part of the path that is there."""
        node, line = self._node, _line(self._node)
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            key, node = found
            line = _line(key)
        return line


def read_documents(text: str | bytes) -> Iterator[Document]:
    """The documents of a text, one after another. An empty one has the value None."""
    module, loader_class = _library(), _loader()
    try:
        loader = loader_class(text)
        while loader.check_node():
            node = loader.get_node()
            _check_growth(node)
            yield Document(node, _value(node))
    except module.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(error.problem or str(error), mark.line + 1 if mark else 1) from None
    except module.YAMLError as error:
        raise YamlError(str(error).partition("\n")[0], 1) from None
    except RecursionError:
        raise YamlError(f"values are nested more than {DEEPEST} deep", 1) from None


def write_documents(values: Sequence[Any]) -> str:
    """Plain JSON values as YAML documents, keys in the order in which they stand.

    A text that any reader, old or new, could take for something else is quoted.
    """
    module, dumper = _library(), _dumper()
    text: str = module.dump_all(
        values, Dumper=dumper, sort_keys=False, allow_unicode=True, explicit_start=len(values) > 1, width=110
    )
    return text


@cache
def _library() -> ModuleType:
    try:
        import yaml
    except ImportError:
        raise YamlUnavailable(
            "YAML needs PyYAML, which is not installed: pip install 'kubeproto[yaml]', or use JSON"
        ) from None
    return yaml


@cache
def _loader() -> Any:
    import yaml

    # libyaml where it is built in: it reads ten times as fast, and the nodes are the same.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    # Without resolvers every plain scalar arrives as text, and `_plain` says what it means.
    return type("_Loader", (base,), {"yaml_implicit_resolvers": {}})


@cache
def _dumper() -> Any:
    import yaml

    def text(dumper: Any, value: str) -> Any:
        many = "\n" in value.rstrip("\n")
        return dumper.represent_scalar(f"{_PREFIX}str", value, style="|" if many else None)

    made: Any = type("_Dumper", (yaml.SafeDumper,), {"ignore_aliases": _never})
    made.add_representer(str, text)
    # PyYAML quotes what itself would take for another type; these others would take for one.
    words = "|".join(re.escape(word) for word in sorted(_TRUE | _FALSE))
    ambiguous = re.compile(f"(?:{words}|{_INT}|{_FLOAT}|{_NOT_JSON})$")
    made.add_implicit_resolver(f"{_PREFIX}bool", ambiguous, None)
    return made


def _never(*_: Any) -> bool:
    return True


def _line(node: _Node) -> int:
    line: int = node.start_mark.line + 1
    return line


def _child(node: _Node, step: str | int) -> tuple[_Node, _Node] | None:
    """The node that holds a member or element, for its line, and the node of its value."""
    if isinstance(step, int):
        elements: list[_Node] = node.value if node.id == "sequence" else []
        return (elements[step], elements[step]) if step < len(elements) else None
    members: list[tuple[_Node, _Node]] = node.value if node.id == "mapping" else []
    return next((member for member in members if member[0].value == step), None)


def _check_growth(root: _Node) -> None:
    """Refuse a document that is too deep, holds itself, or grows too large when aliases are written out."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(node: _Node, depth: int) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_:
            raise YamlError("a value contains itself", _line(node))
        if depth > DEEPEST:
            raise YamlError(f"values are nested more than {DEEPEST} deep", _line(node))
        open_.add(id(node))
        total = 1 + sum(size(child, depth + 1) for child in _children(node))
        open_.discard(id(node))
        if total > MOST_VALUES:
            raise YamlError(f"with its aliases written out it holds over {MOST_VALUES} values", _line(node))
        sizes[id(node)] = total
        return total

    size(root, 0)


def _children(node: _Node) -> Iterator[_Node]:
    if node.id == "sequence":
        yield from node.value
    elif node.id == "mapping":
        for key, value in node.value:
            yield key
            yield value


def _value(node: _Node) -> Any:
    tag = node.tag.removeprefix(_PREFIX)
    if node.id == "sequence" and tag == "seq":
        return [_value(child) for child in node.value]
    if node.id == "mapping" and tag == "map":
        return _mapping(node)
    if node.id == "scalar":
        return _scalar(node, tag)
    raise YamlError(f"the tag {node.tag!r} has no meaning in JSON", _line(node))


def _scalar(node: _Node, tag: str) -> Any:
    # With no resolvers, a plain scalar and a quoted one carry the same tag; the style tells them apart.
    if node.tag != f"{_PREFIX}str":
        if tag not in ("null", "bool", "int", "float"):
            raise YamlError(f"the tag {node.tag!r} has no meaning in JSON", _line(node))
        value = _plain(node)
        if type(value).__name__ not in (tag, "NoneType" if tag == "null" else tag):
            raise YamlError(f"{node.value!r} is no {tag}", _line(node))
        return value
    return node.value if node.style else _plain(node)


def _plain(node: _Node) -> Any:
    """What a scalar without quotes means."""
    text: str = node.value
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
        raise YamlError(f"{text} is no number of JSON", _line(node))
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
    for key_node, value_node in node.value:
        if key_node.value == "<<" and not key_node.style:
            merged = _merged(value_node) | merged
            continue
        key = _key(key_node)
        if key in members:
            raise YamlError(f"the key {key!r} stands here twice", _line(key_node))
        members[key] = _value(value_node)
    return merged | members


def _merged(node: _Node) -> dict[str, Any]:
    sources: list[_Node] = node.value if node.id == "sequence" else [node]
    merged: dict[str, Any] = {}
    for source in sources:
        if source.id != "mapping":
            raise YamlError("only a mapping can be merged by <<", _line(source))
        merged = _mapping(source) | merged
    return merged


def _key(node: _Node) -> str:
    value = _scalar(node, node.tag.removeprefix(_PREFIX)) if node.id == "scalar" else node
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            raise YamlError("a key must be a text", _line(node))

"""JSON patches as a Kubernetes API server applies them: by evanphx/json-patch v4, not by RFC 6902.

The differences: an index may have leading zeros and a sign, and a negative index counts from the end; the
first part of a pointer is skipped; a missing member counts as null, and a null has no members; the root can
only be replaced and tested; a `test` distinguishes 1 from 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .._patterns import Pattern
from ._json_values import copy_json, is_list, is_object

_INDEX: Final = Pattern(r"[-+]?[0-9]+", re.ASCII)
_ESCAPES: Final = {"~1": "/", "~0": "~"}
_Container = dict[str, Any] | list[Any]


def apply_like_server(document: Any, operation: Mapping[str, Any]) -> Any:
    """Apply an operation to a document in place, and return it; LookupError or ValueError if it fails."""
    path = _pointer(operation, "path")
    value = operation.get("value")  # a missing value counts as null
    match operation.get("op"):
        case "add":
            _add(*_find(document, path), copy_json(value))
        case "remove":
            _remove(*_find(document, path))
        case "replace" if path == "":
            if not (is_object(value) or is_list(value)):
                raise ValueError("only an object or a list can replace the whole document")
            return copy_json(value)
        case "replace":
            container, name = _find(document, path)
            _get(container, name)
            if isinstance(container, list):
                container[_index(name, len(container))] = copy_json(value)
            else:
                container[name] = copy_json(value)
        case "move":
            container, name = _find(document, _pointer(operation, "from"))
            moved = _get(container, name)
            _remove(container, name)
            _add(*_find(document, path), moved)
        case "copy":
            copied = copy_json(_get(*_find(document, _pointer(operation, "from"))))
            _add(*_find(document, path), copied)
        case "test":
            actual = document if path == "" else _get(*_find(document, path))
            if not _is_same(actual, value):
                raise ValueError("the value differs")
        case _:
            raise ValueError("the op must be one of add, remove, replace, move, copy and test")
    return document


def _pointer(operation: Mapping[str, Any], name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise ValueError(f"the operation needs {name!r}, a JSON pointer")
    return pointer


def _find(document: Any, path: str) -> tuple[_Container, str]:
    """Return the object or list that contains the last part of a path, and that part."""
    parts = path.split("/")
    if len(parts) < 2:
        raise LookupError(f"{path!r} names no value of the document")
    container = document
    for part in parts[1:-1]:
        container = _get(container, _unescape(part)) if is_object(container) or is_list(container) else None
    if is_object(container) or is_list(container):
        return container, _unescape(parts[-1])
    raise LookupError(f"a value that is neither object nor list has no {parts[-1]!r}")


def _unescape(part: str) -> str:
    return re.sub("~[01]", lambda match: _ESCAPES[match[0]], part)


def _get(container: _Container, name: str) -> Any:
    return container[_index(name, len(container))] if isinstance(container, list) else container.get(name)


def _add(container: _Container, name: str, value: Any) -> None:
    if not isinstance(container, list):
        container[name] = value
    elif name == "-":
        container.append(value)
    else:
        container.insert(_index(name, len(container) + 1), value)


def _remove(container: _Container, name: str) -> None:
    if isinstance(container, list):
        del container[_index(name, len(container))]
    elif name in container:
        del container[name]
    else:
        raise LookupError(f"the object has no {name!r}")


def _index(name: str, length: int) -> int:
    if not _INDEX.fullmatch(name):
        raise LookupError(f"{name!r} is not an index of a list")
    index = int(name) if len(name) < 20 else length
    if not -length <= index < length:
        raise LookupError(f"index {name} is outside of the list")
    return index + length if index < 0 else index


def _is_same(a: Any, b: Any) -> bool:
    if is_object(a) and is_object(b):
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    if is_list(a) and is_list(b):
        return len(a) == len(b) and all(map(_is_same, a, b))
    # The server compares the text of numbers: 1 and 1.0 differ.
    return type(a) is type(b) and bool(a == b)

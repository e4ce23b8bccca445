"""JSON patches as a Kubernetes API server applies them: by evanphx/json-patch v4, not by RFC 6902.

Where they differ: an index may have leading zeros and a sign, and a negative one counts from the end; the
first part of a pointer is skipped whatever it is; a missing member counts as null, and there is nothing below
a null; the root can only be replaced and tested; a `test` distinguishes 1 from 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .._patterns import Pattern
from ._pointers import is_list, is_object

_INDEX: Final = Pattern(r"[-+]?[0-9]+", re.ASCII)
_UNESCAPED: Final = {"~1": "/", "~0": "~"}
_Holder = dict[str, Any] | list[Any]


def apply_like_server(document: Any, operation: Mapping[str, Any]) -> Any:
    """Return the document after one operation, changed in place; LookupError or ValueError if it fails."""
    path = _pointer(operation, "path")
    value = operation.get("value")  # a missing value counts as null
    match operation.get("op"):
        case "add":
            _add(*_find(document, path), _copy(value))
        case "remove":
            _remove(*_find(document, path))
        case "replace" if path == "":
            if not (is_object(value) or is_list(value)):
                raise ValueError("only an object or a list can replace the whole document")
            return _copy(value)
        case "replace":
            holder, name = _find(document, path)
            _get(holder, name)
            if isinstance(holder, list):
                holder[_index(name, len(holder))] = _copy(value)
            else:
                holder[name] = _copy(value)
        case "move":
            holder, name = _find(document, _pointer(operation, "from"))
            moved = _get(holder, name)
            _remove(holder, name)
            _add(*_find(document, path), moved)
        case "copy":
            copied = _copy(_get(*_find(document, _pointer(operation, "from"))))
            _add(*_find(document, path), copied)
        case "test":
            found = document if path == "" else _get(*_find(document, path))
            if not _same(found, value):
                raise ValueError("the value differs")
        case _:
            raise ValueError("the op must be one of add, remove, replace, move, copy and test")
    return document


def _pointer(operation: Mapping[str, Any], name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise ValueError(f"the operation needs {name!r}, a JSON pointer")
    return pointer


def _find(document: Any, path: str) -> tuple[_Holder, str]:
    """Return the object or list that contains the last part of a path, and that part."""
    parts = path.split("/")
    if len(parts) < 2:
        raise LookupError(f"{path!r} names no place in the document")
    holder = document
    for part in parts[1:-1]:
        holder = _get(holder, _unescaped(part)) if is_object(holder) or is_list(holder) else None
    if is_object(holder) or is_list(holder):
        return holder, _unescaped(parts[-1])
    raise LookupError(f"there is nothing below a value that is neither object nor list, so no {parts[-1]!r}")


def _unescaped(part: str) -> str:
    return re.sub("~[01]", lambda found: _UNESCAPED[found[0]], part)


def _get(holder: _Holder, name: str) -> Any:
    return holder[_index(name, len(holder))] if isinstance(holder, list) else holder.get(name)


def _add(holder: _Holder, name: str, value: Any) -> None:
    if not isinstance(holder, list):
        holder[name] = value
    elif name == "-":
        holder.append(value)
    else:
        holder.insert(_index(name, len(holder) + 1), value)


def _remove(holder: _Holder, name: str) -> None:
    if isinstance(holder, list):
        del holder[_index(name, len(holder))]
    elif name in holder:
        del holder[name]
    else:
        raise LookupError(f"the object has no {name!r}")


def _index(name: str, length: int) -> int:
    if not _INDEX.fullmatch(name):
        raise LookupError(f"{name!r} is not an index of a list")
    index = int(name) if len(name) < 20 else length
    if not -length <= index < length:
        raise LookupError(f"index {name} is outside of the list")
    return index + length if index < 0 else index


def _copy(value: Any) -> Any:
    if is_object(value):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if is_list(value) else value


def _same(a: Any, b: Any) -> bool:
    if is_object(a) and is_object(b):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if is_list(a) and is_list(b):
        return len(a) == len(b) and all(map(_same, a, b))
    # Two numbers are compared as strings.
    return type(a) is type(b) and bool(a == b)

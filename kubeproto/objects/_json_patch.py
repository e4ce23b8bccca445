"""JSON patches (RFC 6902): the operations that lead from one document to another, made and applied."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ._pointers import find, format_pointer, is_list, is_object, list_index, member, parse_pointer
from ._server_patch import apply_like_server

JsonPatch = list[dict[str, Any]]


class PatchError(ValueError):
    """An operation of a JSON patch cannot be applied; `index` and `path` say which one."""

    def __init__(self, message: str, index: int, path: str) -> None:
        super().__init__(message)
        self.index = index
        self.path = path


def make_json_patch(before: Any, after: Any) -> JsonPatch:
    """Return the add, remove and replace operations that turn `before` into `after`; none if equal."""
    return [
        {"op": op, "path": format_pointer(path)} | ({} if op == "remove" else {"value": copy_json(value)})
        for op, path, value in _differences(before, after, ())
    ]


def apply_json_patch(document: Any, patch: Iterable[Mapping[str, Any]], *, like_server: bool = False) -> Any:
    """Return the document after all operations; neither argument is changed, and after PatchError nothing is.

    With `like_server`, operations mean what they mean to a Kubernetes API server. It departs from RFC 6902:
    it accepts negative indexes, treats a missing member as null, and cannot add at the root.
    """
    result = copy_json(document)
    for index, operation in enumerate(patch):
        path = operation.get("path")
        try:
            result = apply_like_server(result, operation) if like_server else _apply(result, operation)
        except (LookupError, ValueError) as error:
            what = f"operation {index} ({operation.get('op')} {path!r})"
            raise PatchError(f"{what}: {error.args[0]}", index, str(path)) from None
    return result


def json_equal(a: Any, b: Any) -> bool:
    """Return whether values are equal by RFC 6902 §4.6: numbers by value; true is not 1 as in Python."""
    if is_object(a) and is_object(b):
        return a.keys() == b.keys() and all(json_equal(a[key], b[key]) for key in a)
    if is_list(a) and is_list(b):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return isinstance(a, bool) is isinstance(b, bool) and bool(a == b)


def copy_json(value: Any) -> Any:
    """Return a copy that shares no object and no list with `value`."""
    if is_object(value):
        return {key: copy_json(part) for key, part in value.items()}
    if is_list(value):
        return [copy_json(part) for part in value]
    return value


_Path = tuple[str | int, ...]
_Difference = tuple[str, _Path, Any]


def _differences(before: Any, after: Any, path: _Path) -> Iterator[_Difference]:
    if is_object(before) and is_object(after):
        yield from _member_differences(before, after, path)
    elif is_list(before) and is_list(after):
        yield from _element_differences(before, after, path)
    elif not json_equal(before, after):
        yield "replace", path, after


def _member_differences(before: dict[str, Any], after: dict[str, Any], path: _Path) -> Iterator[_Difference]:
    for key, value in before.items():
        if key in after:
            yield from _differences(value, after[key], (*path, key))
        else:
            yield "remove", (*path, key), None
    for key, value in after.items():
        if key not in before:
            yield "add", (*path, key), value


def _element_differences(before: list[Any], after: list[Any], path: _Path) -> Iterator[_Difference]:
    """Between equal ends, elements are changed in place; the remaining ones are added or removed."""
    start = _common(zip(before, after, strict=False))
    ends = zip(reversed(before[start:]), reversed(after[start:]), strict=False)
    end = _common(ends)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for index, (was, becomes) in enumerate(zip(old, new, strict=False), start):
        yield from _differences(was, becomes, (*path, index))
    both = start + min(len(old), len(new))
    for index in range(start + len(old) - 1, both - 1, -1):  # backwards, because the indexes after it change
        yield "remove", (*path, index), None
    for index in range(both, start + len(new)):
        yield "add", (*path, index), after[index]


def _common(pairs: Iterable[tuple[Any, Any]]) -> int:
    """Return how many pairs from the start are equal."""
    count = 0
    for a, b in pairs:
        if not json_equal(a, b):
            break
        count += 1
    return count


def _apply(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, copy_json(_value(operation)))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _replace(document, path, copy_json(_value(operation)))
        case "move":
            source = _pointer(operation, "from")
            if path[: len(source)] == source and path != source:
                raise ValueError(f"{operation['from']!r} cannot move into itself")
            moved = find(document, source)
            return document if path == source else _add(_remove(document, source), path, moved)
        case "copy":
            return _add(document, path, copy_json(find(document, _pointer(operation, "from"))))
        case "test":
            if not json_equal(find(document, path), _value(operation)):
                raise ValueError("the value differs")
            return document
        case _:
            raise ValueError("the op must be one of add, remove, replace, move, copy and test")


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    holder, name = _holder(document, path), path[-1]
    if isinstance(holder, list):
        holder.insert(list_index(holder, name, end=True), value)
    else:
        holder[name] = value
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise ValueError("the whole document cannot be removed")
    holder, name = _holder(document, path), path[-1]
    if isinstance(holder, list):
        del holder[list_index(holder, name)]
    else:
        member(holder, name)
        del holder[name]
    return document


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    holder, name = _holder(document, path), path[-1]
    if isinstance(holder, list):
        holder[list_index(holder, name)] = value
    else:
        member(holder, name)
        holder[name] = value
    return document


def _holder(document: Any, path: Sequence[str]) -> dict[str, Any] | list[Any]:
    """Return the object or list that contains the last part of `path`."""
    holder = find(document, path[:-1])
    if is_object(holder) or is_list(holder):
        return holder
    raise LookupError(f"there is nothing below a value that is neither object nor list, so no {path[-1]!r}")


def _pointer(operation: Mapping[str, Any], name: str) -> tuple[str, ...]:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise ValueError(f"the operation needs {name!r}, a JSON pointer")
    return parse_pointer(pointer)


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise ValueError("the operation needs a 'value'")
    return operation["value"]

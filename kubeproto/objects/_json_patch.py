"""JSON patches (RFC 6902): create and apply the operations that turn a document into another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ._json_values import copy_json, is_list, is_object, json_equal
from ._pointers import find, format_pointer, list_index, member, parse_pointer
from ._server_patch import apply_like_server

JsonPatch = list[dict[str, Any]]


class PatchError(ValueError):
    """An operation of a JSON patch cannot be applied; `index` and `path` identify it."""

    def __init__(self, message: str, index: int, path: str) -> None:
        super().__init__(message)
        self.index = index
        self.path = path


def make_json_patch(old: Any, new: Any) -> JsonPatch:
    """Return the add, remove and replace operations that turn `old` into `new`; none if they are equal."""
    return [
        {"op": op, "path": format_pointer(path)} | ({} if op == "remove" else {"value": copy_json(value)})
        for op, path, value in _find_differences(old, new, ())
    ]


def apply_json_patch(document: Any, patch: Iterable[Mapping[str, Any]], *, like_server: bool = False) -> Any:
    """Return the document after all operations; neither argument is changed.

    With `like_server`, operations have the meaning of a Kubernetes API server, which departs from RFC 6902:
    it accepts negative indexes, treats a missing member as null, and cannot add at the root.
    """
    result = copy_json(document)
    for index, operation in enumerate(patch):
        path = operation.get("path")
        try:
            result = apply_like_server(result, operation) if like_server else _apply(result, operation)
        except (LookupError, ValueError) as error:
            label = f"operation {index} ({operation.get('op')} {path!r})"
            raise PatchError(f"{label}: {error.args[0]}", index, str(path)) from None
    return result


_Path = tuple[str | int, ...]
_Difference = tuple[str, _Path, Any]


def _find_differences(old: Any, new: Any, path: _Path) -> Iterator[_Difference]:
    if is_object(old) and is_object(new):
        yield from _member_differences(old, new, path)
    elif is_list(old) and is_list(new):
        yield from _element_differences(old, new, path)
    elif not json_equal(old, new):
        yield "replace", path, new


def _member_differences(old: dict[str, Any], new: dict[str, Any], path: _Path) -> Iterator[_Difference]:
    for key, value in old.items():
        if key in new:
            yield from _find_differences(value, new[key], (*path, key))
        else:
            yield "remove", (*path, key), None
    for key, value in new.items():
        if key not in old:
            yield "add", (*path, key), value


def _element_differences(old_list: list[Any], new_list: list[Any], path: _Path) -> Iterator[_Difference]:
    """Between equal ends, elements are changed in place; the remaining ones are added or removed."""
    start = _common(zip(old_list, new_list, strict=False))
    ends = zip(reversed(old_list[start:]), reversed(new_list[start:]), strict=False)
    end = _common(ends)
    old_middle, new_middle = old_list[start : len(old_list) - end], new_list[start : len(new_list) - end]
    for index, (old_element, new_element) in enumerate(zip(old_middle, new_middle, strict=False), start):
        yield from _find_differences(old_element, new_element, (*path, index))
    common_end = start + min(len(old_middle), len(new_middle))
    # Backwards, because a removal changes the indexes behind it.
    for index in range(start + len(old_middle) - 1, common_end - 1, -1):
        yield "remove", (*path, index), None
    for index in range(common_end, start + len(new_middle)):
        yield "add", (*path, index), new_list[index]


def _common(pairs: Iterable[tuple[Any, Any]]) -> int:
    """Return how many pairs from the start are equal."""
    count = 0
    for a, b in pairs:
        if not json_equal(a, b):
            break
        count += 1
    return count


def _apply(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _parse_operand(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, copy_json(_require_value(operation)))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _replace(document, path, copy_json(_require_value(operation)))
        case "move":
            source = _parse_operand(operation, "from")
            if path[: len(source)] == source and path != source:
                raise ValueError(f"{operation['from']!r} cannot move into itself")
            moved = find(document, source)
            return document if path == source else _add(_remove(document, source), path, moved)
        case "copy":
            return _add(document, path, copy_json(find(document, _parse_operand(operation, "from"))))
        case "test":
            if not json_equal(find(document, path), _require_value(operation)):
                raise ValueError("the value differs")
            return document
        case _:
            raise ValueError("the op must be one of add, remove, replace, move, copy and test")


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    container, name = _find_container(document, path), path[-1]
    if isinstance(container, list):
        container.insert(list_index(container, name, end=True), value)
    else:
        container[name] = value
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise ValueError("the whole document cannot be removed")
    container, name = _find_container(document, path), path[-1]
    if isinstance(container, list):
        del container[list_index(container, name)]
    else:
        member(container, name)
        del container[name]
    return document


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    container, name = _find_container(document, path), path[-1]
    if isinstance(container, list):
        container[list_index(container, name)] = value
    else:
        member(container, name)
        container[name] = value
    return document


def _find_container(document: Any, path: Sequence[str]) -> dict[str, Any] | list[Any]:
    """Return the object or list that contains the last part of `path`."""
    container = find(document, path[:-1])
    if is_object(container) or is_list(container):
        return container
    raise LookupError(f"a value that is neither object nor list has no {path[-1]!r}")


def _parse_operand(operation: Mapping[str, Any], name: str) -> tuple[str, ...]:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise ValueError(f"the operation needs {name!r}, a JSON pointer")
    return parse_pointer(pointer)


def _require_value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise ValueError("the operation needs a 'value'")
    return operation["value"]

"""JSON pointers (RFC 6901): the path of a value in a document, such as `/spec/containers/0/image`."""

import re
from collections.abc import Iterable
from typing import Any, Final

from ._json_values import is_list, is_object

_UNESCAPED_TILDE: Final = r"~(?![01])"
_INDEX: Final = r"0|[1-9][0-9]{0,17}"


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the keys and indexes on the path, unescaped; the empty string means the whole document."""
    if not text:
        return ()
    if text[0] != "/" or re.search(_UNESCAPED_TILDE, text):
        raise ValueError(
            f"{text!r} is not a JSON pointer: it starts with '/', and writes '~' as ~0 and '/' as ~1"
        )
    # ~0 comes last, or "~01" would turn into "/".
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def format_pointer(parts: Iterable[str | int]) -> str:
    """Return a path as a string; a number is an index of a list."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the value at `pointer`; raise LookupError if there is none."""
    return find(document, parse_pointer(pointer))


def find(document: Any, parts: Iterable[str]) -> Any:
    """Return the value at a path that is already parsed; raise LookupError if there is none."""
    for part in parts:
        if is_object(document):
            document = member(document, part)
        elif is_list(document):
            document = document[list_index(document, part)]
        else:
            raise LookupError(f"a value that is neither object nor list has no {part!r}")
    return document


def member(members: dict[str, Any], key: str) -> Any:
    """Return the value under `key`; LookupError with a full message if there is none."""
    if key not in members:
        raise LookupError(f"the object has no {key!r}")
    return members[key]


def list_index(elements: list[Any], part: str, *, end: bool = False) -> int:
    """Return the index that `part` names; with `end`, the position after the last element ("-" too) is
    valid."""
    if end and part == "-":
        return len(elements)
    if not re.fullmatch(_INDEX, part):
        raise LookupError(f"{part!r} is not an index of a list")
    if int(part) >= len(elements) + end:
        raise LookupError(f"the list has {len(elements)} elements, so no index {part}")
    return int(part)

"""Documents drawn from bytes: right ones first, which are then changed in a few places.

Bytes that a fuzzer makes up are refused at their first character; a document that is right but for one value
gets as far as the code that trusted that value. Each byte is a decision, so that a fuzzer that is led by
coverage can change one decision at a time; when the bytes are used up, the rest is plain.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

_ODD: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1 << 64, 1e308, "", "\x1b[2J\r\n", "\u202e\ud83d\ude00", "x" * 3_000, [], {}, [None],
    {"": None}, {"metadata": {"name": "other"}}, "9" * 2_000, "2026-01-01T00:00:00Z", "AAAA", "=",
)  # fmt: skip


class Draw:
    """Decisions, a byte each."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def integer(self, bound: int) -> int:
        """A number from 0 on; 0 when the bytes are used up."""
        if self._position >= len(self._data):
            return 0
        self._position += 1
        return self._data[self._position - 1] % bound

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.integer(len(choices))]

    def changed(self, document: Any) -> Any:
        """The document with up to three of its values changed."""
        for _ in range(self.integer(4)):
            document = self._change(document)
        return document

    def _change(self, value: Any) -> Any:
        """Go down into the document and change something on the way."""
        if isinstance(value, dict) and value and self.integer(4):
            members: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
            key = self.one_of(list(members))
            match self.integer(8):
                case 1:
                    del members[key]
                case 2:
                    members[key.upper()] = members.pop(key)
                case _:
                    members[key] = self._change(members[key])
            return members
        if isinstance(value, list) and value and self.integer(4):
            elements: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            index = self.integer(len(elements))
            match self.integer(6):
                case 1:
                    elements.append(elements[index])
                case 2:
                    del elements[index]
                case _:
                    elements[index] = self._change(elements[index])
            return elements
        match self.integer(6):
            case 0 | 1 | 2:
                return self.one_of(_ODD)
            case 3:
                return [value]
            case 4:
                return dict[str, Any](a=value)
            case _:
                return _nested(self.one_of((10, 150, 500, 3_000)))

    def text(self, document: Any) -> bytes:
        """The document as JSON, with a byte of it changed now and then."""
        text = _json(document)
        for _ in range(self.integer(3)):
            index = (self.integer(256) << 8 | self.integer(256)) % (len(text) + 1)
            text = (
                text[:index]
                + self.one_of((b"\xff", b"\0", b'"', b"\\", b"}", b"\n", b""))
                + text[index + 1 :]
            )
        return text

    def split(self, stream: bytes) -> list[bytes]:
        """The stream in pieces."""
        size = self.one_of((len(stream) or 1, 1, 7, 64, 1000))
        size = size if len(stream) < 10_000 else max(size, 500)
        return [stream[start : start + size] for start in range(0, len(stream), size)]


class _nested(int):  # noqa: N801 - a number of levels, which JSON writers would not write
    pass


def _json(document: Any) -> bytes:
    """JSON without recursion limits: what is nested is written by hand."""
    levels: list[int] = []

    def replace_nesting(value: Any) -> Any:
        if isinstance(value, _nested):
            levels.append(int(value))
            return f"@nested{len(levels) - 1}@"
        if isinstance(value, dict):
            return {key: replace_nesting(member) for key, member in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list):
            return [replace_nesting(element) for element in value]  # pyright: ignore[reportUnknownVariableType]
        return value

    text = json.dumps(replace_nesting(document)).encode()
    for number, count in enumerate(levels):
        text = text.replace(b'"@nested%d@"' % number, b"[" * count + b"]" * count)
    return text

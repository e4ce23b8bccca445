"""Documents drawn from bytes: valid documents first, which are then changed at a few positions.

Random bytes are refused at their first character; a document with a single invalid value reaches the code
that trusted that value. Each byte is a decision, so that a fuzzer that follows coverage can change a single
decision at a time. When the bytes are used up, every further decision is the first choice.
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
    """Decisions, each from a byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def integer(self, bound: int) -> int:
        """Return a number below the bound; 0 when the bytes are used up."""
        if self._position >= len(self._data):
            return 0
        self._position += 1
        return self._data[self._position - 1] % bound

    def choose(self, choices: Sequence[T]) -> T:
        return choices[self.integer(len(choices))]

    def changed(self, document: Any) -> Any:
        """Return the document with up to three of its values changed."""
        for _ in range(self.integer(4)):
            document = self._change(document)
        return document

    def _change(self, value: Any) -> Any:
        """Descend into the document and change a value on the way."""
        if isinstance(value, dict) and value and self.integer(4):
            members: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
            key = self.choose(list(members))
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
                return self.choose(_ODD)
            case 3:
                return [value]
            case 4:
                return dict[str, Any](a=value)
            case _:
                return _nested(self.choose((10, 150, 500, 3_000)))

    def text(self, document: Any) -> bytes:
        """Return the document as JSON, sometimes with a changed byte."""
        text = _json(document)
        for _ in range(self.integer(3)):
            index = (self.integer(256) << 8 | self.integer(256)) % (len(text) + 1)
            text = (
                text[:index]
                + self.choose((b"\xff", b"\0", b'"', b"\\", b"}", b"\n", b""))
                + text[index + 1 :]
            )
        return text

    def split(self, stream: bytes) -> list[bytes]:
        """Return the stream in pieces."""
        size = self.choose((len(stream) or 1, 1, 7, 64, 1000))
        size = size if len(stream) < 10_000 else max(size, 500)
        return [stream[start : start + size] for start in range(0, len(stream), size)]


class _nested(int):  # noqa: N801 - a number of levels, which JSON writers would not write
    pass


def _json(document: Any) -> bytes:
    """Return JSON without recursion limits: nested values are written by this function."""
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

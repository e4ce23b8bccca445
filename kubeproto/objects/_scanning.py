"""Split JSON of any depth into its members or elements, and join members.

msgspec reads nested values by recursion, and refuses them at the limit of the interpreter's stack: 1,000
levels on Python 3.11. An API server stores 1,500 levels in a field that preserves unknown fields, so a tenant
could make all objects of a kind unreadable with a single object. Here such an object is split with an
explicit stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from .._errors import InvalidObject
from .._patterns import Pattern
from ._json_reader import Reader, TooDeep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_members: Final = Reader[dict[str, Raw]](dict[str, Raw]).read
_elements: Final = Reader[list[Raw]](list[Raw]).read
_value: Final = Reader[Raw](Raw).read
_read_key: Final = Reader[str](str).read

_TOKEN: Final = Pattern(
    rb'[ \t\r\n]*+(?:("(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    rb"|(true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    rb"|([\[\]{},:]))"
)
_WHITESPACE: Final = Pattern(rb"[ \t\r\n]*+")
_STRING, _PUNCTUATION = 1, 3  # groups of _TOKEN; the group between them is for numbers and words
_BRACE: Final = ord("{")
_CLOSES: Final = {ord("}"): ord("{"), ord("]"): ord("[")}

# The expected tokens.
_VALUE, _FIRST_VALUE, _KEY, _FIRST_KEY, _COLON, _REST = range(6)


def split_object(text: bytes | Raw) -> dict[str, Raw]:
    """Return the members of a JSON object, each as JSON; a key that occurs twice has the last value."""
    try:
        return _members(text)
    except TooDeep:
        data = bytes(text)
    return {_read_key(key): Raw(data[start:end]) for key, start, end in _iterate_parts(data, b"{")}


def split_array(text: bytes | Raw) -> list[Raw]:
    """Return the elements of a JSON array, each as JSON."""
    try:
        return _elements(text)
    except TooDeep:
        data = bytes(text)
    return [Raw(data[start:end]) for _, start, end in _iterate_parts(data, b"[")]


def check_json(text: bytes | memoryview | Raw) -> None:
    """Raise `InvalidObject` unless the whole text is a single JSON value."""
    try:
        _value(text)
    except TooDeep:
        for _ in _iterate_parts(bytes(text), b"{["):
            pass


def is_json(text: bytes | memoryview | Raw) -> bool:
    """Return whether the text is a single JSON value."""
    try:
        check_json(text)
    except InvalidObject:
        return False
    return True


def _iterate_parts(text: bytes, opening: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield key, start and end of each part of the outermost value; in an array the key is empty.

    The whole text is checked; the first error is raised when it is reached.
    """
    stack = bytearray()
    expected, offset, start, key = _VALUE, 0, 0, b""
    while True:
        token = _TOKEN.match(text, offset)
        if token is None or token.lastindex is None:
            raise _describe_malformed(text, offset)
        begin, offset, kind = token.start(token.lastindex), token.end(), token.lastindex
        first = text[begin]
        if len(stack) == 1 and expected in (_VALUE, _FIRST_VALUE):
            start = begin
        if expected in (_VALUE, _FIRST_VALUE) and kind == _PUNCTUATION and first in b"{[":
            if not stack and first not in opening:
                break
            stack.append(first)
            expected = _FIRST_KEY if first == _BRACE else _FIRST_VALUE
            continue
        if expected in (_KEY, _FIRST_KEY) and kind == _STRING:
            key = token[1] if len(stack) == 1 else key
            expected = _COLON
            continue
        if expected == _COLON and first == ord(":"):
            expected = _VALUE
            continue
        if expected == _REST and first == ord(","):
            expected = _KEY if stack[-1] == _BRACE else _VALUE
            continue
        if expected in (_REST, _FIRST_KEY, _FIRST_VALUE) and _CLOSES.get(first) == stack[-1]:
            # The last part was yielded at its end; this bracket closes the value around it.
            stack.pop()
        elif expected not in (_VALUE, _FIRST_VALUE) or kind == _PUNCTUATION or not stack:
            raise _describe_malformed(text, begin)
        expected = _REST
        if len(stack) == 1:
            yield key, start, offset
        if not stack:
            if (trailing := _WHITESPACE.match(text, offset)) is not None and trailing.end() < len(text):
                raise _describe_malformed(text, trailing.end())
            return
    raise InvalidObject(f"it is not a JSON {'object' if opening == b'{' else 'array'}")


def _describe_malformed(text: bytes, offset: int) -> InvalidObject:
    if offset >= len(text) or not text[offset:].strip():
        return InvalidObject("Input data was truncated")
    return InvalidObject(f"JSON is malformed: invalid character (byte {offset})")


_NULL: Final = Raw(b"null")


class Source:
    """The JSON text of an object, its raw members and those of its metadata. Deliberately not encodable."""

    __slots__ = ("members", "metadata", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.members = split_object(text)
        metadata = self.members.get("metadata")
        self.metadata = {} if metadata is None or metadata == _NULL else split_object(metadata)

    def __repr__(self) -> str:
        return f"Source(<{len(self.text)} bytes>)"

    def __reduce__(self) -> Any:
        return Source, (self.text,)


_write: Final = msgspec.json.Encoder().encode


def join_members(members: Mapping[str, bytes | Raw]) -> bytes:
    """Return a JSON object with these members."""
    return b"{" + b",".join(_write(key) + b":" + bytes(text) for key, text in members.items()) + b"}"


_COMMON_KEYS: Final = ("kind", "apiVersion", "metadata")
_IDENTITY_KEYS: Final = ("name", "namespace", "uid", "resourceVersion")


def extract_identity(text: bytes) -> bytes:
    """Return the JSON of an object's identity, for objects that are nested too deeply for msgspec."""
    common = {key: raw for key, raw in split_object(text).items() if key in _COMMON_KEYS}
    if "metadata" in common:
        metadata = split_object(common["metadata"])
        identity = {key: raw for key, raw in metadata.items() if key in _IDENTITY_KEYS}
        common["metadata"] = Raw(join_members(identity))
    return join_members(common)

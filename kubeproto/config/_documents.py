"""Texts that may hold secrets, read as YAML or JSON: mistakes name the line and never quote the text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from ..objects import is_list, is_object
from ..yaml import MAX_DEPTH, YamlError, YamlUnavailable, read_documents
from ._errors import ConfigError
from ._hiding import HIDDEN

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# What a message quotes may be a password, for example one that begins with `!`, `*` or `&`. Single signs and
# the parts of YAML's grammar, in angle brackets, are not.
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_TYPED: Final = re.compile(r"^(.*) - at `(\$.*)`$")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class LocatedDocument(Protocol):
    """One document of a text: a plain value that knows its lines."""

    value: Any

    def line_of(self, path: Sequence[str | int] = ()) -> int: ...


class _JsonDocument:
    """A JSON text, which is YAML too: that is how its lines are found, if there is YAML."""

    def __init__(self, text: str, value: Any) -> None:
        self._text = text
        self.value = value

    def line_of(self, path: Sequence[str | int] = ()) -> int:
        try:
            return next(read_documents(self._text)).line_of(path)
        except (ValueError, YamlUnavailable):
            return 0


def mistake(what: str, line: int, problem: str) -> ConfigError:
    """Return the error for a mistake in a text; line 0 is unknown."""
    return ConfigError(f"{what}, line {line}: {problem}" if line else f"{what}: {problem}")


def read_text(content: bytes, what: str) -> list[LocatedDocument]:
    """Return the documents of a text in UTF-8 or UTF-16, None for empty ones. Errors name it as `what`."""
    text = _decoded(content, what)
    problem, line = "", 0
    if text.lstrip()[:1] == "{":
        try:
            value = msgspec.json.decode(text)
            if not _is_deep(value):
                return [_JsonDocument(text, value)]
            raise RecursionError(f"values are nested more than {MAX_DEPTH} deep")
        except (msgspec.DecodeError, RecursionError) as error:
            line = _line_in(text, str(error))
            problem = f"this is not JSON: {str(error).partition(' (byte')[0]}"
    # Errors are raised outside the handlers: a context that is only suppressed still holds the text.
    try:
        return list(read_documents(text))
    except YamlUnavailable as error:
        problem = problem or str(error)
    except YamlError as error:
        problem, line = _QUOTED.sub(_hidden, str(error)), error.line
    except ValueError:  # a number of five thousand digits
        problem = "it holds a value that cannot be read"
    raise mistake(what, line, problem)


def _is_deep(value: Any) -> bool:
    """Return whether values are nested deeper than YAML may nest them: the code that reads them recurses."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = [one.values() if is_object(one) else one for one in level if is_object(one) or is_list(one)]
        if not inner:
            return False
        level = [value for values in inner for value in values]
    return True


def shape(value: Any, type_: Any, document: LocatedDocument, what: str) -> Any:
    """Return the value as one of this type; a mistake names the line."""
    try:
        return msgspec.convert(value, type_, strict=True)
    except msgspec.ValidationError as error:
        said = str(error)
    found = _TYPED.match(said)
    problem, path = (found[1], found[2]) if found else (said, "$")
    steps = [name or int(index) for name, index in _STEP.findall(path)]
    where = path.removeprefix("$").removeprefix(".")
    raise mistake(what, document.line_of(steps), f"{where}: {problem}" if where else problem)


def _decoded(content: bytes, what: str) -> str:
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    # PowerShell writes UTF-16. Without a byte order mark, an ASCII character in front shows which one.
    if encoding == "utf-8" and content[:1] and content[1:2]:
        encoding = "utf-16-le" if not content[1] else "utf-16-be" if not content[0] else encoding
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    raise mistake(what, line, f"this is not {encoding[:6].upper().rstrip('-')}")


def _hidden(quoted: re.Match[str]) -> str:
    said = quoted[0]
    return said if len(said) < 4 or said[1] == "<" else HIDDEN


def _line_in(text: str, said: str) -> int:
    place = re.search(r"\(byte (\d+)\)", said)
    return text.encode().count(b"\n", 0, int(place[1])) + 1 if place else 1

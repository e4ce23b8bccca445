"""Texts with secrets, parsed as YAML or JSON: errors name the line and never quote the text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from .._errors import ConfigError
from ..objects import is_list, is_object
from ..wire import CONCEALED
from ..yaml import Document, YamlError, YamlUnavailable, read_documents

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# A quotation in an error of the YAML parser may be a password, for example a password that begins with `!`,
# `*` or `&`. Single characters, and the parts of YAML's grammar in angle brackets, are not.
_QUOTATION: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_MSGSPEC_ERROR: Final = re.compile(r"^(.*) - at `(\$.*)`$")
_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class LocatedDocument(Protocol):
    """A document of a text: a plain value that knows its lines."""

    value: Any

    def line_of(self, path: Sequence[str | int] = ()) -> int: ...


class _JsonDocument:
    """A JSON text. It is YAML too, and the YAML parser finds its lines, if it is installed."""

    def __init__(self, text: str, value: Any) -> None:
        self._text = text
        self.value = value

    def line_of(self, path: Sequence[str | int] = ()) -> int:
        try:
            return next(read_documents(self._text)).line_of(path)
        except (ValueError, YamlUnavailable):
            return 0


def error_at(source: str, line: int, problem: str) -> ConfigError:
    """Return the error for a line of a text; line 0 is unknown."""
    return ConfigError(f"{source}, line {line}: {problem}" if line else f"{source}: {problem}")


def parse_documents(content: bytes, source: str) -> list[LocatedDocument]:
    """Return the documents of a text in UTF-8 or UTF-16, with None for empty ones; `source` is for errors."""
    text = _decode_text(content, source)
    problem, line = "", 0
    if text.lstrip()[:1] == "{":
        try:
            value = msgspec.json.decode(text)
            if not _is_too_deep(value):
                return [_JsonDocument(text, value)]
            raise RecursionError(f"values are nested more than {Document.MAX_DEPTH} deep")
        except (msgspec.DecodeError, RecursionError) as error:
            line = _line_of_error(text, str(error))
            problem = f"this is not JSON: {str(error).partition(' (byte')[0]}"
    # Errors are raised outside of the handlers: a context that is merely suppressed still refers to the text.
    try:
        return list(read_documents(text))
    except YamlUnavailable as error:
        problem = problem or str(error)
    except YamlError as error:
        problem, line = _QUOTATION.sub(_conceal_quotation, str(error)), error.line
    except ValueError:  # a number of five thousand digits
        problem = "a value cannot be read"
    raise error_at(source, line, problem)


def _is_too_deep(value: Any) -> bool:
    """Return whether values are nested deeper than allowed in YAML: the code that reads them recurses."""
    level: list[Any] = [value]
    for _ in range(Document.MAX_DEPTH + 1):
        containers = [
            element.values() if is_object(element) else element
            for element in level
            if is_object(element) or is_list(element)
        ]
        if not containers:
            return False
        level = [element for container in containers for element in container]
    return True


def convert_located(value: Any, type_: Any, document: LocatedDocument, source: str) -> Any:
    """Return the value as this type; an error names the line."""
    try:
        return msgspec.convert(value, type_, strict=True)
    except msgspec.ValidationError as error:
        message = str(error)
    match = _MSGSPEC_ERROR.match(message)
    problem, path = (match[1], match[2]) if match else (message, "$")
    steps = [name or int(index) for name, index in _PATH_STEP.findall(path)]
    field = path.removeprefix("$").removeprefix(".")
    raise error_at(source, document.line_of(steps), f"{field}: {problem}" if field else problem)


def _decode_text(content: bytes, source: str) -> str:
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    # PowerShell writes UTF-16. Without a byte order mark, a leading ASCII character shows the byte order.
    if encoding == "utf-8" and content[:1] and content[1:2]:
        encoding = "utf-16-le" if not content[1] else "utf-16-be" if not content[0] else encoding
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    raise error_at(source, line, f"this is not {encoding[:6].upper().rstrip('-')}")


def _conceal_quotation(match: re.Match[str]) -> str:
    quotation = match[0]
    return quotation if len(quotation) < 4 or quotation[1] == "<" else CONCEALED


def _line_of_error(text: str, message: str) -> int:
    match = re.search(r"\(byte (\d+)\)", message)
    return text.encode().count(b"\n", 0, int(match[1])) + 1 if match else 1

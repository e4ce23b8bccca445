"""``{range .items[*]}{.metadata.name}{"\\n"}{end}``: the templates of kubectl's ``-o jsonpath``."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kubeproto.objects import JsonPath

_PART: Final = re.compile(r"\{((?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[^{}\"'])*)\}|([^{]+)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


class FixedText(NamedTuple):
    """Literal text."""

    text: str


class RangeLoop(NamedTuple):
    """A part that is written once for each value at a path."""

    path: JsonPath
    parts: tuple[TemplatePart, ...]


TemplatePart: TypeAlias = FixedText | JsonPath | RangeLoop


class Template(NamedTuple):
    """A template that was read: ``Template.parse(text).text(value)``."""

    parts: tuple[TemplatePart, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Read a template; a ValueError names the mistake."""
        stack: list[tuple[JsonPath | None, list[TemplatePart]]] = [(None, [])]
        at = 0
        while at < len(text):
            found = _PART.match(text, at)
            if found is None:
                raise ValueError(f"{text[at : at + 40]!r} has a brace without its partner")
            at = found.end()
            inner = found[1].strip() if found[1] is not None else ""
            if found[1] is None:
                stack[-1][1].append(FixedText(found[2]))
            elif inner.startswith("range "):
                stack.append((JsonPath.parse(inner.removeprefix("range ")), []))
            elif inner == "end":
                path, parts = stack.pop()
                if path is None:
                    raise ValueError("there is an {end} without its {range}")
                stack[-1][1].append(RangeLoop(path, tuple(parts)))
            elif inner[:1] in ('"', "'") and inner[-1:] == inner[:1]:
                stack[-1][1].append(FixedText(_unescaped(inner[1:-1])))
            else:
                stack[-1][1].append(JsonPath.parse(inner))
        if len(stack) > 1:
            raise ValueError("there is a {range} without its {end}")
        return cls(tuple(stack[0][1]))

    def text(self, value: Any) -> str:
        """Return the text for a value; several values of one path are separated by blanks."""
        return "".join(_written(part, value) for part in self.parts)


def plain_text(value: Any) -> str:
    """Return a value as kubectl writes it: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def _written(part: TemplatePart, value: Any) -> str:
    match part:
        case FixedText(text):
            return text
        case RangeLoop(path, parts):
            return "".join(_written(inner, one) for one in path.find(value) for inner in parts)
        case JsonPath():
            return " ".join(plain_text(one) for one in part.find(value))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)

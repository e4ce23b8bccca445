"""`JsonPath`: the paths of kubectl, of printer columns and of waits, such as ``.status.containers[0].image``.

It reads what Kubernetes reads: members, ``['quoted.members']``, indexes and slices, ``*``, unions, ``..`` and
filters by a single comparison. A missing member is not an error: it yields no value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ._json_values import is_list, is_object

_MEMBER: Final = r"\.(?P<name>(?:\\.|[^.\[\]\s\\'\"*{}()=<>!,?@])+)"
_NUMBER: Final = r"-?\d+"
_BRACKETS: Final = (
    rf"\[(?:(?P<slice>(?:{_NUMBER})?:(?:{_NUMBER})?(?::{_NUMBER})?)|(?P<star>\*)"
    rf"|(?P<indexes>{_NUMBER}(?:\s*,\s*{_NUMBER})*)"
    r"|(?P<quoted>(?:'[^']*'|\"[^\"]*\")(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"))*)"
    r"|\?\((?P<filter>(?:'[^']*'|\"[^\"]*\"|[^'\"])*?)\))\]"
)
_STEP: Final = rf"(?P<descend>\.\.)(?=[^.\s])|{_MEMBER}|(?P<dotstar>\.\*)|{_BRACKETS}"
_FILTER: Final = r"\s*@(?P<path>[^=<>!\s]*)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<constant>.+?))?\s*"
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_WORDS: Final = {"true": True, "false": False, "null": None}
_MAX_PATH: Final = 4096


class MemberStep(Struct, frozen=True):
    """The members of these names."""

    names: tuple[str, ...]


class IndexStep(Struct, frozen=True):
    """The elements of these indexes; negative indexes count from the end."""

    indexes: tuple[int, ...]


class SliceStep(Struct, frozen=True):
    """The elements of a range of indexes."""

    start: int | None
    stop: int | None
    step: int | None


class WildcardStep(Struct, frozen=True):
    """All members, or all elements."""


class DescentStep(Struct, frozen=True):
    """The value itself and everything in it."""


class FilterStep(Struct, frozen=True):
    """The elements for which a comparison holds; without an operator, those that have the path."""

    path: JsonPath
    operator: str
    constant: Any


JsonStep: TypeAlias = MemberStep | IndexStep | SliceStep | WildcardStep | DescentStep | FilterStep


class JsonPath(Struct, frozen=True):
    """A path into JSON. ``JsonPath.parse("{.status.phase}").find(value)`` returns all values at the path."""

    text: str
    steps: tuple[JsonStep, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Read a path, with or without braces and the first dot; a ValueError names the mistake."""
        inner = text.strip()
        if len(inner) > _MAX_PATH:
            raise ValueError(f"a JSONPath of {len(inner)} characters is over the limit of {_MAX_PATH}")
        if inner.startswith("{") and inner.endswith("}"):
            inner = inner[1:-1].strip()
        inner = inner.removeprefix("$")
        if inner in ("", "."):
            return cls(text, ())
        if inner[0] not in ".[":
            inner = f".{inner}"
        steps: list[JsonStep] = []
        offset, pattern = 0, re.compile(_STEP)
        while offset < len(inner):
            match = pattern.match(inner, offset)
            if match is None:
                invalid = inner[offset : offset + 40]
                raise ValueError(f"{text!r} is not a JSONPath: {invalid!r} cannot be read")
            if match["descend"]:
                steps.append(DescentStep())
                # The second dot belongs to the next member.
                offset = match.end() - (inner[match.end()] != "[")
                continue
            steps.append(_parse_step(match))
            offset = match.end()
        return cls(text, tuple(steps))

    def find(self, value: Any) -> list[Any]:
        """Return all values at the path, in the order of the document; none if there are none."""
        values = [value]
        for step in self.steps:
            values = [result for parent in values for result in _select(step, parent)]
        return values


def _parse_step(match: re.Match[str]) -> JsonStep:
    if (name := match["name"]) is not None:
        return MemberStep((re.sub(r"\\(.)", r"\1", name),))
    if match["star"] or match["dotstar"]:
        return WildcardStep()
    if (indexes := match["indexes"]) is not None:
        return IndexStep(tuple(int(text) for text in indexes.split(",")))
    if (names := match["quoted"]) is not None:
        return MemberStep(tuple(text[1:-1] for text in re.findall(r"'[^']*'|\"[^\"]*\"", names)))
    if (bounds := match["slice"]) is not None:
        ends = [int(text) if text else None for text in bounds.split(":")]
        return SliceStep(ends[0], ends[1], ends[2] if len(ends) > 2 else None)
    return _parse_filter(match["filter"])


def _parse_filter(text: str) -> FilterStep:
    match = re.fullmatch(_FILTER, text)
    if match is None:
        raise ValueError(f"{text!r} is not a filter: expected @.name==value")
    path = JsonPath.parse(match["path"] or ".")
    return FilterStep(path, match["op"] or "", _parse_constant(match["constant"]) if match["op"] else None)


def _parse_constant(text: str) -> Any:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number, true, false or a quoted string") from None


def _select(step: JsonStep, value: Any) -> Iterable[Any]:
    match step:
        case MemberStep(names):
            return [value[name] for name in names if name in value] if is_object(value) else ()
        case IndexStep(indexes) if is_list(value):
            return [value[index] for index in indexes if -len(value) <= index < len(value)]
        case SliceStep(start, stop, stride) if is_list(value) and stride != 0:
            return value[start:stop:stride]
        case WildcardStep():
            return _children(value)
        case DescentStep():
            return _descend(value)
        case FilterStep():
            return [element for element in _children(value) if _matches_filter(step, element)]
        case _:
            return ()


def _children(value: Any) -> Iterable[Any]:
    if is_object(value):
        return list(value.values())
    return value if is_list(value) else ()


def _descend(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        current = pending.pop()
        yield current
        pending += reversed(list(_children(current)))


def _matches_filter(step: FilterStep, value: Any) -> bool:
    values = step.path.find(value)
    if not values or not step.operator:
        return bool(values)
    try:
        return _OPERATORS[step.operator](values[0], step.constant)
    except TypeError:  # a string cannot be compared with a number
        return False

"""`JsonPath`: the paths of kubectl, of printer columns and of waits, such as ``.status.containers[0].image``.

It reads what Kubernetes reads: members, ``['quoted.members']``, indexes and slices, ``*``, unions, ``..`` and
filters by one comparison. A missing member is not an error: nothing is found there.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ._pointers import is_list, is_object

_MEMBER: Final = r"\.(?P<name>(?:\\.|[^.\[\]\s\\'\"*{}()=<>!,?@])+)"
_NUMBER: Final = r"-?\d+"
_BRACKETS: Final = (
    rf"\[(?:(?P<slice>(?:{_NUMBER})?:(?:{_NUMBER})?(?::{_NUMBER})?)|(?P<star>\*)"
    rf"|(?P<indexes>{_NUMBER}(?:\s*,\s*{_NUMBER})*)"
    r"|(?P<quoted>(?:'[^']*'|\"[^\"]*\")(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"))*)"
    r"|\?\((?P<filter>(?:'[^']*'|\"[^\"]*\"|[^'\"])*?)\))\]"
)
_STEP: Final = rf"(?P<descend>\.\.)(?=[^.\s])|{_MEMBER}|(?P<dotstar>\.\*)|{_BRACKETS}"
_FILTER: Final = r"\s*@(?P<left>[^=<>!\s]*)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>.+?))?\s*"
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_WORDS: Final = {"true": True, "false": False, "null": None}
_LONGEST: Final = 4096


class MemberStep(Struct, frozen=True):
    """The members of these names."""

    names: tuple[str, ...]


class IndexStep(Struct, frozen=True):
    """The elements of these indexes; negative ones count from the end."""

    indexes: tuple[int, ...]


class SliceStep(Struct, frozen=True):
    """The elements from one index to another."""

    start: int | None
    stop: int | None
    step: int | None


class WildcardStep(Struct, frozen=True):
    """All members, or all elements."""


class DescentStep(Struct, frozen=True):
    """The value itself and everything in it."""


class FilterStep(Struct, frozen=True):
    """The elements for which a comparison holds; without an operator, those that have the path."""

    left: JsonPath
    operator: str
    right: Any


JsonStep: TypeAlias = MemberStep | IndexStep | SliceStep | WildcardStep | DescentStep | FilterStep


class JsonPath(Struct, frozen=True):
    """A path into JSON. ``JsonPath.parse("{.status.phase}").find(value)`` returns all values at the path."""

    text: str
    steps: tuple[JsonStep, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Read a path, with or without braces and the first dot; a ValueError names the mistake."""
        inner = text.strip()
        if len(inner) > _LONGEST:
            raise ValueError(f"a path of {len(inner)} characters is longer than any that is meant")
        if inner.startswith("{") and inner.endswith("}"):
            inner = inner[1:-1].strip()
        inner = inner.removeprefix("$")
        if inner in ("", "."):
            return cls(text, ())
        if inner[0] not in ".[":
            inner = f".{inner}"
        steps: list[JsonStep] = []
        at, pattern = 0, re.compile(_STEP)
        while at < len(inner):
            found = pattern.match(inner, at)
            if found is None:
                raise ValueError(f"{text!r} is not a JSONPath: {inner[at : at + 40]!r} cannot be read")
            if found["descend"]:
                steps.append(DescentStep())
                at = found.end() - (inner[found.end()] != "[")  # the second dot belongs to the next member
                continue
            steps.append(_step(found))
            at = found.end()
        return cls(text, tuple(steps))

    def find(self, value: Any) -> list[Any]:
        """Return all values at the path, in the order of the document; none if there are none."""
        found = [value]
        for step in self.steps:
            found = [one for each in found for one in _select(step, each)]
        return found


def _step(found: re.Match[str]) -> JsonStep:
    if (name := found["name"]) is not None:
        return MemberStep((re.sub(r"\\(.)", r"\1", name),))
    if found["star"] or found["dotstar"]:
        return WildcardStep()
    if (indexes := found["indexes"]) is not None:
        return IndexStep(tuple(int(word) for word in indexes.split(",")))
    if (quoted := found["quoted"]) is not None:
        return MemberStep(tuple(word[1:-1] for word in re.findall(r"'[^']*'|\"[^\"]*\"", quoted)))
    if (sliced := found["slice"]) is not None:
        ends = [int(word) if word else None for word in sliced.split(":")]
        return SliceStep(ends[0], ends[1], ends[2] if len(ends) > 2 else None)
    return _filter(found["filter"])


def _filter(text: str) -> FilterStep:
    found = re.fullmatch(_FILTER, text)
    if found is None:
        raise ValueError(f"{text!r} is not a filter: expected @.name==value")
    left = JsonPath.parse(found["left"] or ".")
    return FilterStep(left, found["op"] or "", _constant(found["right"]) if found["op"] else None)


def _constant(text: str) -> Any:
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
            return _inside(value)
        case DescentStep():
            return _descend(value)
        case FilterStep():
            return [one for one in _inside(value) if _holds(step, one)]
        case _:
            return ()


def _inside(value: Any) -> Iterable[Any]:
    if is_object(value):
        return list(value.values())
    return value if is_list(value) else ()


def _descend(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(list(_inside(one)))


def _holds(step: FilterStep, value: Any) -> bool:
    found = step.left.find(value)
    if not found or not step.operator:
        return bool(found)
    try:
        return _OPERATORS[step.operator](found[0], step.right)
    except TypeError:  # a string cannot be compared with a number
        return False

"""Explores a kind on a real server: adds each optional part to an object, and notes what comes back.

Every request is a dry run. What a server refuses is mended by what it says: a part that it requires is added,
a value that it does not like is replaced by the next candidate, alternatives are tried one without the other.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any, Final

from kubeproto.kinds import FieldFacts, table
from kubeproto.objects import is_object
from tools.probing.candidates import struct, values
from tools.probing.notes import Notes, text_of

Json = dict[str, Any]
Ask = Callable[[Json], tuple[int, Json]]
Path = tuple[str | int, ...]

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_MENDS: Final = 8
_LEFT_OUT: Final = ("metadata", "status", "apiVersion", "kind")
_BAD_TEXTS: Final = ("Bad Value!", "-", "x" * 300, "")
_BAD_NUMBERS: Final = (-1, 0, 65536, 2**31 - 1)


class Explorer:
    """Explores one kind. `explored` are the types that need no second look."""

    def __init__(self, ask: Ask, type_: str, notes: Notes, explored: set[str]) -> None:
        self._ask = ask
        self._type = type_
        self._notes = notes
        self._explored = explored

    def run(self, base: Json) -> None:
        """Explore all that a minimal object may have."""
        if self._try(base) is not None:
            self._explore(base, (), self._type, 0)

    def _try(self, obj: Json) -> Json | None:
        code, body = self._ask(obj)
        if code != 201:
            return None
        self._notes.accepted(self._type, obj, body)
        return body

    def _explore(self, base: Json, path: Path, type_: str, depth: int) -> None:
        first = type_ not in self._explored
        if depth > 9 or (not first and depth > 3):
            return
        self._explored.add(type_)
        for name, field in table().types[type_].fields.items():
            if (not path and name in _LEFT_OUT) or field.type.startswith("schema-") or field.type == type_:
                continue
            at = (*path, name)
            held = _at(base, path).get(name)
            self._without(base, path, type_, name)
            obj = base
            if held is None:
                made = self._add(base, path, type_, name, field)
                if made is None:
                    continue
                obj = made
            if "." in field.type:
                inner, below = _first(_at(obj, at), at, field)
                if inner is not None and field.type != "meta_v1.ObjectMeta":
                    self._explore(obj, below, field.type, depth + 1)
            elif first:
                self._spoil(obj, at, type_, name, field)

    def _without(self, base: Json, path: Path, type_: str, name: str) -> None:
        """What a server says when a field that is there is not."""
        obj = copy.deepcopy(base)
        if _at(obj, path).pop(name, None) is None:
            return
        code, body = self._ask(obj)
        if code == 201:
            self._notes.accepted(self._type, obj, body)
        self._notes.refused(type_, name, None, text_of((*path, name)), code, body)

    def _add(self, base: Json, path: Path, type_: str, name: str, field: FieldFacts) -> Json | None:
        kept: Json | None = None
        for value in values(name, field):
            obj = copy.deepcopy(base)
            _at(obj, path)[name] = copy.deepcopy(value)
            made = self._mended(obj, (*path, name))
            if made is None and path:
                made = self._alone(base, path, type_, name, value)
            if made is not None:
                kept = kept or made
                if not field.enum and "." not in field.type and name != "type":
                    break
        return kept

    def _alone(self, base: Json, path: Path, type_: str, name: str, value: Any) -> Json | None:
        """The same without the alternatives that stand beside it."""
        obj = copy.deepcopy(base)
        least: Json = struct(type_, 2)
        old = _at(obj, path)
        for other in list(old):
            if other not in least:
                del old[other]
        old[name] = copy.deepcopy(value)
        return self._mended(obj, (*path, name))

    def _mended(self, obj: Json, kept: Path) -> Json | None:
        """The object as a server takes it, mended if need be; None if that does not work."""
        tried: dict[str, int] = {}
        for _ in range(_MENDS):
            code, body = self._ask(obj)
            if code == 201:
                self._notes.accepted(self._type, obj, body)
                return obj
            details: Json = body.get("details") or {}
            causes: list[Json] = details.get("causes") or []
            if code != 422 or not any(self._mend(obj, cause, kept, tried) for cause in causes):
                return None
        return None

    def _mend(self, obj: Json, cause: Json, kept: Path, tried: dict[str, int]) -> bool:
        where = cause.get("field", "")
        steps: Path = tuple(int(key) if key.isdigit() else key or word for word, key in _STEP.findall(where))
        if not steps or steps[: len(kept)] != kept[: len(steps)] or len(steps) < len(kept):
            return False
        field = self._field(steps)
        if field is None:
            return False
        name = str(steps[-1])
        number = tried[where] = tried.get(where, -1) + 1
        found = values(name, field)
        if number >= len(found):
            return False
        try:
            _at(obj, steps[:-1])[name] = copy.deepcopy(found[number])
        except (KeyError, TypeError, IndexError, AttributeError):
            return False
        return True

    def _field(self, steps: Path) -> FieldFacts | None:
        type_, field = self._type, None
        for step in steps:
            if isinstance(step, int):
                continue
            found = table().types.get(type_)
            field = found.fields.get(step) if found else None
            if field is None:
                return None
            type_ = field.type
        return field

    def _spoil(self, obj: Json, at: Path, type_: str, name: str, field: FieldFacts) -> None:
        """Values that may be wrong, or empty, in the place of one that is right."""
        bad: tuple[Any, ...] = ()
        match field.type:
            case "string":
                bad = _BAD_TEXTS
            case "integer":
                bad = _BAD_NUMBERS
            case "boolean":
                bad = (False,)
            case "int-or-string":
                bad = (-1, 0, "x%", "200%", 70000)
            case "quantity":
                bad = ("-1", "0")
            case _:
                pass
        if field.form and field.form != ("list",):
            bad = ()
        for value in bad:
            spoilt = copy.deepcopy(obj)
            whole: Any = [value] if field.form else value
            _at(spoilt, at[:-1])[name] = whole
            code, body = self._ask(spoilt)
            if code == 201:
                self._notes.accepted(self._type, spoilt, body)
            where = text_of((*at, 0) if field.form else at)
            self._notes.refused(type_, name, value, where, code, body)
        if field.form:
            empty = copy.deepcopy(obj)
            _at(empty, at[:-1])[name] = [] if field.form[0] == "list" else {}
            code, body = self._ask(empty)
            if code == 201:
                self._notes.accepted(self._type, empty, body)
            self._notes.refused(type_, name, None, text_of(at), code, body)


def _at(obj: Any, path: Path) -> Any:
    for step in path:
        obj = obj[step]
    return obj


def _first(value: Any, at: Path, field: FieldFacts) -> tuple[Any, Path]:
    """The first struct in a field, and where it is."""
    for form in field.form:
        if not value:
            return None, at
        key: str | int = 0 if form == "list" else next(iter(value))
        value, at = value[key], (*at, key)
    return value if is_object(value) else None, at

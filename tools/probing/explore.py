"""Explores a kind on a real server: adds each optional field to an object, and records the responses.

Every request is a dry run. A rejected object is repaired according to the causes in the response: a required
field is added, a rejected value is replaced by the next candidate, and alternatives are tried separately.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any, Final

from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import is_object
from tools.probing.candidates import struct, values
from tools.probing.notes import Observations, format_path

Json = dict[str, Any]
Ask = Callable[[Json], tuple[int, Json]]
Path = tuple[str | int, ...]

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_MAX_REPAIRS: Final = 8
_SKIPPED: Final = ("metadata", "status", "apiVersion", "kind")
_BAD_TEXTS: Final = ("Bad Value!", "-", "x" * 300, "")
_BAD_NUMBERS: Final = (-1, 0, 65536, 2**31 - 1)


class Explorer:
    """Explores one kind. `explored` contains the types that need no second exploration."""

    def __init__(self, ask: Ask, type_: str, observations: Observations, explored: set[str]) -> None:
        self._ask = ask
        self._type = type_
        self._observations = observations
        self._explored_types = explored

    def run(self, base: Json) -> None:
        """Explore all fields of a kind, from a minimal object."""
        if self._try(base) is not None:
            self._explore(base, (), self._type, 0)

    def _try(self, obj: Json) -> Json | None:
        code, body = self._ask(obj)
        if code != 201:
            return None
        self._observations.record_accepted(self._type, obj, body)
        return body

    def _explore(self, base: Json, path: Path, type_: str, depth: int) -> None:
        is_first_visit = type_ not in self._explored_types
        if depth > 9 or (not is_first_visit and depth > 3):
            return
        self._explored_types.add(type_)
        for name, field in kind_table().types[type_].fields.items():
            if (not path and name in _SKIPPED) or field.type.startswith("schema-") or field.type == type_:
                continue
            field_path = (*path, name)
            present = _value_at(base, path).get(name)
            self._without(base, path, type_, name)
            obj = base
            if present is None:
                extended = self._add(base, path, type_, name, field)
                if extended is None:
                    continue
                obj = extended
            if "." in field.type:
                inner, inner_path = _first(_value_at(obj, field_path), field_path, field)
                if inner is not None and field.type != "meta_v1.ObjectMeta":
                    self._explore(obj, inner_path, field.type, depth + 1)
            elif is_first_visit:
                self._try_bad_values(obj, field_path, type_, name, field)

    def _without(self, base: Json, path: Path, type_: str, name: str) -> None:
        """Record the response to an object without one of its fields."""
        obj = copy.deepcopy(base)
        if _value_at(obj, path).pop(name, None) is None:
            return
        code, body = self._ask(obj)
        if code == 201:
            self._observations.record_accepted(self._type, obj, body)
        self._observations.record_response(type_, name, None, format_path((*path, name)), code, body)

    def _add(self, base: Json, path: Path, type_: str, name: str, field: BuiltinField) -> Json | None:
        first_accepted: Json | None = None
        for value in values(name, field):
            obj = copy.deepcopy(base)
            _value_at(obj, path)[name] = copy.deepcopy(value)
            accepted = self._repaired(obj, (*path, name))
            if accepted is None and path:
                accepted = self._without_siblings(base, path, type_, name, value)
            if accepted is not None:
                first_accepted = first_accepted or accepted
                if not field.enum and "." not in field.type and name != "type":
                    break
        return first_accepted

    def _without_siblings(self, base: Json, path: Path, type_: str, name: str, value: Any) -> Json | None:
        """Try a value without the optional fields beside it."""
        obj = copy.deepcopy(base)
        minimal_struct: Json = struct(type_, 2)
        old = _value_at(obj, path)
        for other in list(old):
            if other not in minimal_struct:
                del old[other]
        old[name] = copy.deepcopy(value)
        return self._repaired(obj, (*path, name))

    def _repaired(self, obj: Json, protected_path: Path) -> Json | None:
        """Return the object after repairs that make a server accept it; None if there are none."""
        tried: dict[str, int] = {}
        for _ in range(_MAX_REPAIRS):
            code, body = self._ask(obj)
            if code == 201:
                self._observations.record_accepted(self._type, obj, body)
                return obj
            details: Json = body.get("details") or {}
            causes: list[Json] = details.get("causes") or []
            if code != 422 or not any(self._repair(obj, cause, protected_path, tried) for cause in causes):
                return None
        return None

    def _repair(self, obj: Json, cause: Json, protected_path: Path, tried: dict[str, int]) -> bool:
        field_text = cause.get("field", "")
        steps: Path = tuple(
            int(key) if key.isdigit() else key or name for name, key in _STEP.findall(field_text)
        )
        if (
            not steps
            or steps[: len(protected_path)] != protected_path[: len(steps)]
            or len(steps) < len(protected_path)
        ):
            return False
        field = self._field(steps)
        if field is None:
            return False
        name = str(steps[-1])
        attempt = tried[field_text] = tried.get(field_text, -1) + 1
        candidates = values(name, field)
        if attempt >= len(candidates):
            return False
        try:
            _value_at(obj, steps[:-1])[name] = copy.deepcopy(candidates[attempt])
        except (KeyError, TypeError, IndexError, AttributeError):
            return False
        return True

    def _field(self, steps: Path) -> BuiltinField | None:
        type_, field = self._type, None
        for step in steps:
            if isinstance(step, int):
                continue
            builtin_type = kind_table().types.get(type_)
            field = builtin_type.fields.get(step) if builtin_type else None
            if field is None:
                return None
            type_ = field.type
        return field

    def _try_bad_values(
        self, obj: Json, field_path: Path, type_: str, name: str, field: BuiltinField
    ) -> None:
        """Record the responses to values that may be invalid, and to empty values."""
        bad_values: tuple[Any, ...] = ()
        match field.type:
            case "string":
                bad_values = _BAD_TEXTS
            case "integer":
                bad_values = _BAD_NUMBERS
            case "boolean":
                bad_values = (False,)
            case "int-or-string":
                bad_values = (-1, 0, "x%", "200%", 70000)
            case "quantity":
                bad_values = ("-1", "0")
            case _:
                pass
        if field.form and field.form != ("list",):
            bad_values = ()
        for value in bad_values:
            changed = copy.deepcopy(obj)
            new_value: Any = [value] if field.form else value
            _value_at(changed, field_path[:-1])[name] = new_value
            code, body = self._ask(changed)
            if code == 201:
                self._observations.record_accepted(self._type, changed, body)
            value_path = format_path((*field_path, 0) if field.form else field_path)
            self._observations.record_response(type_, name, value, value_path, code, body)
        if field.form:
            empty = copy.deepcopy(obj)
            _value_at(empty, field_path[:-1])[name] = [] if field.form[0] == "list" else {}
            code, body = self._ask(empty)
            if code == 201:
                self._observations.record_accepted(self._type, empty, body)
            self._observations.record_response(type_, name, None, format_path(field_path), code, body)


def _value_at(obj: Any, path: Path) -> Any:
    for step in path:
        obj = obj[step]
    return obj


def _first(value: Any, path: Path, field: BuiltinField) -> tuple[Any, Path]:
    """Return the first struct in a field, and its path."""
    for form in field.form:
        if not value:
            return None, path
        key: str | int = 0 if form == "list" else next(iter(value))
        value, path = value[key], (*path, key)
    return value if is_object(value) else None, path

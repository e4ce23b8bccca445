"""The observed behaviour of a real server for the fields of built-in kinds (builtin.json), and the defaults.

``make probe`` generates the table from the responses of a real server. It is read when the first object of a
built-in kind is written.
"""

from __future__ import annotations

import functools
import pkgutil
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.kinds import kind_table
from kubeproto.objects import is_list, is_object

Json = dict[str, Any]
_KIND: Final = "<kind>"
_encode: Final = msgspec.json.Encoder().encode


class BuiltinRule(Struct, frozen=True):
    """The rules of a field."""

    required: str | None = None
    enum: list[str] | None = None
    ranges: list[tuple[int | None, int | None, str]] = []
    format: tuple[str, str] | None = None


class BuiltinTable(Struct, frozen=True):
    """The table, by type and field.

    A default is a list with a single value, or the name of a neighbour field and a default for each of its
    values; the neighbour ``<kind>`` is the type of the root object. `zeros` tells whether an empty value is
    stored, and `nulls` lists the fields that are written as null when they are missing.
    """

    generated: str
    defaults: dict[str, dict[str, list[Any]]]
    rules: dict[str, dict[str, BuiltinRule]]
    zeros: dict[str, dict[str, bool]]
    orders: dict[str, list[str]]
    nulls: dict[str, list[str]]


@functools.cache
def built_in() -> BuiltinTable:
    """Return the table."""
    data = pkgutil.get_data("kubeproto_sim.kinds", "builtin.json")
    if data is None:
        raise RuntimeError("kubeproto_sim was installed without its builtin.json")
    return msgspec.json.decode(data, type=BuiltinTable)


class _Plan(Struct):
    constants: list[tuple[str, bytes]]
    cases: list[tuple[str, str, dict[str, bytes]]]
    nested: list[tuple[str, tuple[str, ...], str]]
    always: list[tuple[str, str]]  # structs without a pointer in Go, which always exist


@functools.cache
def has_defaults(type_: str) -> bool:
    """Return whether a type or a nested type has defaults."""
    return _reaches(type_, frozenset(built_in().defaults), set())


def _reaches(type_: str, targets: frozenset[str], visited: set[str]) -> bool:
    if type_ in targets:
        return True
    visited.add(type_)
    type_facts = kind_table().types.get(type_)
    field_types = (
        {field.type for field in type_facts.fields.values() if "." in field.type}
        if type_facts
        else set[str]()
    )
    return any(_reaches(field_type, targets, visited) for field_type in sorted(field_types - visited))


@functools.cache
def _plan(type_: str) -> _Plan:
    rules = built_in().defaults.get(type_, {})
    type_facts = kind_table().types.get(type_)
    plan = _Plan([], [], [], [])
    for name, rule in rules.items():
        if len(rule) == 1:
            plan.constants.append((name, _encode(rule[0])))
        else:
            plan.cases.append((name, rule[0], {key: _encode(value) for key, value in rule[1].items()}))
    for name, field in type_facts.fields.items() if type_facts else ():
        if "." in field.type and field.type != "meta_v1.ObjectMeta" and has_defaults(field.type):
            plan.nested.append((name, field.form, field.type))
            if field.default == {} and not field.form and name != "status":
                plan.always.append((name, field.type))
    return plan


def fill(type_: str, obj: Json, root: str = "") -> None:
    """Set the defaults of missing fields, in place."""
    root = root or type_
    plan = _plan(type_)
    for name, value in plan.constants:
        if name not in obj and not (root == type_ and name in ("spec", "status")):
            obj[name] = msgspec.json.decode(value)
    for name, neighbour, cases in plan.cases:
        if name not in obj:
            key = root if neighbour == _KIND else _encode(obj.get(neighbour, "<missing>")).decode()
            key = "null" if key == '"<missing>"' else key
            if (case := cases.get(key)) is not None:
                obj[name] = msgspec.json.decode(case)
    for name, form, field_type in plan.nested:
        if (content := obj.get(name)) is not None:
            _fill_nested(field_type, content, form, root)
    for name, field_type in plan.always:
        if name not in obj:
            filled: Json = {}
            fill(field_type, filled, root)
            if filled:
                obj[name] = filled


def _fill_nested(type_: str, value: Any, form: tuple[str, ...], root: str) -> None:
    if not form:
        if is_object(value):
            fill(type_, value, root)
    elif form[0] == "list":
        for element in value if is_list(value) else ():
            _fill_nested(type_, element, form[1:], root)
    else:
        for element in value.values() if is_object(value) else ():
            _fill_nested(type_, element, form[1:], root)

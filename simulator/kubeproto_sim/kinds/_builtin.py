"""What a real server was observed to do with the fields of built-in kinds: the table in builtin.json.

``make probe`` writes it, by asking a real server; nothing in it is written by hand. It is read when the first
object of a built-in kind is written.
"""

from __future__ import annotations

import functools
import pkgutil
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.kinds import table

from ..storage._json_values import is_list, is_map

Json = dict[str, Any]
_KIND: Final = "<kind>"
_encode: Final = msgspec.json.Encoder().encode


class BuiltinRule(Struct, frozen=True):
    """The rules of one field."""

    required: str | None = None
    enum: list[str] | None = None
    ranges: list[tuple[int | None, int | None, str]] = []
    format: tuple[str, str] | None = None


class BuiltIn(Struct, frozen=True):
    """The table, by type and field.

    A default is a list of one value, or the name of a neighbour and a value for each value of that; the
    neighbour ``<kind>`` is the type of the whole object. `zeros` says whether an empty value is kept, and
    `nulls` which fields are written as null when they are missing.
    """

    generated: str
    defaults: dict[str, dict[str, list[Any]]]
    rules: dict[str, dict[str, BuiltinRule]]
    zeros: dict[str, dict[str, bool]]
    orders: dict[str, list[str]]
    nulls: dict[str, list[str]]


@functools.cache
def built_in() -> BuiltIn:
    """Return the table of what a real server does with built-in kinds."""
    data = pkgutil.get_data("kubeproto_sim.kinds", "builtin.json")
    if data is None:
        raise RuntimeError("kubeproto_sim was installed without its builtin.json")
    return msgspec.json.decode(data, type=BuiltIn)


class _Plan(Struct):
    constants: list[tuple[str, bytes]]
    cases: list[tuple[str, str, dict[str, bytes]]]
    below: list[tuple[str, tuple[str, ...], str]]
    always: list[tuple[str, str]]  # structs that Go has whether they were sent or not


@functools.cache
def has_defaults(type_: str) -> bool:
    """Return whether a type, or any below it, has defaults."""
    return _reaches(type_, frozenset(built_in().defaults), set())


def _reaches(type_: str, wanted: frozenset[str], seen: set[str]) -> bool:
    if type_ in wanted:
        return True
    seen.add(type_)
    facts = table().types.get(type_)
    below = {field.type for field in facts.fields.values() if "." in field.type} if facts else set[str]()
    return any(_reaches(one, wanted, seen) for one in sorted(below - seen))


@functools.cache
def _plan(type_: str) -> _Plan:
    own = built_in().defaults.get(type_, {})
    facts = table().types.get(type_)
    plan = _Plan([], [], [], [])
    for name, rule in own.items():
        if len(rule) == 1:
            plan.constants.append((name, _encode(rule[0])))
        else:
            plan.cases.append((name, rule[0], {key: _encode(value) for key, value in rule[1].items()}))
    for name, field in facts.fields.items() if facts else ():
        if "." in field.type and field.type != "meta_v1.ObjectMeta" and has_defaults(field.type):
            plan.below.append((name, field.form, field.type))
            if field.default == {} and not field.form and name != "status":
                plan.always.append((name, field.type))
    return plan


def fill(type_: str, obj: Json, root: str = "") -> None:
    """Fill in what an object of a type leaves out, in place."""
    root = root or type_
    plan = _plan(type_)
    for name, value in plan.constants:
        if name not in obj and not (root == type_ and name in ("spec", "status")):
            obj[name] = msgspec.json.decode(value)
    for name, by, cases in plan.cases:
        if name not in obj:
            key = root if by == _KIND else _encode(obj.get(by, "<missing>")).decode()
            key = "null" if key == '"<missing>"' else key
            if (case := cases.get(key)) is not None:
                obj[name] = msgspec.json.decode(case)
    for name, form, below in plan.below:
        if (held := obj.get(name)) is not None:
            _fill_below(below, held, form, root)
    for name, below in plan.always:
        if name not in obj:
            made: Json = {}
            fill(below, made, root)
            if made:
                obj[name] = made


def _fill_below(type_: str, value: Any, form: tuple[str, ...], root: str) -> None:
    if not form:
        if is_map(value):
            fill(type_, value, root)
    elif form[0] == "list":
        for one in value if is_list(value) else ():
            _fill_below(type_, one, form[1:], root)
    else:
        for one in value.values() if is_map(value) else ():
            _fill_below(type_, one, form[1:], root)

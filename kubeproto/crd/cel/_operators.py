"""What the operators mean for values whose schema is known: ``==``, ``in``, ``+``; what may be compared."""

from __future__ import annotations

from typing import Any

import msgspec

from ._forms import OPEN, UNKNOWN, Form, comparable, either, of_list
from ._macros import OWN
from ._syntax import Binary, Call, Literal, Name, Node, Unary, write
from ._values import holds_map_lists

Rewritten = tuple[Node, Form]
"""An expression as the library takes it, and the form of its value."""


class RefusedRule(ValueError):
    """A rule that a server refuses with the definition; the message says why."""


class Undecided(ValueError):
    """A rule that a server may evaluate, and this package cannot."""


def check_condition(form: Form, node: Node) -> None:
    """Refuse a condition that cannot be a boolean."""
    if form.kind not in ("", "boolean"):
        raise RefusedRule(f"{write(node)} is of type {form.kind}: neither true nor false")


def check_comparable(node: Binary, one: Form, other: Form, *, ordered: bool) -> None:
    """Refuse to compare two types that a server's type checker does not compare."""
    if not comparable(one, other, ordered=ordered):
        shown = [
            write(side) if isinstance(side, Literal) else form.kind
            for side, form in ((node.left, one), (node.right, other))
        ]
        raise RefusedRule(f"it compares {shown[0]} with {shown[1]}")


def equality(node: Binary, one: Form, other: Form, *, guarded: bool) -> Node:
    """Return ``==`` or ``!=`` as the schema of its left side means it."""
    if one.mixed:
        raise Undecided("== ignores the order of lists of the types set and map, and where is not known here")
    if one.optional and one.merges:
        raise Undecided("== of optional values that hold lists of the types set and map is not known here")
    if guarded and not (one.kind and one.kind not in ("array", "object")):
        raise Undecided("== of objects or lists that hold a whole number as a float is not known here")
    if not one.merges:
        return node
    # The left side decides what is equal. Elements of map lists are matched by key only in stored lists.
    if holds_map_lists(one.schema) and other.schema != one.schema:
        raise Undecided("== of a list of type map and one that is not stored is not known here")
    same = Call(f"{OWN}same", None, (_json(one.schema), node.left, node.right))
    return same if node.operator == "==" else Unary("!", same)


def contained(node: Binary, one: Form, other: Form, *, guarded: bool) -> Node:
    """Return ``in`` as the schema of the elements means it."""
    items = other.items if other.kind == "array" else UNKNOWN if other.mixed else OPEN
    if not items.merges:
        check_elements(Form(mixed=items.mixed))
        return node
    element = Name(f"{OWN}element")
    same = equality(Binary("==", element, node.left), items, one, guarded=guarded)
    return Call("exists", node.right, (element, same))


def merged_sum(node: Binary, one: Form, other: Form) -> Rewritten:
    """Return ``+``, which merges lists of the types set and map, and the form of its value."""
    if one.mixed and one.kind in ("", "array"):
        raise Undecided("+ merges lists of the types set and map, and where is not known here")
    match one.schema.get("x-kubernetes-list-type") if one.schema is not None else None:
        case "set":
            return Call(f"{OWN}union", None, (node.left, node.right)), one
        case "map" if other.schema == one.schema:
            keys = _json(one.schema["x-kubernetes-list-map-keys"] if one.schema else [])
            return Call(f"{OWN}merged", None, (keys, node.left, node.right)), one
        case "map":
            raise Undecided("+ of a list of type map and one that is not stored is not known here")
        case _:
            kind = one.kind or other.kind
            return node, of_list(either(one.items, other.items)) if kind == "array" else Form(kind)


def check_elements(form: Form) -> None:
    """Refuse to compare elements whose equality differs from that of their JSON."""
    if form.mixed or form.items.mixed or form.items.merges:
        raise Undecided("elements that hold lists of the types set and map are not compared here")


def _json(value: Any) -> Literal:
    """Return an expression that gives the JSON of a value."""
    return Literal(msgspec.json.encode(msgspec.json.encode(value).decode()).decode(), "string")

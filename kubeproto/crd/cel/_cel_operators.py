"""The operators ``==``, ``in`` and ``+`` as the schemas of their operands define them, and type checks."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ._cel_syntax import Binary, Call, Literal, Name, Node, Unary, write
from ._cel_types import (
    DYNAMIC,
    MAYBE_ASSOCIATIVE,
    CelType,
    are_comparable,
    common_type,
    list_of,
)
from ._cel_values import has_map_lists

# The prefix of functions and variables that rewriting adds; no rule may use such names.
PREFIX: Final = "kp_"

TypedNode = tuple[Node, CelType]
"""An expression for the library, and its type."""


class RefusedRule(ValueError):
    """A server refuses a definition with this rule; the message gives the reason."""


class UnsupportedRule(ValueError):
    """A server may evaluate this rule, and this package cannot."""


def check_condition(type_: CelType, node: Node) -> None:
    """Refuse a condition that cannot be a boolean."""
    if type_.kind not in ("", "boolean"):
        raise RefusedRule(f"{write(node)} is of type {type_.kind}, not a boolean")


def check_comparable(node: Binary, left: CelType, right: CelType, *, ordered: bool) -> None:
    """Refuse a comparison of two types that a server's type checker does not allow."""
    if not are_comparable(left, right, ordered=ordered):
        left_name, right_name = (
            write(operand) if isinstance(operand, Literal) else type_.kind
            for operand, type_ in ((node.left, left), (node.right, right))
        )
        raise RefusedRule(f"it compares {left_name} with {right_name}")


def rewrite_equality(node: Binary, left: CelType, right: CelType, *, guarded: bool) -> Node:
    """Return ``==`` or ``!=`` as the schema of the left operand defines it."""
    if left.maybe_associative:
        raise UnsupportedRule(
            "== ignores the order of lists of the types set and map, and this value may contain them at"
            " unknown paths"
        )
    if left.optional and left.is_associative:
        raise UnsupportedRule(
            "== of optional values that contain lists of the types set and map is not supported"
        )
    if guarded and not (left.kind and left.kind not in ("array", "object")):
        raise UnsupportedRule("== of objects or lists that contain an integer as a float is not supported")
    if not left.is_associative:
        return node
    # A server matches the elements of map lists by key only if both lists are stored.
    if has_map_lists(left.schema) and right.schema != left.schema:
        raise UnsupportedRule(
            "== of a stored list of type map and a list that a rule creates is not supported"
        )
    same = Call(f"{PREFIX}same", None, (_json_literal(left.schema), node.left, node.right))
    return same if node.operator == "==" else Unary("!", same)


def rewrite_in(node: Binary, left: CelType, right: CelType, *, guarded: bool) -> Node:
    """Rewrite ``in`` to use the equality that the schema of the elements defines."""
    if right.kind == "array":
        items = right.items
    else:
        items = MAYBE_ASSOCIATIVE if right.maybe_associative else DYNAMIC
    if not items.is_associative:
        check_elements(CelType(maybe_associative=items.maybe_associative))
        return node
    element = Name(f"{PREFIX}element")
    same = rewrite_equality(Binary("==", element, node.left), items, left, guarded=guarded)
    return Call("exists", node.right, (element, same))


def rewrite_addition(node: Binary, left: CelType, right: CelType) -> TypedNode:
    """Return ``+``, which merges lists of the types set and map, and the type of the result."""
    if left.maybe_associative and left.kind in ("", "array"):
        raise UnsupportedRule(
            "+ merges lists of the types set and map, and this value may contain them at unknown paths"
        )
    match left.schema.get("x-kubernetes-list-type") if left.schema is not None else None:
        case "set":
            return Call(f"{PREFIX}union", None, (node.left, node.right)), left
        case "map" if right.schema == left.schema:
            keys = _json_literal(left.schema["x-kubernetes-list-map-keys"] if left.schema else [])
            return Call(f"{PREFIX}merged", None, (keys, node.left, node.right)), left
        case "map":
            raise UnsupportedRule(
                "+ of a stored list of type map and a list that a rule creates is not supported"
            )
        case _:
            kind = left.kind or right.kind
            if kind == "array":
                return node, list_of(common_type(left.items, right.items))
            return node, CelType(kind)


def check_elements(type_: CelType) -> None:
    """Refuse to compare elements whose equality differs from that of their JSON."""
    if type_.maybe_associative or type_.items.may_be_associative:
        raise UnsupportedRule(
            "comparing elements that contain lists of the types set and map is not supported"
        )


def _json_literal(value: Any) -> Literal:
    """Return a string literal with the JSON of a value."""
    return Literal(msgspec.json.encode(msgspec.json.encode(value).decode()).decode(), "string")

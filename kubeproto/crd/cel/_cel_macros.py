"""Macros such as `all` and `map`: the types of their variables and results.

The library has no macros over two variables, so these become nested macros over one variable each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ._cel_operators import PREFIX, TypedNode, check_condition
from ._cel_signatures import BOOLEAN, INTEGER, STRING
from ._cel_syntax import Binary, Call, Index, ListNode, Literal, MapNode, Name, Node, Ternary
from ._cel_types import DYNAMIC, CelType, content_of, list_of, optional_of

Scope = dict[str, CelType]
"""The types of the bound variables."""

_COLLECTION: Final = Name(f"{PREFIX}whole")
_KEY: Final = Name(f"{PREFIX}key")
_ZERO: Final = Literal("0", "integer")


class Rewriter(Protocol):
    """Rewrites the receiver and the arguments of a macro."""

    def visit(self, node: Node, scope: Scope) -> TypedNode:
        """Return the node for the library, and its type."""
        ...


def rewrite_macro(rewriter: Rewriter, node: Call, scope: Scope) -> TypedNode | None:
    """Rewrite a call of a macro; None if it is not a macro."""
    variables = _variables_of(node)
    macro = _MACROS.get((node.name, len(node.arguments))) if variables else None
    return None if macro is None else macro(rewriter, node, scope, variables)


def wrap_optional(values: Node, *, first: bool = False) -> Node:
    """Return a list, or its `first` element, as an optional value; absent if the list is empty."""
    variable = Name(f"{PREFIX}one")
    content: Node = Index(variable, _ZERO) if first else variable
    is_empty = Binary("==", Call("size", None, (variable,)), _ZERO)
    none, some = Call("none", Name("optional"), ()), Call("of", Name("optional"), (content,))
    mapped = Call("map", ListNode(((values, False),)), (variable, Ternary(is_empty, none, some)))
    return Index(mapped, _ZERO)


def _rewrite_quantifier(
    rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]
) -> TypedNode:
    """Rewrite `all`, `exists` and the like with one variable: an element of a list, or a key of a map."""
    receiver, type_ = _visit_receiver(rewriter, node, scope)
    inner_scope = {**scope, variables[0]: _variable_type(type_)}
    visited = [rewriter.visit(argument, inner_scope) for argument in node.arguments[1:]]
    check_condition(visited[0][1], node.arguments[1])
    call = Call(node.name, receiver, (node.arguments[0], *(argument for argument, _ in visited)))
    return call, BOOLEAN if node.name != "filter" else list_of(_variable_type(type_))


def _rewrite_map(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> TypedNode:
    receiver, type_ = _visit_receiver(rewriter, node, scope)
    inner_scope = {**scope, variables[0]: _variable_type(type_)}
    visited = [rewriter.visit(argument, inner_scope) for argument in node.arguments[1:]]
    call = Call("map", receiver, (node.arguments[0], *(argument for argument, _ in visited)))
    return call, list_of(visited[-1][1])


def _rewrite_sort_by(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> TypedNode:
    receiver, type_ = _visit_receiver(rewriter, node, scope)
    key, _ = rewriter.visit(node.arguments[1], {**scope, variables[0]: _variable_type(type_)})
    keys = Call("map", receiver, (node.arguments[0], key))
    return Call(f"{PREFIX}sorted_by", None, (keys, receiver)), list_of(type_.items)


def _rewrite_optional_macro(
    rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]
) -> TypedNode:
    receiver, type_ = _visit_receiver(rewriter, node, scope)
    body, body_type = rewriter.visit(node.arguments[1], {**scope, variables[0]: content_of(type_)})
    result_type = optional_of(body_type) if node.name == "optMap" else body_type
    return Call(node.name, receiver, (node.arguments[0], body)), result_type


def _rewrite_two_variable_macro(
    rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]
) -> TypedNode:
    """Rewrite a macro over keys and values, or indexes and elements, as nested macros over one each."""
    receiver, type_ = _visit_receiver(rewriter, node, scope)
    key_type = INTEGER if type_.kind == "array" else STRING if type_.kind == "object" else DYNAMIC
    inner_scope = {**scope, variables[0]: key_type, variables[1]: type_.items}
    visited = [rewriter.visit(argument, inner_scope) for argument in node.arguments[2:]]
    if node.name in ("all", "exists", "existsOne", "exists_one") or len(visited) == 2:
        check_condition(visited[0][1], node.arguments[2])
    nested = _nest_macros(node.name, variables, tuple(argument for argument, _ in visited))
    body_type = visited[-1][1]
    match node.name:
        case "transformList":
            result_type = list_of(body_type)
        case "transformMap" | "transformMapEntry":
            result_type = CelType("object", maybe_associative=body_type.may_be_associative)
        case _:
            result_type = BOOLEAN
    bound = Call("map", ListNode(((receiver, False),)), (_COLLECTION, nested))
    return Index(bound, _ZERO), result_type


def _nest_macros(name: str, variables: tuple[str, ...], arguments: tuple[Node, ...]) -> Node:
    """Return a macro over the keys and values of `_COLLECTION` as nested macros over one variable each."""
    keys = Call(f"{PREFIX}keys", None, (_COLLECTION,))
    value = Index(_COLLECTION, _KEY)

    def bind(macro: str, body: Node) -> Node:
        """Bind both variables in the body, each by a macro over a list with one element."""
        inner = Call(macro, ListNode(((value, False),)), (Name(variables[1]), body))
        return Call(macro, ListNode(((_KEY, False),)), (Name(variables[0]), inner))

    match name:
        case "all" | "exists":
            return Call(name, keys, (_KEY, bind(name, arguments[0])))
        case "existsOne" | "exists_one":
            return Call("exists_one", keys, (_KEY, bind("exists", arguments[0])))
        case _:
            if len(arguments) == 2:
                keys = Call("filter", keys, (_KEY, bind("exists", arguments[0])))
            body = arguments[-1]
            if name == "transformMap":
                body = MapNode(((_KEY, body, False),))
            mapped = Call("map", keys, (_KEY, Index(Index(bind("map", body), _ZERO), _ZERO)))
            return mapped if name == "transformList" else Call(f"{PREFIX}joined", None, (mapped,))


def _visit_receiver(rewriter: Rewriter, node: Call, scope: Scope) -> TypedNode:
    assert node.receiver is not None
    return rewriter.visit(node.receiver, scope)


def _variables_of(node: Call) -> tuple[str, ...]:
    """Return the variables of a macro: one, or two for macros over keys and values."""
    names = [argument.name for argument in node.arguments[:2] if isinstance(argument, Name)]
    return tuple(names) if names and isinstance(node.arguments[0], Name) else ()


def _variable_type(type_: CelType) -> CelType:
    """Return the type of the only variable of a macro: a key of a map, an element of a list."""
    return STRING if type_.kind == "object" else type_.items


_Macro = Callable[[Rewriter, Call, Scope, tuple[str, ...]], TypedNode]
_MACROS: Final[dict[tuple[str, int], _Macro]] = {
    ("all", 2): _rewrite_quantifier,
    ("exists", 2): _rewrite_quantifier,
    ("exists_one", 2): _rewrite_quantifier,
    ("filter", 2): _rewrite_quantifier,
    ("map", 2): _rewrite_map,
    ("map", 3): _rewrite_map,
    ("sortBy", 2): _rewrite_sort_by,
    ("optMap", 2): _rewrite_optional_macro,
    ("optFlatMap", 2): _rewrite_optional_macro,
    ("all", 3): _rewrite_two_variable_macro,
    ("exists", 3): _rewrite_two_variable_macro,
    ("existsOne", 3): _rewrite_two_variable_macro,
    ("exists_one", 3): _rewrite_two_variable_macro,
    ("transformList", 3): _rewrite_two_variable_macro,
    ("transformList", 4): _rewrite_two_variable_macro,
    ("transformMap", 3): _rewrite_two_variable_macro,
    ("transformMap", 4): _rewrite_two_variable_macro,
    ("transformMapEntry", 3): _rewrite_two_variable_macro,
    ("transformMapEntry", 4): _rewrite_two_variable_macro,
}

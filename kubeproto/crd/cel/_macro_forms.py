"""Macros such as `all` and `map`: what their variables are bound to, and the form of what they return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ._forms import OPEN, Form, of_list, optional, present
from ._macros import OWN, WHOLE, in_twos
from ._operators import Rewritten, check_condition
from ._signatures import BOOLEAN, INTEGER, TEXT
from ._syntax import Call, Index, ListOf, Literal, Name, Node

Scope = dict[str, Form]
"""The forms of the variables that are bound."""


class Rewriter(Protocol):
    """The interface by which the parts of a macro are rewritten."""

    def visit(self, node: Node, scope: Scope) -> Rewritten:
        """Return the node as the library takes it, and the form of its value."""
        ...


def rewrite_macro(rewriter: Rewriter, node: Call, scope: Scope) -> Rewritten | None:
    """Rewrite a call of a macro; None if it is not one."""
    variables = _variables(node)
    macro = _MACROS.get((node.name, len(node.arguments))) if variables else None
    return None if macro is None else macro(rewriter, node, scope, variables)


def _quantifier(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
    """Rewrite `all`, `exists` and the like with one variable: an element of a list, or a key of a map."""
    of, form = _receiver(rewriter, node, scope)
    bound = {**scope, variables[0]: _first(form)}
    tested = tuple(rewriter.visit(one, bound) for one in node.arguments[1:])
    check_condition(tested[0][1], node.arguments[1])
    made = Call(node.name, of, (node.arguments[0], *(one for one, _ in tested)))
    return made, BOOLEAN if node.name != "filter" else of_list(_first(form))


def _mapping(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
    of, form = _receiver(rewriter, node, scope)
    bound = {**scope, variables[0]: _first(form)}
    made = [rewriter.visit(one, bound) for one in node.arguments[1:]]
    arguments = tuple(one for one, _ in made)
    return Call("map", of, (node.arguments[0], *arguments)), of_list(made[-1][1])


def _sort_by(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
    of, form = _receiver(rewriter, node, scope)
    key, _ = rewriter.visit(node.arguments[1], {**scope, variables[0]: _first(form)})
    keys = Call("map", of, (node.arguments[0], key))
    return Call(f"{OWN}sorted_by", None, (keys, of)), of_list(form.items)


def _optional_macro(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
    of, form = _receiver(rewriter, node, scope)
    made, result = rewriter.visit(node.arguments[1], {**scope, variables[0]: present(form)})
    lifted = optional(result) if node.name == "optMap" else result
    return Call(node.name, of, (node.arguments[0], made)), lifted


def _of_two(rewriter: Rewriter, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
    """Rewrite a macro over keys and values, or indexes and elements, as nested macros over one each."""
    of, form = _receiver(rewriter, node, scope)
    key = INTEGER if form.kind == "array" else TEXT if form.kind == "object" else OPEN
    bound = {**scope, variables[0]: key, variables[1]: form.items}
    visited = [rewriter.visit(one, bound) for one in node.arguments[2:]]
    if node.name in ("all", "exists", "existsOne", "exists_one") or len(visited) == 2:
        check_condition(visited[0][1], node.arguments[2])
    made = in_twos(node.name, variables, tuple(one for one, _ in visited))
    result = visited[-1][1]
    match node.name:
        case "transformList":
            form = of_list(result)
        case "transformMap" | "transformMapEntry":
            form = Form("object", mixed=result.mixed or result.merges)
        case _:
            form = BOOLEAN
    return Index(Call("map", ListOf(((of, False),)), (WHOLE, made)), Literal("0", "integer")), form


def _receiver(rewriter: Rewriter, node: Call, scope: Scope) -> Rewritten:
    assert node.of is not None
    return rewriter.visit(node.of, scope)


def _variables(node: Call) -> tuple[str, ...]:
    """The names that a macro binds: one, or two for macros over keys and values."""
    names = [one.name for one in node.arguments[:2] if isinstance(one, Name)]
    return tuple(names) if names and isinstance(node.arguments[0], Name) else ()


def _first(form: Form) -> Form:
    """Return the form of the one variable of a macro: a key of a map, an element of anything else."""
    return TEXT if form.kind == "object" else form.items


_Macro = Callable[[Rewriter, Call, Scope, tuple[str, ...]], Rewritten]
_MACROS: Final[dict[tuple[str, int], _Macro]] = {
    ("all", 2): _quantifier,
    ("exists", 2): _quantifier,
    ("exists_one", 2): _quantifier,
    ("filter", 2): _quantifier,
    ("map", 2): _mapping,
    ("map", 3): _mapping,
    ("sortBy", 2): _sort_by,
    ("optMap", 2): _optional_macro,
    ("optFlatMap", 2): _optional_macro,
    ("all", 3): _of_two,
    ("exists", 3): _of_two,
    ("existsOne", 3): _of_two,
    ("exists_one", 3): _of_two,
    ("transformList", 3): _of_two,
    ("transformList", 4): _of_two,
    ("transformMap", 3): _of_two,
    ("transformMap", 4): _of_two,
    ("transformMapEntry", 3): _of_two,
    ("transformMapEntry", 4): _of_two,
}

"""CEL as Kubernetes means it, written in the CEL that the library knows.

Four things depend on the schema, or are not known to the library, and are written as calls of functions of
`_functions`: `==`, `!=` and `+` on lists of the types set and map; macros with two variables; functions
that the library has for texts only; integers that were sent as ``5.0``, which a server takes as they are and
refuses to read in a rule. On the way the types are compared with the schema, as a server's type checker does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ._forms import (
    OPEN,
    UNKNOWN,
    Form,
    addable,
    comparable,
    either,
    member,
    of_list,
    of_schema,
    optional,
    present,
)
from ._macros import OWN, WHOLE, in_twos, optional_of
from ._signatures import BOOLEAN, COMPARING, INTEGER, RESULTS, TEXT, TYPES, literal_fault
from ._syntax import (
    Binary,
    Call,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    SyntaxFault,
    Ternary,
    Unary,
    parse,
    write,
)
from ._values import holds_map_lists

Scope = dict[str, Form]
Rewritten = tuple[Node, Form]

_ORDERS: Final = ("<", "<=", ">", ">=")
_ELEMENTS: Final = ("distinct", "sort", "reverse", "slice")


class RefusedRule(ValueError):
    """A rule that a server refuses with the definition; the text says why."""


class Undecided(ValueError):
    """A rule that a server may evaluate, and this side cannot."""


def rewrite(
    source: str,
    schema: dict[str, Any],
    *,
    root: bool,
    optional_old: bool = False,
    guarded: bool = False,
    condition: bool = False,
) -> str:
    """The expression for the library; `guarded` checks each integer, and a `condition` is a boolean."""
    own = of_schema(schema, "", root=root)
    scope = {"self": own, "oldSelf": optional(own) if optional_old else own}
    try:
        found, form = _Rewriter(guarded=guarded, merges=own.merges).visit(parse(source), scope)
    except SyntaxFault as fault:
        raise RefusedRule(str(fault)) from None
    except RecursionError:
        raise Undecided("the expression is nested too deeply") from None
    if condition and form.kind not in ("", "boolean"):
        raise RefusedRule(f"its result is of type {form.kind}: neither true nor false")
    return write(found)


class _Rewriter:
    """Goes through a tree from the outside, with the forms of the variables that are bound at each place."""

    def __init__(self, *, guarded: bool, merges: bool) -> None:
        self._guarded = guarded
        self._merges = merges  # whether there are lists of the types set and map at all

    def visit(self, node: Node, scope: Scope) -> Rewritten:
        """The tree as the library takes it, and the form of its value."""
        match node:
            case Literal(kind=kind):
                return node, Form(kind)
            case Name(name=name):
                if name not in scope and name not in TYPES:
                    raise RefusedRule(f"undeclared reference to '{name}'")
                return self._guard(node, scope.get(name, OPEN))
            case Select():
                found, form = self._select(node, scope)
                return self._guard(found, form)
            case Index():
                found, form = self._index(node, scope)
                return self._guard(found, form)
            case Call():
                return self._call(node, scope)
            case ListOf(elements=elements):
                return self._list(elements, scope, alike=True)
            case MapOf(entries=entries):
                return self._map(entries, scope)
            case Unary(operator=operator, of=of):
                found, form = self.visit(of, scope)
                if operator == "!":
                    self._condition(form, of)
                return Unary(operator, found), BOOLEAN if operator == "!" else Form(form.kind)
            case Binary():
                return self._binary(node, scope)
            case Ternary(test=test, yes=yes, no=no):
                tested, form = self.visit(test, scope)
                self._condition(form, test)
                (left, one), (right, other) = self.visit(yes, scope), self.visit(no, scope)
                return Ternary(tested, left, right), either(one, other)

    def _guard(self, node: Node, form: Form) -> Rewritten:
        if self._guarded and form.kind == "integer" and form.schema is not None:
            return Call(f"{OWN}int", None, (node,)), form
        return node, form

    def _select(self, node: Select, scope: Scope) -> Rewritten:
        of, form = self.visit(node.of, scope)
        # A field of an optional object is optional.
        held = present(form) if form.optional else form
        found = member(held, node.name)
        if found is None:
            path = write(node).removeprefix("self").removeprefix("oldSelf")
            raise RefusedRule(f"undefined field '{path}'")
        lifted = optional(found) if node.optional or form.optional else found
        return Select(of, node.name, node.optional), lifted

    def _index(self, node: Index, scope: Scope) -> Rewritten:
        of, form = self.visit(node.of, scope)
        at, _ = self.visit(node.at, scope)
        held = present(form) if form.optional else form
        found = UNKNOWN if held.schema is not None and "properties" in held.schema else held.items
        return Index(of, at, node.optional), optional(found) if node.optional or form.optional else found

    def _list(self, elements: tuple[tuple[Node, bool], ...], scope: Scope, *, alike: bool) -> Rewritten:
        visited = [(*self.visit(one, scope), is_optional) for one, is_optional in elements]
        forms = [present(form) if is_optional else form for _, form, is_optional in visited]
        items = forms[0] if forms else OPEN
        for form in forms[1:]:
            if alike and not comparable(items, form):
                raise RefusedRule(f"a list of {items.kind} holds {form.kind}")
            items = either(items, form)
        return ListOf(tuple((one, is_optional) for one, _, is_optional in visited)), of_list(items)

    def _map(self, entries: tuple[tuple[Node, Node, bool], ...], scope: Scope) -> Rewritten:
        made: list[tuple[Node, Node, bool]] = []
        mixed, values = False, OPEN
        for key, value, is_optional in entries:
            found, form = self.visit(value, scope)
            if not comparable(values, form):
                raise RefusedRule(f"a map of {values.kind} holds {form.kind}")
            mixed, values = mixed or form.mixed or form.merges, form
            made.append((self.visit(key, scope)[0], found, is_optional))
        return MapOf(tuple(made)), Form("object", mixed=mixed)

    def _binary(self, node: Binary, scope: Scope) -> Rewritten:
        if node.operator in ("==", "!=") and isinstance(node.left, Ternary) and self._merges:
            # What decides about equality is the left side, hence the one that the test chooses.
            test, yes, no = node.left.test, node.left.yes, node.left.no
            sides = [Binary(node.operator, side, node.right) for side in (yes, no)]
            return self.visit(Ternary(test, sides[0], sides[1]), scope)
        (left, one), (right, other) = self.visit(node.left, scope), self.visit(node.right, scope)
        plain = Binary(node.operator, left, right)
        match node.operator:
            case "&&" | "||":
                self._condition(one, node.left)
                self._condition(other, node.right)
                return plain, BOOLEAN
            case "==" | "!=":
                self._compared(node, one, other, ordered=False)
                return self._equality(plain, one, other), BOOLEAN
            case "in":
                return self._contained(plain, one, other), BOOLEAN
            case operator if operator in _ORDERS:
                self._compared(node, one, other, ordered=True)
                return plain, BOOLEAN
            case _:
                if not addable(one, other):
                    raise RefusedRule(f"{node.operator} stands between {one.kind} and {other.kind}")
                return self._sum(plain, one, other) if node.operator == "+" else (plain, Form(one.kind))

    def _condition(self, form: Form, node: Node) -> None:
        if form.kind not in ("", "boolean"):
            raise RefusedRule(f"{write(node)} is of type {form.kind}: neither true nor false")

    def _compared(self, node: Binary, one: Form, other: Form, *, ordered: bool) -> None:
        if not comparable(one, other, ordered=ordered):
            shown = [
                write(side) if isinstance(side, Literal) else form.kind
                for side, form in ((node.left, one), (node.right, other))
            ]
            raise RefusedRule(f"it compares {shown[0]} with {shown[1]}")

    def _equality(self, node: Binary, one: Form, other: Form) -> Node:
        if one.mixed:
            raise Undecided(
                "== ignores the order of lists of the types set and map, and where is not known here"
            )
        if one.optional and one.merges:
            raise Undecided(
                "== of optional values that hold lists of the types set and map is not known here"
            )
        if self._guarded and not (one.kind and one.kind not in ("array", "object")):
            raise Undecided("== of objects or lists that hold a whole number as a float is not known here")
        if not one.merges:
            return node
        # The left side decides what is equal. Elements of map lists are matched among stored ones alone.
        if holds_map_lists(one.schema) and other.schema != one.schema:
            raise Undecided("== of a list of type map and one that is not stored is not known here")
        same = Call(f"{OWN}same", None, (_json(one.schema), node.left, node.right))
        return same if node.operator == "==" else Unary("!", same)

    def _contained(self, node: Binary, one: Form, other: Form) -> Node:
        items = other.items if other.kind == "array" else UNKNOWN if other.mixed else OPEN
        if not items.merges:
            self._comparing(Form(mixed=items.mixed))
            return node
        element = Name(f"{OWN}element")
        same = self._equality(Binary("==", element, node.left), items, one)
        return Call("exists", node.right, (element, same))

    def _sum(self, node: Binary, one: Form, other: Form) -> Rewritten:
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

    def _comparing(self, form: Form) -> None:
        """Refuse to compare elements that are equal in another way than they look."""
        if form.mixed or form.items.mixed or form.items.merges:
            raise Undecided("elements that hold lists of the types set and map are not compared here")

    def _call(self, node: Call, scope: Scope) -> Rewritten:
        if node.name.startswith(OWN):
            raise RefusedRule(f"undeclared reference to '{node.name}'")
        if node.of is None:
            return self._function(node, scope)
        variables = _variables(node)
        if variables and (macro := _MACROS.get((node.name, len(node.arguments)))):
            return macro(self, node, scope, variables)
        return self._method(node, scope)

    def _function(self, node: Call, scope: Scope) -> Rewritten:
        if node.name == "has" and len(node.arguments) == 1:
            return self._has(node.arguments[0], scope), BOOLEAN
        if fault := literal_fault(node.name, node.arguments):
            raise RefusedRule(fault)
        visited = [self.visit(one, scope) for one in node.arguments]
        mixed = any(form.mixed or form.merges for _, form in visited)
        if node.name == "dyn" and visited:
            return Call("dyn", None, (visited[0][0],)), Form(mixed=mixed)
        if node.name == "string" and visited and visited[0][1].kind in ("ip", "cidr"):
            of, form = visited[0]
            return Index(of, Literal(f"'{form.kind}'", "string")), TEXT
        form = RESULTS.get(node.name, Form(mixed=mixed))
        return Call(node.name, None, tuple(one for one, _ in visited)), form

    def _has(self, node: Node, scope: Scope) -> Node:
        if not isinstance(node, Select):
            raise RefusedRule("invalid argument to has() macro")
        found, form = self._select(node, scope)
        has = Call("has", None, (found,))
        guarded, _ = self._guard(found, form)
        if guarded is found:
            return has
        # To a server a number that it cannot read is an error even where it asks whether there is one.
        size = Call("size", None, (ListOf(((guarded, False),)),))
        return Binary("&&", has, Binary("==", size, Literal("1", "integer")))

    def _method(self, node: Call, scope: Scope) -> Rewritten:
        qualified = isinstance(node.of, Name) and node.of.name not in scope
        if qualified and isinstance(node.of, Name):
            return self._qualified(node, node.of.name, scope)
        assert node.of is not None
        if node.name == "matches" and (fault := literal_fault(node.name, node.arguments)):
            raise RefusedRule(fault)
        of, form = self.visit(node.of, scope)
        # What is formatted alone may be a list of several types.
        alike = node.name != "format"
        visited = [
            self._list(one.elements, scope, alike=alike)
            if isinstance(one, ListOf)
            else self.visit(one, scope)
            for one in node.arguments
        ]
        arguments = tuple(one for one, _ in visited)
        if form.optional:
            return self._of_optional(node.name, of, form, visited)
        if node.name in COMPARING and form.kind in ("", "array") and self._merges:
            self._comparing(form)
        if node.name == "reverse":
            return Call(f"{OWN}reverse", None, (of,)), of_list(form.items)
        if node.name in ("indexOf", "lastIndexOf") and form.kind == "array" and len(arguments) == 1:
            return Call(f"{OWN}{node.name}", None, (of, *arguments)), INTEGER
        if node.name == "validate" and len(arguments) == 1:
            return optional_of(Call(f"{OWN}format_errors", None, (of, *arguments))), Form(optional=True)
        if node.name in ("first", "last") and not arguments:
            at: Node = Literal("0", "integer")
            if node.name == "last":
                at = Binary("-", Call("size", None, (of,)), Literal("1", "integer"))
            return Index(of, at, optional=True), optional(form.items)
        made = Call(node.name, of, arguments)
        if node.name in _ELEMENTS:
            return made, of_list(form.items)
        if node.name in ("min", "max"):
            return made, form.items
        mixed = any(one.mixed or one.merges for one in (form, *(other for _, other in visited)))
        return made, RESULTS.get(node.name, Form(mixed=mixed))

    def _qualified(self, node: Call, prefix: str, scope: Scope) -> Rewritten:
        visited = [self.visit(one, scope) for one in node.arguments]
        arguments = tuple(one for one, _ in visited)
        if prefix == "sets" and self._merges:
            for _, form in visited:
                self._comparing(form)
        if (prefix, node.name, len(arguments)) == ("format", "named", 1):
            return optional_of(Call(f"{OWN}formats", None, arguments), first=True), Form(optional=True)
        if (prefix, node.name) == ("optional", "of"):
            return Call(node.name, node.of, arguments), optional(visited[0][1]) if visited else OPEN
        form = Form(optional=True) if prefix == "optional" else BOOLEAN if prefix == "sets" else OPEN
        return Call(node.name, node.of, arguments), form

    def _of_optional(self, name: str, of: Node, form: Form, visited: list[Rewritten]) -> Rewritten:
        made = Call(name, of, tuple(one for one, _ in visited))
        held = present(form)
        match name, visited:
            case "value", []:
                return self._guard(made, held)
            case "orValue", [(default, other)]:
                # A default that the rule wrote is compared in order, what is stored as its schema says.
                plain = not held.merges or other.schema == held.schema or default == ListOf(())
                return self._guard(made, held if plain else UNKNOWN)
            case "or", [(_, other)]:
                return made, either(form, other)
            case "hasValue", []:
                return made, BOOLEAN
            case _:
                return made, Form(mixed=form.mixed or form.merges)

    def _quantifier(self, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
        """`all`, `exists` and their like with one variable: its values are elements, or the keys of a map."""
        of, form = self._receiver(node, scope)
        bound = {**scope, variables[0]: _first(form)}
        tested = tuple(self.visit(one, bound) for one in node.arguments[1:])
        self._condition(tested[0][1], node.arguments[1])
        made = Call(node.name, of, (node.arguments[0], *(one for one, _ in tested)))
        return made, BOOLEAN if node.name != "filter" else of_list(_first(form))

    def _mapping(self, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
        of, form = self._receiver(node, scope)
        bound = {**scope, variables[0]: _first(form)}
        made = [self.visit(one, bound) for one in node.arguments[1:]]
        arguments = tuple(one for one, _ in made)
        return Call("map", of, (node.arguments[0], *arguments)), of_list(made[-1][1])

    def _sort_by(self, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
        of, form = self._receiver(node, scope)
        key, _ = self.visit(node.arguments[1], {**scope, variables[0]: _first(form)})
        keys = Call("map", of, (node.arguments[0], key))
        return Call(f"{OWN}sorted_by", None, (keys, of)), of_list(form.items)

    def _optional_macro(self, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
        of, form = self._receiver(node, scope)
        made, result = self.visit(node.arguments[1], {**scope, variables[0]: present(form)})
        lifted = optional(result) if node.name == "optMap" else result
        return Call(node.name, of, (node.arguments[0], made)), lifted

    def _of_two(self, node: Call, scope: Scope, variables: tuple[str, ...]) -> Rewritten:
        """A macro over keys and values, or over indexes and elements, as nested ones over one each."""
        of, form = self._receiver(node, scope)
        key = INTEGER if form.kind == "array" else TEXT if form.kind == "object" else OPEN
        bound = {**scope, variables[0]: key, variables[1]: form.items}
        visited = [self.visit(one, bound) for one in node.arguments[2:]]
        if node.name in ("all", "exists", "existsOne", "exists_one") or len(visited) == 2:
            self._condition(visited[0][1], node.arguments[2])
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

    def _receiver(self, node: Call, scope: Scope) -> Rewritten:
        assert node.of is not None
        return self.visit(node.of, scope)


Macro = Callable[[_Rewriter, Call, Scope, tuple[str, ...]], Rewritten]
_MACROS: Final[dict[tuple[str, int], Macro]] = {
    ("all", 2): _Rewriter._quantifier,
    ("exists", 2): _Rewriter._quantifier,
    ("exists_one", 2): _Rewriter._quantifier,
    ("filter", 2): _Rewriter._quantifier,
    ("map", 2): _Rewriter._mapping,
    ("map", 3): _Rewriter._mapping,
    ("sortBy", 2): _Rewriter._sort_by,
    ("optMap", 2): _Rewriter._optional_macro,
    ("optFlatMap", 2): _Rewriter._optional_macro,
    ("all", 3): _Rewriter._of_two,
    ("exists", 3): _Rewriter._of_two,
    ("existsOne", 3): _Rewriter._of_two,
    ("exists_one", 3): _Rewriter._of_two,
    ("transformList", 3): _Rewriter._of_two,
    ("transformList", 4): _Rewriter._of_two,
    ("transformMap", 3): _Rewriter._of_two,
    ("transformMap", 4): _Rewriter._of_two,
    ("transformMapEntry", 3): _Rewriter._of_two,
    ("transformMapEntry", 4): _Rewriter._of_two,
}


def _variables(node: Call) -> tuple[str, ...]:
    """The names that a macro binds: one, or two for macros over keys and values."""
    names = [one.name for one in node.arguments[:2] if isinstance(one, Name)]
    return tuple(names) if names and isinstance(node.arguments[0], Name) else ()


def _first(form: Form) -> Form:
    """What a macro with one variable binds: the keys of a map, the elements of anything else."""
    return TEXT if form.kind == "object" else form.items


def _json(value: Any) -> Literal:
    """A value as a text of the expression."""
    return Literal(msgspec.json.encode(msgspec.json.encode(value).decode()).decode(), "string")

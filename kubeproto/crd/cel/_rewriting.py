"""CEL as Kubernetes means it, written in the CEL of the library.

Four things depend on the schema, or are missing in the library, and are written as calls of functions of
`_functions`: `==`, `!=` and `+` on lists of the types set and map; macros with two variables; functions that
the library has for strings only; integers that were sent as ``5.0``, which a server accepts as they are and
refuses to read in a rule. The types are compared with the schema meanwhile, as a server's type checker does.
"""

from __future__ import annotations

from typing import Any, Final

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
from ._macro_forms import Scope, rewrite_macro
from ._macros import OWN, optional_of
from ._operators import (
    RefusedRule,
    Rewritten,
    Undecided,
    check_comparable,
    check_condition,
    check_elements,
    contained,
    equality,
    merged_sum,
)
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

_ORDERS: Final = ("<", "<=", ">", ">=")
_ELEMENTS: Final = ("distinct", "sort", "reverse", "slice")


def rewrite(
    source: str,
    schema: dict[str, Any],
    *,
    root: bool,
    optional_old: bool = False,
    guarded: bool = False,
    condition: bool = False,
) -> str:
    """Return the expression for the library.

    `guarded` checks each integer, and a `condition` is a boolean.
    """
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
    """Visits a tree from its root, with the forms of the variables that are bound at each place."""

    def __init__(self, *, guarded: bool, merges: bool) -> None:
        self._guarded = guarded
        self._merges = merges  # whether there are lists of the types set and map at all

    def visit(self, node: Node, scope: Scope) -> Rewritten:
        """Return the tree for the library, and the form of its value."""
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
                    check_condition(form, of)
                return Unary(operator, found), BOOLEAN if operator == "!" else Form(form.kind)
            case Binary():
                return self._binary(node, scope)
            case Ternary(test=test, yes=yes, no=no):
                tested, form = self.visit(test, scope)
                check_condition(form, test)
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
            # The left side decides how values are compared, so here it is the one that the test chooses.
            test, yes, no = node.left.test, node.left.yes, node.left.no
            sides = [Binary(node.operator, side, node.right) for side in (yes, no)]
            return self.visit(Ternary(test, sides[0], sides[1]), scope)
        (left, one), (right, other) = self.visit(node.left, scope), self.visit(node.right, scope)
        plain = Binary(node.operator, left, right)
        match node.operator:
            case "&&" | "||":
                check_condition(one, node.left)
                check_condition(other, node.right)
                return plain, BOOLEAN
            case "==" | "!=":
                check_comparable(node, one, other, ordered=False)
                return equality(plain, one, other, guarded=self._guarded), BOOLEAN
            case "in":
                return contained(plain, one, other, guarded=self._guarded), BOOLEAN
            case operator if operator in _ORDERS:
                check_comparable(node, one, other, ordered=True)
                return plain, BOOLEAN
            case _:
                if not addable(one, other):
                    raise RefusedRule(f"{node.operator} stands between {one.kind} and {other.kind}")
                return merged_sum(plain, one, other) if node.operator == "+" else (plain, Form(one.kind))

    def _call(self, node: Call, scope: Scope) -> Rewritten:
        if node.name.startswith(OWN):
            raise RefusedRule(f"undeclared reference to '{node.name}'")
        if node.of is None:
            return self._function(node, scope)
        return rewrite_macro(self, node, scope) or self._method(node, scope)

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
        # A server reports a number that it cannot read as an error even when a rule only tests for its
        # presence.
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
        # Only the arguments of a format may be a list of several types.
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
            check_elements(form)
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
                check_elements(form)
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
                # A default written in the rule is compared in order, a stored value as its schema says.
                plain = not held.merges or other.schema == held.schema or default == ListOf(())
                return self._guard(made, held if plain else UNKNOWN)
            case "or", [(_, other)]:
                return made, either(form, other)
            case "hasValue", []:
                return made, BOOLEAN
            case _:
                return made, Form(mixed=form.mixed or form.merges)

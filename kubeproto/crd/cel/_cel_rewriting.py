"""Rewriting CEL with the semantics of Kubernetes into CEL for the library.

Four things depend on the schema, or are missing in the library, and become calls of functions of
`_list_functions`: `==`, `!=` and `+` on lists of the types set and map; macros with two variables; functions
that the library has only for strings; integers that were sent as ``5.0``, which a server accepts in an object
and refuses to read in a rule. On the way the types are checked against the schema, as a server's type checker
does.
"""

from __future__ import annotations

from typing import Any, Final

from ._cel_macros import Scope, rewrite_macro, wrap_optional
from ._cel_operators import (
    PREFIX,
    RefusedRule,
    TypedNode,
    UnsupportedRule,
    check_comparable,
    check_condition,
    check_elements,
    rewrite_addition,
    rewrite_equality,
    rewrite_in,
)
from ._cel_signatures import BOOLEAN, INTEGER, RESULT_TYPES, STRING, TYPE_NAMES, USES_EQUALITY, literal_error
from ._cel_syntax import (
    Binary,
    Call,
    CelSyntaxError,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Node,
    Select,
    Ternary,
    Unary,
    parse,
    write,
)
from ._cel_types import (
    DYNAMIC,
    MAYBE_ASSOCIATIVE,
    CelType,
    are_arithmetic,
    are_comparable,
    common_type,
    content_of,
    field_type,
    list_of,
    optional_of,
    type_of_schema,
)

_ORDERINGS: Final = ("<", "<=", ">", ">=")
_RETURNING_LISTS: Final = ("distinct", "sort", "reverse", "slice")


def rewrite(
    source: str,
    schema: dict[str, Any],
    *,
    root: bool,
    optional_old: bool = False,
    guarded: bool = False,
    condition: bool = False,
) -> str:
    """Return an expression for the library.

    If `guarded`, the expression checks each integer when it reads it. A `condition` must be a boolean.
    """
    self_type = type_of_schema(schema, "", root=root)
    scope = {"self": self_type, "oldSelf": optional_of(self_type) if optional_old else self_type}
    rewriter = _Rewriter(guarded=guarded, is_associative=self_type.is_associative)
    try:
        node, type_ = rewriter.visit(parse(source), scope)
    except CelSyntaxError as error:
        raise RefusedRule(str(error)) from None
    except RecursionError:
        raise UnsupportedRule("the expression is nested too deeply") from None
    if condition and type_.kind not in ("", "boolean"):
        raise RefusedRule(f"its result is of type {type_.kind}, not a boolean")
    return write(node)


class _Rewriter:
    """Visits a tree from its root, with the types of the variables in scope."""

    def __init__(self, *, guarded: bool, is_associative: bool) -> None:
        self._guarded = guarded
        self._is_associative = is_associative  # True if `self` contains lists of the types set and map

    def visit(self, node: Node, scope: Scope) -> TypedNode:
        """Return the node for the library, and its type."""
        match node:
            case Literal(kind=kind):
                return node, CelType(kind)
            case Name(name=name):
                if name not in scope and name not in TYPE_NAMES:
                    raise RefusedRule(f"undeclared reference to '{name}'")
                return self._guard(node, scope.get(name, DYNAMIC))
            case Select():
                return self._guard(*self._visit_select(node, scope))
            case Index():
                return self._guard(*self._visit_index(node, scope))
            case Call():
                return self._visit_call(node, scope)
            case ListNode(elements=elements):
                return self._visit_list(elements, scope, same_type=True)
            case MapNode(entries=entries):
                return self._visit_map(entries, scope)
            case Unary(operator=operator, operand=operand):
                rewritten, type_ = self.visit(operand, scope)
                if operator == "!":
                    check_condition(type_, operand)
                return Unary(operator, rewritten), BOOLEAN if operator == "!" else CelType(type_.kind)
            case Binary():
                return self._visit_binary(node, scope)
            case Ternary(test=test, yes=yes, no=no):
                new_test, test_type = self.visit(test, scope)
                check_condition(test_type, test)
                (new_yes, yes_type), (new_no, no_type) = self.visit(yes, scope), self.visit(no, scope)
                return Ternary(new_test, new_yes, new_no), common_type(yes_type, no_type)

    def _guard(self, node: Node, type_: CelType) -> TypedNode:
        if self._guarded and type_.kind == "integer" and type_.schema is not None:
            return Call(f"{PREFIX}int", None, (node,)), type_
        return node, type_

    def _visit_select(self, node: Select, scope: Scope) -> TypedNode:
        operand, operand_type = self.visit(node.operand, scope)
        object_type = content_of(operand_type) if operand_type.optional else operand_type
        type_ = field_type(object_type, node.name)
        if type_ is None:
            path = write(node).removeprefix("self").removeprefix("oldSelf")
            raise RefusedRule(f"undefined field '{path}'")
        if node.optional or operand_type.optional:  # a field of an optional object is optional
            type_ = optional_of(type_)
        return Select(operand, node.name, node.optional), type_

    def _visit_index(self, node: Index, scope: Scope) -> TypedNode:
        operand, operand_type = self.visit(node.operand, scope)
        index, _ = self.visit(node.index, scope)
        container = content_of(operand_type) if operand_type.optional else operand_type
        type_ = (
            MAYBE_ASSOCIATIVE if container.schema and "properties" in container.schema else container.items
        )
        if node.optional or operand_type.optional:
            type_ = optional_of(type_)
        return Index(operand, index, node.optional), type_

    def _visit_list(
        self, elements: tuple[tuple[Node, bool], ...], scope: Scope, *, same_type: bool
    ) -> TypedNode:
        visited = [(*self.visit(element, scope), is_optional) for element, is_optional in elements]
        types = [content_of(type_) if is_optional else type_ for _, type_, is_optional in visited]
        items = types[0] if types else DYNAMIC
        for type_ in types[1:]:
            if same_type and not are_comparable(items, type_):
                raise RefusedRule(f"a list of {items.kind} contains {type_.kind}")
            items = common_type(items, type_)
        return ListNode(tuple((element, is_optional) for element, _, is_optional in visited)), list_of(items)

    def _visit_map(self, entries: tuple[tuple[Node, Node, bool], ...], scope: Scope) -> TypedNode:
        new_entries: list[tuple[Node, Node, bool]] = []
        maybe_associative, previous_type = False, DYNAMIC
        for key, value, is_optional in entries:
            new_value, type_ = self.visit(value, scope)
            if not are_comparable(previous_type, type_):
                raise RefusedRule(f"a map of {previous_type.kind} contains {type_.kind}")
            maybe_associative, previous_type = maybe_associative or type_.may_be_associative, type_
            new_entries.append((self.visit(key, scope)[0], new_value, is_optional))
        return MapNode(tuple(new_entries)), CelType("object", maybe_associative=maybe_associative)

    def _visit_binary(self, node: Binary, scope: Scope) -> TypedNode:
        if node.operator in ("==", "!=") and isinstance(node.left, Ternary) and self._is_associative:
            # The schema of the left operand decides how values are compared, and it depends on the test.
            test, yes, no = node.left.test, node.left.yes, node.left.no
            comparisons = [Binary(node.operator, operand, node.right) for operand in (yes, no)]
            return self.visit(Ternary(test, *comparisons), scope)
        (left, left_type), (right, right_type) = self.visit(node.left, scope), self.visit(node.right, scope)
        rewritten = Binary(node.operator, left, right)
        match node.operator:
            case "&&" | "||":
                check_condition(left_type, node.left)
                check_condition(right_type, node.right)
                return rewritten, BOOLEAN
            case "==" | "!=":
                check_comparable(node, left_type, right_type, ordered=False)
                equality = rewrite_equality(rewritten, left_type, right_type, guarded=self._guarded)
                return equality, BOOLEAN
            case "in":
                return rewrite_in(rewritten, left_type, right_type, guarded=self._guarded), BOOLEAN
            case operator if operator in _ORDERINGS:
                check_comparable(node, left_type, right_type, ordered=True)
                return rewritten, BOOLEAN
            case _:
                if not are_arithmetic(left_type, right_type):
                    raise RefusedRule(
                        f"{node.operator} has operands of the types {left_type.kind} and {right_type.kind}"
                    )
                if node.operator == "+":
                    return rewrite_addition(rewritten, left_type, right_type)
                return rewritten, CelType(left_type.kind)

    def _visit_call(self, node: Call, scope: Scope) -> TypedNode:
        if node.name.startswith(PREFIX):
            raise RefusedRule(f"undeclared reference to '{node.name}'")
        if node.receiver is None:
            return self._visit_function(node, scope)
        return rewrite_macro(self, node, scope) or self._visit_method(node, node.receiver, scope)

    def _visit_function(self, node: Call, scope: Scope) -> TypedNode:
        if node.name == "has" and len(node.arguments) == 1:
            return self._visit_has(node.arguments[0], scope), BOOLEAN
        if error := literal_error(node.name, node.arguments):
            raise RefusedRule(error)
        visited = [self.visit(argument, scope) for argument in node.arguments]
        maybe_associative = any(type_.may_be_associative for _, type_ in visited)
        if node.name == "dyn" and visited:
            return Call("dyn", None, (visited[0][0],)), CelType(maybe_associative=maybe_associative)
        if node.name == "string" and visited and visited[0][1].kind in ("ip", "cidr"):
            argument, type_ = visited[0]
            return Index(argument, Literal(f"'{type_.kind}'", "string")), STRING
        result_type = RESULT_TYPES.get(node.name, CelType(maybe_associative=maybe_associative))
        return Call(node.name, None, tuple(argument for argument, _ in visited)), result_type

    def _visit_has(self, node: Node, scope: Scope) -> Node:
        if not isinstance(node, Select):
            raise RefusedRule("invalid argument to has() macro")
        select, type_ = self._visit_select(node, scope)
        has = Call("has", None, (select,))
        guarded, _ = self._guard(select, type_)
        if guarded is select:
            return has
        # A server reports an integer that it cannot read even when a rule only tests for its presence.
        size = Call("size", None, (ListNode(((guarded, False),)),))
        return Binary("&&", has, Binary("==", size, Literal("1", "integer")))

    def _visit_method(self, node: Call, receiver_node: Node, scope: Scope) -> TypedNode:
        if isinstance(receiver_node, Name) and receiver_node.name not in scope:
            return self._visit_qualified(node, receiver_node.name, scope)
        if node.name == "matches" and (error := literal_error(node.name, node.arguments)):
            raise RefusedRule(error)
        receiver, type_ = self.visit(receiver_node, scope)
        # Only the arguments of a format may be a list of several types.
        same_type = node.name != "format"
        visited = [
            self._visit_list(argument.elements, scope, same_type=same_type)
            if isinstance(argument, ListNode)
            else self.visit(argument, scope)
            for argument in node.arguments
        ]
        arguments = tuple(argument for argument, _ in visited)
        if type_.optional:
            return self._visit_optional_method(node.name, receiver, type_, visited)
        if node.name in USES_EQUALITY and type_.kind in ("", "array") and self._is_associative:
            check_elements(type_)
        if node.name == "reverse":
            return Call(f"{PREFIX}reverse", None, (receiver,)), list_of(type_.items)
        if node.name in ("indexOf", "lastIndexOf") and type_.kind == "array" and len(arguments) == 1:
            return Call(f"{PREFIX}{node.name}", None, (receiver, *arguments)), INTEGER
        if node.name == "validate" and len(arguments) == 1:
            errors = Call(f"{PREFIX}format_errors", None, (receiver, *arguments))
            return wrap_optional(errors), CelType(optional=True)
        if node.name in ("first", "last") and not arguments:
            index: Node = Literal("0", "integer")
            if node.name == "last":
                index = Binary("-", Call("size", None, (receiver,)), Literal("1", "integer"))
            return Index(receiver, index, optional=True), optional_of(type_.items)
        call = Call(node.name, receiver, arguments)
        if node.name in _RETURNING_LISTS:
            return call, list_of(type_.items)
        if node.name in ("min", "max"):
            return call, type_.items
        operand_types = (type_, *(argument_type for _, argument_type in visited))
        maybe_associative = any(operand_type.may_be_associative for operand_type in operand_types)
        return call, RESULT_TYPES.get(node.name, CelType(maybe_associative=maybe_associative))

    def _visit_qualified(self, node: Call, prefix: str, scope: Scope) -> TypedNode:
        """Rewrite a call of a function with a qualified name, such as ``sets.contains``."""
        visited = [self.visit(argument, scope) for argument in node.arguments]
        arguments = tuple(argument for argument, _ in visited)
        if prefix == "sets" and self._is_associative:
            for _, type_ in visited:
                check_elements(type_)
        if (prefix, node.name, len(arguments)) == ("format", "named", 1):
            formats = Call(f"{PREFIX}formats", None, arguments)
            return wrap_optional(formats, first=True), CelType(optional=True)
        if (prefix, node.name) == ("optional", "of"):
            result_type = optional_of(visited[0][1]) if visited else DYNAMIC
        elif prefix == "optional":
            result_type = CelType(optional=True)
        else:
            result_type = BOOLEAN if prefix == "sets" else DYNAMIC
        return Call(node.name, node.receiver, arguments), result_type

    def _visit_optional_method(
        self, name: str, receiver: Node, type_: CelType, visited: list[TypedNode]
    ) -> TypedNode:
        call = Call(name, receiver, tuple(argument for argument, _ in visited))
        content = content_of(type_)
        match name, visited:
            case "value", []:
                return self._guard(call, content)
            case "orValue", [(default, default_type)]:
                # A default that the rule creates is compared in order, a stored value by its schema.
                is_consistent = (
                    not content.is_associative
                    or default_type.schema == content.schema
                    or default == ListNode(())
                )
                return self._guard(call, content if is_consistent else MAYBE_ASSOCIATIVE)
            case "or", [(_, alternative_type)]:
                return call, common_type(type_, alternative_type)
            case "hasValue", []:
                return call, BOOLEAN
            case _:
                return call, CelType(maybe_associative=type_.may_be_associative)

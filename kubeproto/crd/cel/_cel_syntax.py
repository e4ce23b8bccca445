"""The syntax of CEL: an expression as a tree, and a tree as an expression.

The library evaluates only source. The additions of Kubernetes depend on the schema of the values, so rules
are parsed, rewritten as trees, and written again. Grammar:
https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

T = TypeVar("T")


class CelSyntaxError(ValueError):
    """The text is not a CEL expression."""


class Literal(Struct, frozen=True):
    """A literal as in the source; `kind` is its type in a schema, or "null"."""

    text: str
    kind: str


class Name(Struct, frozen=True):
    """A variable, a type, or the first part of a qualified function name."""

    name: str


class Select(Struct, frozen=True):
    """``operand.name``, or ``operand.?name``."""

    operand: Node
    name: str
    optional: bool = False


class Index(Struct, frozen=True):
    """``operand[index]``, or ``operand[?index]``."""

    operand: Node
    index: Node
    optional: bool = False


class Call(Struct, frozen=True):
    """A call of a function or macro, on a receiver or without one."""

    name: str
    receiver: Node | None
    arguments: tuple[Node, ...]


class ListNode(Struct, frozen=True):
    """``[a, ?b]``: the elements, each with True if it is optional."""

    elements: tuple[tuple[Node, bool], ...]


class MapNode(Struct, frozen=True):
    """``{a: b, ?c: d}``: keys and values, each with True if it is optional."""

    entries: tuple[tuple[Node, Node, bool], ...]


class Unary(Struct, frozen=True):
    """``!operand`` or ``-operand``."""

    operator: str
    operand: Node


class Binary(Struct, frozen=True):
    """``left operator right``."""

    operator: str
    left: Node
    right: Node


class Ternary(Struct, frozen=True):
    """``test ? yes : no``."""

    test: Node
    yes: Node
    no: Node


Node = Literal | Name | Select | Index | Call | ListNode | MapNode | Unary | Binary | Ternary

_TOKEN: Final = re.compile(
    r"""(?P<whitespace>(?:[ \t\r\n\f]|//[^\n]*)+)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
        |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'))
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<int>(?:0[xX][0-9a-fA-F]+|\d+)[uU]?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
# In raw strings a backslash is literal, so that a quote after it ends the string.
_RAW: Final = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\r\n]*"|'[^'\r\n]*')""", re.DOTALL
)
RESERVED: Final = frozenset((
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
))  # fmt: skip
_CONSTANTS: Final = {"true": "boolean", "false": "boolean", "null": "null"}
_LEVELS: Final = (("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_LEVEL_OF: Final = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_MEMBER_LEVEL: Final = len(_LEVELS)  # of the operand of a dot, a bracket or a unary operator
# A server's parser refuses more than 250 levels; this parser uses eight of Python's thousand frames per
# level.
_MAX_DEPTH: Final = 60


@functools.lru_cache(maxsize=1024)
def parse(source: str) -> Node:
    """Return the tree of an expression; or raise `CelSyntaxError`, or RecursionError if it is too deep."""
    parser = _Parser(_tokenize(source))
    node = parser.parse_expression()
    parser.expect_end()
    return node


def write(node: Node, min_level: int = -1) -> str:
    """Return the source of a tree, in parentheses if the level of its operator is below `min_level`.

    It has only the necessary parentheses, because the library refuses more than 32 levels.
    """
    match node:
        case Literal(text=text):
            return f"({text})" if text.startswith("-") and min_level > 0 else text
        case Name(name=name):
            return name
        case Select(operand=operand, name=name, optional=optional):
            return f"{write(operand, _MEMBER_LEVEL)}.{'?' if optional else ''}{name}"
        case Index(operand=operand, index=index, optional=optional):
            return f"{write(operand, _MEMBER_LEVEL)}[{'?' if optional else ''}{write(index)}]"
        case Call(name=name, receiver=receiver, arguments=arguments):
            prefix = "" if receiver is None else f"{write(receiver, _MEMBER_LEVEL)}."
            return f"{prefix}{name}({', '.join(map(write, arguments))})"
        case ListNode(elements=elements):
            return (
                f"[{', '.join(('?' if optional else '') + write(element) for element, optional in elements)}]"
            )
        case MapNode(entries=entries):
            members = (f"{'?' if optional else ''}{write(k)}: {write(v)}" for k, v, optional in entries)
            return f"{{{', '.join(members)}}}"
        case Unary(operator=operator, operand=operand):
            text = f"{operator}{write(operand, _MEMBER_LEVEL)}"
            return f"({text})" if min_level > 0 else text
        case Binary(operator=operator, left=left, right=right):
            level = _LEVEL_OF[operator]
            text = f"{write(left, level)} {operator} {write(right, level + 1)}"
            return f"({text})" if level < min_level else text
        case Ternary(test=test, yes=yes, no=no):
            text = f"{write(test, 0)} ? {write(yes, 0)} : {write(no)}"
            return f"({text})" if min_level >= 0 else text


def string_content(literal: str) -> str | None:
    """Return the content of a string literal; None if it has escapes, which the library interprets."""
    quoted = literal.lstrip("rR")
    is_raw = quoted != literal
    content = quoted[3:-3] if quoted[:3] in ('"""', "'''") else quoted[1:-1]
    return content if is_raw or "\\" not in content else None


def _tokenize(source: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(source):
        raw = _RAW.match(source, position)
        match = raw or _TOKEN.match(source, position)
        if match is None:
            raise CelSyntaxError(
                f"Syntax error: token recognition error at: {source[position : position + 10]!r}"
            )
        kind = "text" if raw else str(match.lastgroup)
        if kind != "whitespace":
            tokens.append((kind, match[0]))
        position = match.end()
    return tokens


class _Parser:
    """Reads the tokens of one expression from left to right."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def expect_end(self) -> None:
        """Refuse other tokens."""
        if self._position < len(self._tokens):
            raise CelSyntaxError(f"Syntax error: extraneous input {self._next!r} expecting <EOF>")

    def parse_expression(self) -> Node:
        """Parse an expression: an operation, or a conditional."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise RecursionError("the expression is nested too deeply")
        node = self._parse_operation(0)
        if self._take("?"):
            # An operation, not an expression: `a ? b ? c : d : e` needs parentheses.
            yes = self._parse_operation(0)
            self._expect(":")
            node = Ternary(node, yes, self.parse_expression())
        self._depth -= 1
        return node

    def _parse_operation(self, min_level: int) -> Node:
        """Parse an operation whose operators have at least this level."""
        node = self._parse_unary()
        while (level := _LEVEL_OF.get(self._next, -1)) >= min_level:
            operator = self._next
            self._position += 1
            node = Binary(operator, node, self._parse_operation(level + 1))
        return node

    def _parse_unary(self) -> Node:
        for operator in "!", "-":
            count = 0
            while self._take(operator):
                count += 1
            if count:
                return self._parse_signed(operator, count)
        return self._parse_member(self._parse_primary())

    def _parse_signed(self, operator: str, count: int) -> Node:
        kind, text = self._tokens[self._position] if self._position < len(self._tokens) else ("", "")
        # The minus of a literal is part of it, so that the smallest number can be written.
        if operator == "-" and count == 1 and kind in ("int", "float") and text[-1] not in "uU":
            self._position += 1
            return self._parse_member(Literal(f"-{text}", "integer" if kind == "int" else "number"))
        node = self._parse_member(self._parse_primary())
        for _ in range(count):
            node = Unary(operator, node)
        return node

    def _parse_member(self, node: Node) -> Node:
        while True:
            if self._take("."):
                optional = self._take("?")
                name = self._parse_identifier()
                if not optional and self._take("("):
                    node = Call(name, node, self._parse_sequence(")", self.parse_expression))
                else:
                    node = Select(node, name, optional)
            elif self._take("["):
                optional = self._take("?")
                node = Index(node, self.parse_expression(), optional)
                self._expect("]")
            else:
                return node

    def _parse_primary(self) -> Node:
        kind, text = self._tokens[self._position] if self._position < len(self._tokens) else ("", "")
        self._position += 1
        match kind, text:
            case "text", _:
                return Literal(
                    text, "bytes" if "b" in text.lower().partition(_first_quote(text))[0] else "string"
                )
            case "int", _:
                return Literal(text, "unsigned" if text[-1] in "uU" else "integer")
            case "float", _:
                return Literal(text, "number")
            case "word", _ if text in _CONSTANTS:
                return Literal(text, _CONSTANTS[text])
            case ("word", _) | ("sign", "."):
                self._position -= text != "."
                return self._parse_name("." if text == "." else "")
            case "sign", "(":
                node = self.parse_expression()
                self._expect(")")
                return node
            case "sign", "[":
                return ListNode(self._parse_sequence("]", self._parse_element))
            case "sign", "{":
                return MapNode(self._parse_sequence("}", self._parse_entry))
            case _:
                raise CelSyntaxError(f"Syntax error: mismatched input {text or '<EOF>'!r}")

    def _parse_name(self, dot: str) -> Node:
        name = self._parse_identifier()
        if name in RESERVED:
            raise CelSyntaxError(f"reserved identifier: {name}")
        if self._take("("):
            return Call(dot + name, None, self._parse_sequence(")", self.parse_expression))
        return Name(dot + name)

    def _parse_element(self) -> tuple[Node, bool]:
        optional = self._take("?")
        return self.parse_expression(), optional

    def _parse_entry(self) -> tuple[Node, Node, bool]:
        optional = self._take("?")
        key = self.parse_expression()
        self._expect(":")
        return key, self.parse_expression(), optional

    def _parse_sequence(self, end: str, parse_item: Callable[[], T]) -> tuple[T, ...]:
        items: list[T] = []
        while not self._take(end):
            items.append(parse_item())
            if not self._take(","):
                self._expect(end)
                break
            # A comma may follow the last element, but not the last argument.
            if end == ")" and self._next == end:
                raise CelSyntaxError("Syntax error: mismatched input ')'")
        return tuple(items)

    @property
    def _next(self) -> str:
        if self._position == len(self._tokens):
            return "<EOF>"
        kind, text = self._tokens[self._position]
        return text if kind in ("sign", "word") else f"literal {text}"

    def _take(self, sign: str) -> bool:
        is_next = self._next == sign
        self._position += is_next
        return is_next

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise CelSyntaxError(f"Syntax error: mismatched input {self._next!r} expecting {sign!r}")

    def _parse_identifier(self) -> str:
        kind, text = self._tokens[self._position] if self._position < len(self._tokens) else ("", "<EOF>")
        if kind != "word" or text in _CONSTANTS or text == "in":
            raise CelSyntaxError(f"Syntax error: mismatched input {text!r} expecting an identifier")
        self._position += 1
        return text


def _first_quote(text: str) -> str:
    return min("'\"", key=lambda quote: text.find(quote) if quote in text else len(text))

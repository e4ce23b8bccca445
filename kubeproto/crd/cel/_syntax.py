"""The syntax of CEL: an expression as a tree, and a tree as an expression.

The library evaluates only source, and what Kubernetes adds to CEL depends on the schema of the values, which
only a tree can be compared with. Grammar:
https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

T = TypeVar("T")


class SyntaxFault(ValueError):
    """A text that is not a CEL expression."""


class Literal(Struct, frozen=True):
    """A literal as it was written; `kind` is what its type is called in a schema, or "null"."""

    text: str
    kind: str


class Name(Struct, frozen=True):
    """A variable, a type, or the first part of a qualified function name."""

    name: str


class Select(Struct, frozen=True):
    """``of.name``, or ``of.?name``."""

    of: Node
    name: str
    optional: bool = False


class Index(Struct, frozen=True):
    """``of[at]``, or ``of[?at]``."""

    of: Node
    at: Node
    optional: bool = False


class Call(Struct, frozen=True):
    """A call of a function or macro, on a receiver or without one."""

    name: str
    of: Node | None
    arguments: tuple[Node, ...]


class ListOf(Struct, frozen=True):
    """``[a, ?b]``; each element with whether it is optional."""

    elements: tuple[tuple[Node, bool], ...]


class MapOf(Struct, frozen=True):
    """``{a: b, ?c: d}``."""

    entries: tuple[tuple[Node, Node, bool], ...]


class Unary(Struct, frozen=True):
    """``!of`` or ``-of``."""

    operator: str
    of: Node


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


Node = Literal | Name | Select | Index | Call | ListOf | MapOf | Unary | Binary | Ternary

_TOKEN: Final = re.compile(
    r"""(?P<blank>(?:[ \t\r\n\f]|//[^\n]*)+)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
        |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'))
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<int>(?:0[xX][0-9a-fA-F]+|\d+)[uU]?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
# In these a backslash is literal, so that a quote after one ends the string.
_RAW: Final = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\r\n]*"|'[^'\r\n]*')""", re.DOTALL
)
RESERVED: Final = frozenset((
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
))  # fmt: skip
_CONSTANTS: Final = {"true": "boolean", "false": "boolean", "null": "null"}
_LEVELS: Final = (("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_BINDING: Final = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_MEMBER: Final = len(_LEVELS)  # of the operand of a dot or bracket, or of a unary sign
# A server's parser refuses more than 250; this one takes eight calls a level, of Python's thousand.
_DEEPEST: Final = 60


@functools.lru_cache(maxsize=1024)
def parse(source: str) -> Node:
    """Return the tree of an expression.

    `SyntaxFault` if it is not one, RecursionError if nested too deeply.
    """
    parser = _Parser(_tokens(source))
    found = parser.expression()
    parser.end()
    return found


def write(node: Node, lowest: int = -1) -> str:
    """Return an expression with this tree, in parentheses if its sign binds less strongly than the `lowest`.

    It has only the necessary parentheses: the library refuses more than 32 levels.
    """
    match node:
        case Literal(text=text):
            return f"({text})" if text.startswith("-") and lowest > 0 else text
        case Name(name=name):
            return name
        case Select(of=of, name=name, optional=optional):
            return f"{write(of, _MEMBER)}.{'?' if optional else ''}{name}"
        case Index(of=of, at=at, optional=optional):
            return f"{write(of, _MEMBER)}[{'?' if optional else ''}{write(at)}]"
        case Call(name=name, of=of, arguments=arguments):
            receiver = "" if of is None else f"{write(of, _MEMBER)}."
            return f"{receiver}{name}({', '.join(map(write, arguments))})"
        case ListOf(elements=elements):
            return f"[{', '.join(('?' if optional else '') + write(one) for one, optional in elements)}]"
        case MapOf(entries=entries):
            written = (f"{'?' if optional else ''}{write(k)}: {write(v)}" for k, v, optional in entries)
            return f"{{{', '.join(written)}}}"
        case Unary(operator=operator, of=of):
            text = f"{operator}{write(of, _MEMBER)}"
            return f"({text})" if lowest > 0 else text
        case Binary(operator=operator, left=left, right=right):
            level = _BINDING[operator]
            text = f"{write(left, level)} {operator} {write(right, level + 1)}"
            return f"({text})" if level < lowest else text
        case Ternary(test=test, yes=yes, no=no):
            text = f"{write(test, 0)} ? {write(yes, 0)} : {write(no)}"
            return f"({text})" if lowest >= 0 else text


def plain_text(literal: str) -> str | None:
    """Return the content of a string literal; None if it has escapes, which are left to the library."""
    quoted = literal.lstrip("rR")
    raw = quoted != literal
    held = quoted[3:-3] if quoted[:3] in ('"""', "'''") else quoted[1:-1]
    return held if raw or "\\" not in held else None


def _tokens(source: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(source):
        raw = _RAW.match(source, at)
        match = raw or _TOKEN.match(source, at)
        if match is None:
            raise SyntaxFault(f"Syntax error: token recognition error at: {source[at : at + 10]!r}")
        kind = "text" if raw else str(match.lastgroup)
        if kind != "blank":
            found.append((kind, match[0]))
        at = match.end()
    return found


class _Parser:
    """Reads the tokens of one expression from left to right."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def end(self) -> None:
        """Refuse whatever follows."""
        if self._at < len(self._tokens):
            raise SyntaxFault(f"Syntax error: extraneous input {self._next!r} expecting <EOF>")

    def expression(self) -> Node:
        """Read a whole expression: an operation, or a conditional."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError("the expression is nested too deeply")
        found = self._operation(0)
        if self._take("?"):
            # An operation, not a whole expression: `a ? b ? c : d : e` needs parentheses.
            yes = self._operation(0)
            self._expect(":")
            found = Ternary(found, yes, self.expression())
        self._depth -= 1
        return found

    def _operation(self, lowest: int) -> Node:
        """Read an operation by signs that bind at least as strongly as the `lowest`."""
        found = self._unary()
        while (level := _BINDING.get(self._next, -1)) >= lowest:
            operator = self._next
            self._at += 1
            found = Binary(operator, found, self._operation(level + 1))
        return found

    def _unary(self) -> Node:
        for operator in "!", "-":
            count = 0
            while self._take(operator):
                count += 1
            if count:
                return self._signed(operator, count)
        return self._member(self._primary())

    def _signed(self, operator: str, count: int) -> Node:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        # The minus of a literal is part of it, so that the smallest number can be written.
        if operator == "-" and count == 1 and kind in ("int", "float") and text[-1] not in "uU":
            self._at += 1
            return self._member(Literal(f"-{text}", "integer" if kind == "int" else "number"))
        found = self._member(self._primary())
        for _ in range(count):
            found = Unary(operator, found)
        return found

    def _member(self, found: Node) -> Node:
        while True:
            if self._take("."):
                optional = self._take("?")
                name = self._word()
                if not optional and self._take("("):
                    found = Call(name, found, self._listed(")", self.expression))
                else:
                    found = Select(found, name, optional)
            elif self._take("["):
                optional = self._take("?")
                found = Index(found, self.expression(), optional)
                self._expect("]")
            else:
                return found

    def _primary(self) -> Node:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        self._at += 1
        match kind, text:
            case "text", _:
                return Literal(text, "bytes" if "b" in text.lower().partition(_quote(text))[0] else "string")
            case "int", _:
                return Literal(text, "unsigned" if text[-1] in "uU" else "integer")
            case "float", _:
                return Literal(text, "number")
            case "word", _ if text in _CONSTANTS:
                return Literal(text, _CONSTANTS[text])
            case ("word", _) | ("sign", "."):
                self._at -= text != "."
                return self._named("." if text == "." else "")
            case "sign", "(":
                found = self.expression()
                self._expect(")")
                return found
            case "sign", "[":
                return ListOf(self._listed("]", self._element))
            case "sign", "{":
                return MapOf(self._listed("}", self._entry))
            case _:
                raise SyntaxFault(f"Syntax error: mismatched input {text or '<EOF>'!r}")

    def _named(self, dot: str) -> Node:
        name = self._word()
        if name in RESERVED:
            raise SyntaxFault(f"reserved identifier: {name}")
        if self._take("("):
            return Call(dot + name, None, self._listed(")", self.expression))
        return Name(dot + name)

    def _element(self) -> tuple[Node, bool]:
        optional = self._take("?")
        return self.expression(), optional

    def _entry(self) -> tuple[Node, Node, bool]:
        optional = self._take("?")
        key = self.expression()
        self._expect(":")
        return key, self.expression(), optional

    def _listed(self, end: str, read: Callable[[], T]) -> tuple[T, ...]:
        found: list[T] = []
        while not self._take(end):
            found.append(read())
            if not self._take(","):
                self._expect(end)
                break
            # A comma may follow the last element, but not the last argument.
            if end == ")" and self._next == end:
                raise SyntaxFault("Syntax error: mismatched input ')'")
        return tuple(found)

    @property
    def _next(self) -> str:
        if self._at == len(self._tokens):
            return "<EOF>"
        kind, text = self._tokens[self._at]
        return text if kind in ("sign", "word") else f"literal {text}"

    def _take(self, sign: str) -> bool:
        taken = self._next == sign
        self._at += taken
        return taken

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise SyntaxFault(f"Syntax error: mismatched input {self._next!r} expecting {sign!r}")

    def _word(self) -> str:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "<EOF>")
        if kind != "word" or text in _CONSTANTS or text == "in":
            raise SyntaxFault(f"Syntax error: mismatched input {text!r} expecting an identifier")
        self._at += 1
        return text


def _quote(text: str) -> str:
    return min("'\"", key=lambda one: text.find(one) if one in text else len(text))

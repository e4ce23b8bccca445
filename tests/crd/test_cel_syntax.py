"""Expressions are parsed as trees, and trees written as expressions."""

from __future__ import annotations

from typing import Any, Final

import pytest
from cel_rules import ROWS
from hypothesis import given, strategies as st

from kubeproto.crd import NotEvaluated, Passed, RuleViolated, check_rules
from kubeproto.crd.cel._cel_syntax import (
    Binary,
    Call,
    CelSyntaxError,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Select,
    Ternary,
    Unary,
    parse,
    write,
)

TOKENS: Final = (
    "self", "a", "in", "true", "null", "1", "-1", "1.5", "2u", "0x1F", "@", "'",
    "'s'", '"""t"""', "r'\\d'", "b'x'", "(",
    ")", "[", "]", "{", "}", ".", ".?", "?", ":", ",", "+", "-", "!", "&&", "||", "==", "<", "//c\n", " ",
    "all",
)  # fmt: skip
A, B, ONE = Name("a"), Name("b"), Literal("1", "integer")


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("a + b * 1", Binary("+", A, Binary("*", B, ONE))),
        ("a - b - 1", Binary("-", Binary("-", A, B), ONE)),
        ("a || b && 1", Binary("||", A, Binary("&&", B, ONE))),
        ("a < b == 1", Binary("==", Binary("<", A, B), ONE)),
        ("-1", Literal("-1", "integer")),
        ("- -1", Unary("-", Unary("-", ONE))),
        ("!!a", Unary("!", Unary("!", A))),
        ("-a.b", Unary("-", Select(A, "b"))),
        ("a ? b : a ? b : 1", Ternary(A, B, Ternary(A, B, ONE))),
        ("a.?b[?1]", Index(Select(A, "b", optional=True), ONE, optional=True)),
        ("a.b(1, )".replace(", ", ""), Call("b", A, (ONE,))),
        ("[?a, 1,]", ListNode(((A, True), (ONE, False)))),
        ("{a: 1, ?b: a}", MapNode(((A, ONE, False), (B, A, True)))),
        ("a // why\n in b", Binary("in", A, B)),
        ("r'\\'", Literal("r'\\'", "string")),
        ('b"x"', Literal('b"x"', "bytes")),
        ("1u", Literal("1u", "unsigned")),
        ("a.namespace", Select(A, "namespace")),
    ],
)
def test_an_expression_is_parsed_as_its_tree(source: str, tree: Any) -> None:
    assert parse(source) == tree


@pytest.mark.parametrize(
    "source",
    [
        "",
        "a b",
        "a +",
        "(a",
        "[a",
        "a.in",
        "for",
        "a ? b",
        "a ? b ? a : b : 1",
        "f(1,)",
        "{a}",
        "'x",
        "a @ b",
        "1 = 2",
    ],
)
def test_an_invalid_expression_is_a_syntax_error(source: str) -> None:
    with pytest.raises(CelSyntaxError):
        parse(source)


@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
def test_any_text_is_a_tree_that_can_be_written_and_parsed_or_a_syntax_error(source: str) -> None:
    try:
        tree = parse(source)
    except CelSyntaxError:
        return
    assert parse(write(tree)) == tree


def test_the_rules_of_the_table_can_be_written_and_parsed_again() -> None:
    for _, _, rule, _, end in ROWS:
        if "yntax error" not in end and "reserved" not in end:
            assert parse(write(parse(rule))) == parse(rule)


@pytest.mark.parametrize("rule", ["(" * 1000, "(" * 50 + "true" + ")" * 50, "!" * 5000 + "true"], ids=len)
def test_a_rule_that_is_nested_too_deeply_is_not_evaluated(rule: str) -> None:
    deep = {"type": "integer", "x-kubernetes-validations": [{"rule": rule}]}
    (outcome,) = check_rules(deep, 1)
    assert isinstance(outcome, Passed if rule[50:51] == "t" else NotEvaluated)


def test_a_long_rule_is_evaluated() -> None:
    wide = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0" + " && true" * 60}]}
    (failed,) = check_rules(wide, 0)
    assert isinstance(failed, RuleViolated)

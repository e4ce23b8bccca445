"""Each rule ends as passed, failed or not evaluated: the topics of Kubernetes' documentation, row by row.

The rows are also a table for users, in docs/cel.md; a test keeps the two the same.
"""

from __future__ import annotations

import importlib
from typing import Any

import cel_table
import pytest

from kubeproto.crd import NotEvaluated, Passed, RuleViolated, check_rules, validate
from kubeproto.crd.cel._evaluation import _environment

INT = {"type": "integer"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
STRING = {"type": "string"}
DATE = {"type": "string", "format": "date-time"}
SPAN = {"type": "string", "format": "duration"}
SET = {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


class Old:
    """A value, and what it was before."""

    def __init__(self, value: Any, old: Any) -> None:
        self.value, self.old = value, old

    def __repr__(self) -> str:
        return f"{self.value} after {self.old}"


NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to"
    " complete validation"
)
PASSED, FAILED = "passed", "failed"
ODD_NAMES = {"in": 1, "x-y": 2}
BEFORE = {"a": "2019-01-01T00:00:00Z"}
# Topic, schema, rule, value, and how it ends: passed, failed, or why it was not evaluated.
ROWS: list[tuple[str, dict[str, Any], str, Any, str]] = [
    ("scalars", INT, "self > 0", 1, PASSED),
    ("scalars", INT, "self > 0", 0, FAILED),
    ("scalars", {"type": "number"}, "self > 1.5", 2, PASSED),
    ("scalars", thing(a={"type": "number"}), "self.a / 2.0 == 0.5", {"a": 1}, PASSED),
    ("scalars", {"type": "string", "format": "byte"}, "self == b'hi'", "aGk=", PASSED),
    ("scalars", STRING, "self.startsWith('kube')", "kubeproto", PASSED),
    ("scalars", INT_OR_STRING, "type(self) == string ? self == '5%' : self > 1", 5, PASSED),
    ("scalars", INT, "self > 'a'", 1, "no matching overload"),
    ("scalars", thing(a=INT), "self.a == 'x'", {"a": 1}, "it compares integer with 'x'"),
    ("scalars", thing(a=INT), "self.a / 0 == 1", {"a": 1}, FAILED),
    ("has", thing(a=INT), "has(self.a)", {"a": 0}, PASSED),
    ("has", thing(a=INT), "!has(self.a) || self.a > 5", {}, PASSED),
    ("has", thing(a=INT), "self.a > 5", {}, FAILED),
    ("has", thing(a=INT), "has(self.b)", {"a": 1}, "the schema types no field .b"),
    ("has", thing(a={**INT, "nullable": True}), "self.a == null", {"a": None}, "it compares integer with null"),  # noqa: E501
    ("has", thing(a={**INT, "nullable": True}), "has(self.a)", {"a": None}, FAILED),
    ("scalars", {"type": "number"}, "self > 1", 2, PASSED),
    ("scalars", {"type": "number"}, "self == 1", 2, "no matching overload"),
    ("lists", list_of(INT), "self.distinct() == [1]", [1, 1], PASSED),
    ("lists", list_of(INT), "self.sort() == [1, 2]", [2, 1], PASSED),
    ("lists", list_of(INT), "self.reverse() == [2, 1]", [1, 2], "no matching overload for 'reverse'"),
    ("strings", STRING, "self.reverse() == 'ba'", "ab", "strings have no reverse()"),
    ("sets and map lists", SET, "self == ['b', 'a']", ["a", "b"], "== ignores the order"),
    ("sets and map lists", SET, "self.all(x, x != 'c') && size(self) == 1", ["a"], PASSED),
    ("lists", list_of(STRING), "sets.intersects(self, ['a'])", ["b"], FAILED),
    ("lists", list_of(STRING), "sets.equivalent(self, ['a'])", ["a", "a"], PASSED),
    ("names", thing(**{"in": INT, "x-y": INT}), "self.__in__ + self.x__dash__y == 3", ODD_NAMES, PASSED),
    ("lists", list_of(INT), "self.all(x, x > 0)", [1, 2], PASSED),
    ("lists", list_of(STRING), "self.exists_one(x, x == 'a')", ["a", "a"], FAILED),
    ("lists", list_of(INT), "self.isSorted() && self.sum() == 6 && self.max() == 3", [1, 2, 3], PASSED),
    ("lists", list_of(INT), "self.min() > 0", [], FAILED),
    ("lists", list_of(INT), "self[3] == 1", [1], FAILED),
    ("lists", list_of(INT), "self.map(x, x * 2).filter(x, x > 2).size() == 1", [1, 2], PASSED),
    ("lists", list_of(INT), "self.indexOf(1) == 0", [1], "no matching overload for 'indexOf'"),
    ("lists", list_of(STRING), "sets.contains(self, ['a'])", ["a"], PASSED),
    ("sets and map lists", SET, "self.exists(x, x == 'a')", ["b", "a"], PASSED),
    ("sets and map lists", SET, "self == ['a', 'b']", ["b", "a"], "== ignores the order"),
    ("sets and map lists", SET, "size(self + ['a']) == 2", ["a", "b"], "+ merges lists"),
    ("maps", map_of(INT), "self.all(k, self[k] > 0)", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self['x'] == 1", {"y": 1}, FAILED),
    ("maps", map_of(INT), "'x' in self", {"y": 1}, FAILED),
    ("maps", map_of(INT), "self.all(k, v, v > 0)", {"y": 1}, "undeclared reference to 'k'"),
    ("oldSelf", INT, "self >= oldSelf", Old(2, 1), PASSED),
    ("oldSelf", INT, "self >= oldSelf", Old(1, 2), FAILED),
    ("oldSelf", INT, "self >= oldSelf", 1, "there is none"),
    ("oldSelf", INT, "self > 5", Old(1, 1), "so a server only warns"),
    ("quantities", STRING, "quantity(self).isLessThan(quantity('2Gi'))", "1Gi", PASSED),
    ("quantities", STRING, "quantity(self) == quantity('1024Mi')", "1Gi", PASSED),
    ("quantities", STRING, "quantity(self).add(quantity('1')).sub(1).asInteger() == 1", "1", PASSED),
    ("quantities", STRING, "quantity(self).isInteger() && quantity(self).asInteger() == 1000", "1k", PASSED),
    ("quantities", STRING, "quantity(self).compareTo(quantity('2')) == 1", "1", FAILED),
    ("quantities", STRING, "quantity(self).isGreaterThan(quantity('1'))", "1", FAILED),
    ("quantities", STRING, "isQuantity(self)", "a lot", FAILED),
    ("quantities", STRING, "sign(quantity(self)) == 1", "a lot", FAILED),
    ("dates", DATE, "self > timestamp('2020-01-01T00:00:00Z')", "2021-01-01T00:00:00Z", PASSED),
    ("dates", DATE, "self.getFullYear() == 2020", "2021-01-01T00:00:00Z", FAILED),
    ("dates", thing(a=DATE, n=INT), "self.a < timestamp('2020-01-01T00:00:00Z')", BEFORE, PASSED),
    ("dates", thing(d=SPAN), "self.d < duration('1h')", {"d": "10m"}, PASSED),
    ("dates", {"type": "string", "format": "date"}, "self.getDayOfMonth() == 30", "2026-01-31", PASSED),
    ("dates", DATE, "self >= oldSelf", Old("2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"), FAILED),
    ("dates", DATE, "self == '2021-01-01T00:00:00Z'", "2021-01-01T00:00:00Z", "no matching overload"),
    ("strings", STRING, "self.find('[0-9]+') == '12'", "ab12", PASSED),
    ("strings", STRING, "self.findAll('[a-z]', 1) == ['a']", "ab", PASSED),
    ("strings", STRING, "self.matches('^a$')", "b", FAILED),
    ("strings", STRING, "self.split('-')[0].upperAscii() == 'A'", "a-b", PASSED),
    ("format", STRING, "'%s!'.format([self]) == 'a!'", "a", PASSED),
    ("format", STRING, "!format.uuid().validate(self).hasValue()", "a", "undeclared reference to 'format'"),
    ("optional types", thing(a=INT), "self.?a.orValue(3) == 3", {}, PASSED),
    ("optional types", thing(a=INT), "self.?a.hasValue()", {}, FAILED),
    ("optional types", list_of(INT), "self[?9].orValue(0) == 0", [1], PASSED),
    ("addresses", STRING, "ip(self).family() == 4", "10.0.0.1", PASSED),
    ("addresses", STRING, "isIP(self)", "10.0.0.256", FAILED),
    ("addresses", STRING, "cidr('10.0.0.0/8').containsIP(self)", "11.0.0.1", FAILED),
    ("addresses", STRING, "cidr('10.0.0.0/8').containsCIDR(cidr(self))", "10.1.0.0/16", PASSED),
    ("addresses", STRING, "url(self).getHost() == 'a'", "https://a", "undeclared reference to 'url'"),
    ("versions", STRING, "semver(self).major() == 1", "1.0.0", "undeclared reference to 'semver'"),
    ("rules that are wrong", INT, "self >", 1, "Syntax error"),
    ("rules that are wrong", INT, "self + 1", 1, "neither true nor false"),
    ("rules that are wrong", INT, "true) || (true", 1, "Syntax error"),
]  # fmt: skip


def outcomes(schema: dict[str, Any], rule: dict[str, Any], value: Any) -> list[Any]:
    whole = thing(f={**schema, "x-kubernetes-validations": [rule]})
    if isinstance(value, Old):
        return check_rules(whole, {"f": value.value}, {"f": value.old})
    return check_rules(whole, {"f": value})


@pytest.mark.parametrize(
    ("topic", "schema", "rule", "value", "end"), ROWS, ids=[f"{r[2]} {r[4]}" for r in ROWS]
)
def test_a_rule_ends_as_passed_failed_or_not_evaluated_and_why(
    topic: str, schema: dict[str, Any], rule: str, value: Any, end: str
) -> None:
    del topic
    (outcome,) = outcomes(schema, {"rule": rule}, value)
    match outcome:
        case Passed():
            assert end == PASSED
        case RuleViolated():
            assert end == FAILED
        case _:
            assert end in outcome.why


def test_the_table_in_the_docs_has_these_rows() -> None:
    assert cel_table.DOCS.read_text().endswith(cel_table.lines(ROWS))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2]} {row[3]!r}"[:70] for row in ROWS])
def test_what_passes_or_fails_here_does_so_on_a_real_server(row: Any) -> None:
    if row[4] in (PASSED, FAILED):
        assert cel_table.verdicts()[cel_table.key(row)] == row[4]


OPTIONAL = "oldSelf.hasValue() ? self >= oldSelf.value() : self > 0"


@pytest.mark.parametrize(
    ("value", "end"),
    [(1, Passed), (0, RuleViolated), (Old(2, 1), Passed), (Old(1, 2), RuleViolated)],
    ids=str,
)
def test_an_optional_old_value_lets_a_transition_rule_judge_creations_too(value: Any, end: type) -> None:
    (outcome,) = outcomes(INT, {"rule": OPTIONAL, "optionalOldSelf": True}, value)
    assert type(outcome) is end


def test_an_optional_old_date_is_known_as_a_date() -> None:
    rule = {"rule": "oldSelf.optMap(o, self >= o).orValue(true)", "optionalOldSelf": True}
    early, late = "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"
    found = [outcomes(DATE, rule, value)[0] for value in (early, Old(late, early), Old(early, late))]
    assert [type(one).__name__ for one in found] == ["Passed", "Passed", "RuleViolated"]


def test_rules_are_checked_wherever_they_stand_with_the_path_of_the_value() -> None:
    ruled = {**INT, "x-kubernetes-validations": [{"rule": "self > 0", "message": "more"}]}
    schema = thing(m=map_of(ruled), l=list_of(thing(a=ruled)))
    obj: dict[str, Any] = {"m": {"k": 0, "n": None}, "l": [{"a": 1}, {"a": 0}]}
    assert [str(violation) for violation in validate(schema, obj)] == [
        'm.n: Invalid value: "null": m.n in body must be of type integer: "null"',
        f"<nil>: Invalid value: null: {NOT_CHECKED}",
    ]
    del obj["m"]["n"]
    assert [str(violation) for violation in validate(schema, obj)] == [
        "m[k]: Invalid value: 0: more",
        "l[1].a: Invalid value: 0: more",
    ]


def test_elements_of_a_list_map_are_compared_with_their_old_selves() -> None:
    ruled = {**INT, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}
    items = {**thing(name=STRING, n=ruled), "required": ["name"]}
    keyed = {"type": "array", "items": items, "x-kubernetes-list-type": "map"}
    schema = thing(f={**keyed, "x-kubernetes-list-map-keys": ["name"]})
    old = {"f": [{"name": "a", "n": 5}, {"name": "b", "n": 1}]}
    new = {"f": [{"name": "b", "n": 2}, {"name": "a", "n": 4}, {"name": "c", "n": 0}]}
    assert [(type(one).__name__, one.field) for one in check_rules(schema, new, old)] == [
        ("Passed", "f[0].n"),
        ("RuleViolated", "f[1].n"),
        ("NotEvaluated", "f[2].n"),
    ]


def test_a_rule_at_the_root_sees_the_name_and_nothing_else_of_the_metadata() -> None:
    rule = {"rule": "self.metadata.name == 'a' && !has(self.metadata.labels) && self.kind == 'K'"}
    schema = {**thing(spec=thing(a=INT)), "x-kubernetes-validations": [rule]}
    obj: dict[str, Any] = {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "a", "labels": {}},
        "spec": {"a": 1},
    }
    assert [type(one) for one in check_rules(schema, obj)] == [Passed]


MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({}, "f: Invalid value: 1: failed rule: self > 5"),
    ({"message": " too few "}, "f: Invalid value: 1: too few"),
    ({"messageExpression": "'got %d'.format([self])"}, "f: Invalid value: 1: got 1"),
    ({"message": "m", "messageExpression": "'a\\nb'"}, "f: Invalid value: 1: m"),
    ({"message": "m", "messageExpression": "' '"}, "f: Invalid value: 1: m"),
    ({"message": "m", "messageExpression": "nonsense("}, "f: Invalid value: 1: m"),
    ({"message": "m", "reason": "FieldValueForbidden"}, "f: Forbidden: m"),
    ({"message": "m", "reason": "FieldValueRequired"}, "f: Required value: m"),
    ({"message": "m", "reason": "FieldValueDuplicate"}, "f: Duplicate value: 1"),
]


@pytest.mark.parametrize(("more", "message"), MESSAGES)
def test_a_failure_speaks_as_the_rule_says(more: dict[str, Any], message: str) -> None:
    (outcome,) = outcomes(INT, {"rule": "self > 5", **more}, 1)
    assert str(outcome.violation) == message


def test_a_field_path_moves_the_blame() -> None:
    (outcome,) = outcomes(thing(a=INT), {"rule": "self.a > 5", "fieldPath": ".a"}, {"a": 1})
    assert outcome.violation.field == "f.a"


def test_work_without_end_is_not_evaluated() -> None:
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    rule = f"{ten}.all(a, {ten}.all(b, {ten}.all(c, {ten}.all(d, {ten}.all(e, true)))))"
    (outcome,) = outcomes(INT, {"rule": rule}, 1)
    assert isinstance(outcome, NotEvaluated)
    assert "budget exceeded" in outcome.why


def test_a_text_in_an_object_with_dates_is_only_text_to_the_rule() -> None:
    schema = thing(d=DATE, s=STRING)
    hostile = '"}].map(self, true)[0] || [{"s": "\\u0022\n\'${'
    value = {"d": "2021-01-01T00:00:00Z", "s": hostile}
    (outcome,) = outcomes(schema, {"rule": f"size(self.s) == {len(hostile)}"}, value)
    assert isinstance(outcome, Passed)


def test_without_a_library_no_rule_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    _environment.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    # A rule that no other test compiles, or its compiled form would still be at hand.
    (outcome,) = outcomes(INT, {"rule": "self > 0 && self < 12345"}, 1)
    assert outcome == NotEvaluated(
        "self > 0 && self < 12345", "f", "there is no CEL library here: install the extra cel"
    )


def test_a_rule_that_only_a_server_can_decide_is_given_as_unknown() -> None:
    schema = thing(f={**STRING, "x-kubernetes-validations": [{"rule": "url(self).getHost() == 'a'"}]})
    unknown: list[NotEvaluated] = []
    assert validate(schema, {"f": "https://a"}, unknown=unknown) == []
    assert [one.field for one in unknown] == ["f"]
    transition = thing(f={**INT, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]})
    unknown.clear()
    assert validate(transition, {"f": 1}, unknown=unknown) == []
    assert unknown == []

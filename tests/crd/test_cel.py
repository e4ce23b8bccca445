"""The outcome of each rule is passed, failed or not evaluated, for the topics of Kubernetes' documentation.

The table in docs/cel.md shows the same rows; a test compares them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import cel_table
import pytest
from cel_rules import DATE, FAILED, INT, PASSED, ROWS, SET, STRING, Old, list_of, map_of, thing

from kubeproto.crd import NotEvaluated, Passed, RuleViolated, check_rules, validate

ROOT: Final = Path(__file__).resolve().parents[2]
NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to"
    " complete validation"
)


def outcomes(schema: dict[str, Any], rule: dict[str, Any], value: Any) -> list[Any]:
    schema_of_thing = thing(f={**schema, "x-kubernetes-validations": [rule]})
    if isinstance(value, Old):
        return check_rules(schema_of_thing, {"f": value.value}, {"f": value.old})
    return check_rules(schema_of_thing, {"f": value})


@pytest.mark.parametrize(
    ("topic", "schema", "rule", "value", "end"), ROWS, ids=[f"{r[2]} {r[4]}" for r in ROWS]
)
def test_each_rule_of_the_table_has_its_outcome(
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
            assert end in outcome.reason


def test_the_table_in_the_docs_has_these_rows() -> None:
    assert cel_table.DOCS.read_text().endswith(cel_table.lines(ROWS))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2]} {row[3]!r}"[:70] for row in ROWS])
def test_a_rule_passes_or_fails_here_only_if_it_does_on_a_real_server(row: Any) -> None:
    server_verdict = cel_table.verdicts()[cel_table.key(row)]
    if row[4] in (PASSED, FAILED):
        assert server_verdict in (row[4], "costs too much")
    elif server_verdict == "rule refused":
        return
    else:
        assert "at unknown paths" in row[4] or "there is no old value" in row[4], server_verdict


def test_the_table_has_many_rules() -> None:
    decided = [row for row in ROWS if row[4] in (PASSED, FAILED)]
    assert (len(ROWS), len(decided)) > (125, 125)


OPTIONAL = "oldSelf.hasValue() ? self >= oldSelf.value() : self > 0"


@pytest.mark.parametrize(
    ("value", "end"),
    [(1, Passed), (0, RuleViolated), (Old(2, 1), Passed), (Old(1, 2), RuleViolated)],
    ids=str,
)
def test_a_transition_rule_with_an_optional_old_value_checks_creations_too(value: Any, end: type) -> None:
    (outcome,) = outcomes(INT, {"rule": OPTIONAL, "optionalOldSelf": True}, value)
    assert type(outcome) is end


def test_an_optional_old_date_is_a_timestamp() -> None:
    rule = {"rule": "oldSelf.optMap(o, self >= o).orValue(true)", "optionalOldSelf": True}
    older_date, newer_date = "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"
    outcomes_ = [
        outcomes(DATE, rule, value)[0]
        for value in (older_date, Old(newer_date, older_date), Old(older_date, newer_date))
    ]
    assert [type(outcome).__name__ for outcome in outcomes_] == ["Passed", "Passed", "RuleViolated"]


def test_rules_are_checked_at_any_depth_with_the_path_of_the_value() -> None:
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


def test_elements_of_a_map_list_are_compared_with_the_old_elements_of_their_keys() -> None:
    ruled = {**INT, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}
    items = {**thing(name=STRING, n=ruled), "required": ["name"]}
    keyed = {"type": "array", "items": items, "x-kubernetes-list-type": "map"}
    schema = thing(f={**keyed, "x-kubernetes-list-map-keys": ["name"]})
    old = {"f": [{"name": "a", "n": 5}, {"name": "b", "n": 1}]}
    new = {"f": [{"name": "b", "n": 2}, {"name": "a", "n": 4}, {"name": "c", "n": 0}]}
    assert [(type(outcome).__name__, outcome.field) for outcome in check_rules(schema, new, old)] == [
        ("Passed", "f[0].n"),
        ("RuleViolated", "f[1].n"),
        ("NotEvaluated", "f[2].n"),
    ]


def test_a_rule_at_the_root_sees_only_the_name_of_the_metadata() -> None:
    rule = {"rule": "self.metadata.name == 'a' && !has(self.metadata.generateName) && self.kind == 'K'"}
    schema = {**thing(spec=thing(a=INT)), "x-kubernetes-validations": [rule]}
    obj: dict[str, Any] = {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "a", "labels": {}},
        "spec": {"a": 1},
    }
    assert [type(rule) for rule in check_rules(schema, obj)] == [Passed]
    schema["x-kubernetes-validations"] = [{"rule": "!has(self.metadata.labels)"}]
    (outcome,) = check_rules(schema, obj)
    assert isinstance(outcome, NotEvaluated)
    assert "undefined field '.metadata.labels'; a server refuses the rule" in outcome.reason


def test_a_rule_that_fails_for_an_unchanged_value_is_skipped() -> None:
    (outcome,) = outcomes(INT, {"rule": "self > 5"}, Old(1, 1))
    assert isinstance(outcome, NotEvaluated)
    assert outcome.skipped
    assert "so a server only warns" in outcome.reason


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
def test_a_violation_has_the_message_of_its_rule(more: dict[str, Any], message: str) -> None:
    (outcome,) = outcomes(INT, {"rule": "self > 5", **more}, 1)
    assert str(outcome.violation) == message


def test_a_field_path_names_the_field_of_the_violation() -> None:
    (outcome,) = outcomes(thing(a=INT), {"rule": "self.a > 5", "fieldPath": ".a"}, {"a": 1})
    assert outcome.violation.field == "f.a"


def test_a_rule_over_the_budget_is_not_evaluated() -> None:
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    rule = f"{ten}.all(a, {ten}.all(b, {ten}.all(c, {ten}.all(d, {ten}.all(e, true)))))"
    (outcome,) = outcomes(INT, {"rule": rule}, 1)
    assert isinstance(outcome, NotEvaluated)
    assert "budget exceeded" in outcome.reason


def test_a_string_in_an_object_with_dates_cannot_inject_cel() -> None:
    schema = thing(d=DATE, s=STRING)
    hostile = '"}].map(self, true)[0] || [{"s": "\\u0022\n\'${'
    value = {"d": "2021-01-01T00:00:00Z", "s": hostile}
    (outcome,) = outcomes(schema, {"rule": f"size(self.s) == {len(hostile)}"}, value)
    assert isinstance(outcome, Passed)


def test_without_a_library_no_rule_passes() -> None:
    # In a new process, as a module that is loaded once stays loaded.
    program = """
import sys
sys.modules["cel_expr_python"] = None
from kubeproto.crd import check_rules
number = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
print(check_rules({"type": "object", "properties": {"f": number}}, {"f": 1}))
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    expected = NotEvaluated("self > 0", "f", "there is no CEL library: pip install 'kubeproto[cel]'")
    assert printed.stdout.strip() == repr([expected])


def test_a_rule_that_only_a_server_can_evaluate_is_reported() -> None:
    schema = thing(f={**SET, "x-kubernetes-validations": [{"rule": "dyn(self) == ['a']"}]})
    not_evaluated: list[NotEvaluated] = []
    assert validate(schema, {"f": ["a"]}, not_evaluated=not_evaluated) == []
    assert [outcome.field for outcome in not_evaluated] == ["f"]
    transition = thing(f={**INT, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]})
    not_evaluated.clear()
    assert validate(transition, {"f": 1}, not_evaluated=not_evaluated) == []
    assert not_evaluated == []

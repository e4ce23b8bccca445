"""The outcomes of CEL rules over an object: passed, violated, or not evaluated.

A rule is not evaluated without the library, with an unsupported function, with types or fields that do not
fit the schema, if it exceeds the library's limits, or if it is a transition rule and there is no old value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct

from ...objects import is_list, is_object, json_equal
from .._list_types import element_key, elements_by_key
from .._violations import Violation, child, forbidden, invalid, key, required
from ._cel_evaluation import CannotEvaluate, CelFailure, evaluate

_USES_OLD = re.compile(r"\boldSelf\b")
_MAX_MESSAGE = 5 * 1024


class Passed(Struct, frozen=True):
    """The value at this path satisfies the rule."""

    rule: str
    field: str


class RuleViolated(Struct, frozen=True):
    """The value at this path violates the rule; a server would report the `violation`."""

    rule: str
    field: str
    violation: Violation


class NotEvaluated(Struct, frozen=True):
    """The result of the rule is unknown, for this reason. If `skipped`, a server skips it too."""

    rule: str
    field: str
    reason: str
    skipped: bool = False


RuleOutcome = Passed | RuleViolated | NotEvaluated


def check_rules(schema: dict[str, Any], obj: Any, old: Any = None) -> list[RuleOutcome]:
    """Return the outcome of every rule over an object that is otherwise valid, or its update from `old`."""
    return list(_walk(schema, obj, "", UNSET if old is None else old, root=True))


def has_rules(schema: Any) -> bool:
    """Return whether a schema has any rule."""
    if not is_object(schema):
        return False
    nested = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    return bool(schema.get("x-kubernetes-validations")) or any(map(has_rules, nested))


def _walk(schema: Any, value: Any, path: str, old: Any, *, root: bool = False) -> Iterator[RuleOutcome]:
    if value is None or not is_object(schema):
        return
    root = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for rule in schema.get("x-kubernetes-validations", ()):
        yield _check(schema, rule, value, path, old, root)
    if is_object(value):
        properties: dict[str, Any] = schema.get("properties", {})
        is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
        old_members: dict[str, Any] = old if is_object(old) and not is_atomic else {}
        for name, member in value.items():
            old_member = old_members.get(name, UNSET)
            if name in properties:
                yield from _walk(properties[name], member, child(path, name), old_member)
            else:
                yield from _walk(schema.get("additionalProperties"), member, key(path, name), old_member)
    elif is_list(value):
        old_elements = elements_by_key(schema, old)
        keys = schema.get("x-kubernetes-list-map-keys", [])
        for index, element in enumerate(value):
            old_element: Any = UNSET
            if old_elements and is_object(element):
                old_element = old_elements.get(element_key(keys, element), UNSET)
            yield from _walk(schema.get("items"), element, key(path, index), old_element)


def _check(
    schema: dict[str, Any], rule: dict[str, Any], value: Any, path: str, old: Any, root: bool
) -> RuleOutcome:
    source: str = rule["rule"]
    uses_old = _USES_OLD.search(source) is not None
    if uses_old and old is UNSET and not rule.get("optionalOldSelf"):
        return NotEvaluated(source, path, "it uses oldSelf, and there is no old value", skipped=True)
    try:
        verdict = _evaluate(schema, source, value, old, root, bool(rule.get("optionalOldSelf")))
    except CannotEvaluate as reason:
        return NotEvaluated(source, path, str(reason))
    if verdict is True:
        return Passed(source, path)
    if isinstance(verdict, CelFailure):
        text = rule.get("message", "").strip() or source.strip()
        violation = invalid(path, schema.get("type", ""), f"{verdict.reason} evaluating rule: {text}")
    else:
        reported_value = UNSET if schema.get("type") in ("object", "array") else value
        violation = _violation(rule, path, reported_value, _message(schema, rule, value, old, root))
    if not uses_old and old is not UNSET and json_equal(value, old):
        return NotEvaluated(
            source,
            path,
            f"the update does not change the value, so a server only warns: {violation.message}",
            skipped=True,
        )
    return RuleViolated(source, path, violation)


def _evaluate(
    schema: dict[str, Any], source: str, value: Any, old: Any, root: bool, optional_old: bool
) -> bool | CelFailure:
    verdict = evaluate(source, schema, value, old, root=root, optional_old=optional_old, condition=True)
    if isinstance(verdict, (bool, CelFailure)):
        return verdict
    raise CannotEvaluate("its result is not a boolean; a server refuses the rule")


def _message(schema: dict[str, Any], rule: dict[str, Any], value: Any, old: Any, root: bool) -> str:
    """Return the result of messageExpression, or the message if that is not a short line of text."""
    if rule.get("messageExpression"):
        try:
            text = evaluate(
                rule["messageExpression"], schema, value, old, root=root,
                optional_old=bool(rule.get("optionalOldSelf")),
            )  # fmt: skip
        except CannotEvaluate:
            text = None
        if isinstance(text, str):
            text = text.strip()
            if text and "\n" not in text and len(text.encode()) <= _MAX_MESSAGE:
                return text
    return rule.get("message", "").strip() or f"failed rule: {rule['rule'].strip()}"


def _violation(rule: dict[str, Any], path: str, value: Any, message: str) -> Violation:
    field = rule.get("fieldPath", "")
    violation_path = path + field if path else field.removeprefix(".")
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(violation_path, message)
        case "FieldValueRequired":
            return required(violation_path, message)
        case "FieldValueDuplicate":
            return Violation("FieldValueDuplicate", violation_path, value)
        case _:
            return invalid(violation_path or "<nil>", value, message)

"""CEL rules: each rule of a schema, over the values of an object, has passed, failed or was not evaluated.

`NotEvaluated` is never a pass. Its causes are a missing library, a function that is not supported here, a
rule whose types or fields do not fit the schema, too much work, or a transition rule without an old value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct

from ...objects import is_list, is_object, json_equal
from .._list_types import correlate, identity
from .._violations import Violation, child, forbidden, invalid, key, required
from ._evaluation import CannotEvaluate, CelFailure, evaluate

_USES_OLD = re.compile(r"\boldSelf\b")
_LONGEST_MESSAGE = 5 * 1024


class Passed(Struct, frozen=True):
    """The rule holds for the value at this path."""

    rule: str
    field: str


class RuleViolated(Struct, frozen=True):
    """The rule does not hold; `violation` is what a server would report."""

    rule: str
    field: str
    violation: Violation


class NotEvaluated(Struct, frozen=True):
    """The result of the rule is unknown, and why. If it was `skipped`, a server skips it too."""

    rule: str
    field: str
    why: str
    skipped: bool = False


RuleOutcome = Passed | RuleViolated | NotEvaluated


def check_rules(schema: dict[str, Any], obj: Any, old: Any = None) -> list[RuleOutcome]:
    """Return the outcome of every rule over an object that fits its schema, or over its update from `old`."""
    return list(_walk(schema, obj, "", UNSET if old is None else old, root=True))


def has_rules(schema: Any) -> bool:
    """Return whether a schema has any rule."""
    if not is_object(schema):
        return False
    below = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    return bool(schema.get("x-kubernetes-validations")) or any(map(has_rules, below))


def _walk(schema: Any, value: Any, path: str, old: Any, *, root: bool = False) -> Iterator[RuleOutcome]:
    if value is None or not is_object(schema):
        return
    root = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for rule in schema.get("x-kubernetes-validations", ()):
        yield _check(schema, rule, value, path, old, root)
    if is_object(value):
        known: dict[str, Any] = schema.get("properties", {})
        atomic = schema.get("x-kubernetes-map-type") == "atomic"
        before: dict[str, Any] = old if is_object(old) and not atomic else {}
        for name, one in value.items():
            if name in known:
                yield from _walk(known[name], one, child(path, name), before.get(name, UNSET))
            else:
                others = schema.get("additionalProperties")
                yield from _walk(others, one, key(path, name), before.get(name, UNSET))
    elif is_list(value):
        olds = correlate(schema, old)
        keys = schema.get("x-kubernetes-list-map-keys", [])
        for index, one in enumerate(value):
            known_old = olds.get(identity(keys, one), UNSET) if olds and is_object(one) else UNSET
            yield from _walk(schema.get("items"), one, key(path, index), known_old)


def _check(
    schema: dict[str, Any], rule: dict[str, Any], value: Any, path: str, old: Any, root: bool
) -> RuleOutcome:
    source: str = rule["rule"]
    uses_old = _USES_OLD.search(source) is not None
    if uses_old and old is UNSET and not rule.get("optionalOldSelf"):
        return NotEvaluated(source, path, "it compares with an old value, and there is none", skipped=True)
    try:
        verdict = _verdict(schema, source, value, old, root, bool(rule.get("optionalOldSelf")))
    except CannotEvaluate as reason:
        return NotEvaluated(source, path, str(reason))
    if verdict is True:
        return Passed(source, path)
    if isinstance(verdict, CelFailure):
        shown = rule.get("message", "").strip() or source.strip()
        violation = invalid(path, schema.get("type", ""), f"{verdict.why} evaluating rule: {shown}")
    else:
        shown = UNSET if schema.get("type") in ("object", "array") else value
        violation = _violation(rule, path, shown, _message(schema, rule, value, old, root))
    if not uses_old and old is not UNSET and json_equal(value, old):
        return NotEvaluated(
            source,
            path,
            f"the update leaves the value as it was, so a server only warns: {violation.message}",
            skipped=True,
        )
    return RuleViolated(source, path, violation)


def _verdict(
    schema: dict[str, Any], source: str, value: Any, old: Any, root: bool, optional_old: bool
) -> bool | CelFailure:
    verdict = evaluate(source, schema, value, old, root=root, optional_old=optional_old, condition=True)
    if isinstance(verdict, (bool, CelFailure)):
        return verdict
    raise CannotEvaluate("its result is neither true nor false; a server refuses the rule")


def _message(schema: dict[str, Any], rule: dict[str, Any], value: Any, old: Any, root: bool) -> str:
    """Return the computed message; the fixed one if that fails, or is empty, too long or several lines."""
    if rule.get("messageExpression"):
        try:
            computed = evaluate(
                rule["messageExpression"], schema, value, old, root=root,
                optional_old=bool(rule.get("optionalOldSelf")),
            )  # fmt: skip
        except CannotEvaluate:
            computed = None
        if isinstance(computed, str):
            computed = computed.strip()
            if computed and "\n" not in computed and len(computed.encode()) <= _LONGEST_MESSAGE:
                return computed
    return rule.get("message", "").strip() or f"failed rule: {rule['rule'].strip()}"


def _violation(rule: dict[str, Any], path: str, value: Any, message: str) -> Violation:
    field = rule.get("fieldPath", "")
    where = path + field if path else field.removeprefix(".")
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(where, message)
        case "FieldValueRequired":
            return required(where, message)
        case "FieldValueDuplicate":
            return Violation("FieldValueDuplicate", where, value)
        case _:
            return invalid(where or "<nil>", value, message)

"""All checks of an object: its values, embedded objects, list types and CEL rules."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from .._list_types import find_duplicates
from .._violations import NO_FIELD, Violation, invalid
from ..cel._rule_outcomes import NotEvaluated, RuleViolated, check_rules, has_rules
from ._embedded_resources import check_embedded
from ._value_checks import check_value

# After these violations, rules would get values of other types than they are written for.
_BLOCKING: Final = (
    "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
    "FieldValueTypeInvalid",
)  # fmt: skip
_NOT_CHECKED: Final = invalid(
    NO_FIELD,
    None,
    "some validation rules were not checked because the object was invalid; correct the existing errors to"
    " complete validation",
)


def validate(
    schema: dict[str, Any],
    obj: dict[str, Any],
    old: dict[str, Any] | None = None,
    *,
    rules: bool = True,
    not_evaluated: list[NotEvaluated] | None = None,
) -> list[Violation]:
    """Return the violations that a server would report for an object, or for its update from `old`.

    CEL rules need the extra `cel`. A rule that a server would evaluate and that cannot be evaluated here is
    not a violation; it is appended to `not_evaluated`. `check_rules` returns every outcome.
    """
    violations = list(check_value(schema, obj, old=UNSET if old is None else old))
    violations += check_embedded(schema, obj)
    duplicates = list(find_duplicates(schema, obj))
    # Stored objects may contain duplicates that are older than the list type: these are not violations.
    if duplicates and not (old is not None and any(find_duplicates(schema, old))):
        violations += duplicates
    if not rules or not has_rules(schema):
        return violations
    if any(violation.reason in _BLOCKING for violation in violations):
        return [*violations, _NOT_CHECKED]
    outcomes = check_rules(schema, obj, old)
    if not_evaluated is not None:
        not_evaluated += [
            outcome for outcome in outcomes if isinstance(outcome, NotEvaluated) and not outcome.skipped
        ]
    return violations + [outcome.violation for outcome in outcomes if isinstance(outcome, RuleViolated)]

"""The whole check of an object: its values, embedded objects, list types and CEL rules."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from .._list_types import duplicates
from .._violations import NO_FIELD, Violation, invalid
from ..cel._rules import NotEvaluated, RuleViolated, check_rules, has_rules
from ._embedded import embedded
from ._values import check_value

# After these, rules would get values of other types than they were written for.
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
    unknown: list[NotEvaluated] | None = None,
) -> list[Violation]:
    """Return what a server would refuse in an object, or in its update from `old`; empty if it is valid.

    CEL rules need the extra `cel`. A rule that a server would evaluate and that cannot be evaluated here is
    not a violation: it is added to the list `unknown`, if there is one. `check_rules` returns every outcome.
    """
    before = UNSET if old is None else old
    found = list(check_value(schema, obj, old=before))
    found += embedded(schema, obj)
    repeated = list(duplicates(schema, obj))
    # Stored objects may contain duplicates from before the list type was set; only a new one is an error.
    if repeated and not (old is not None and any(duplicates(schema, old))):
        found += repeated
    if not rules or not has_rules(schema):
        return found
    if any(violation.reason in _BLOCKING for violation in found):
        return [*found, _NOT_CHECKED]
    outcomes = check_rules(schema, obj, old)
    if unknown is not None:
        unknown += [one for one in outcomes if isinstance(one, NotEvaluated) and not one.skipped]
    return found + [outcome.violation for outcome in outcomes if isinstance(outcome, RuleViolated)]

"""CEL over a write that is being admitted: the match conditions of a webhook.

Without the extra ``cel`` nothing can be evaluated here, and a webhook with conditions fails according to its
`failurePolicy`: it is never skipped silently.
"""

from __future__ import annotations

from typing import Any

from kubeproto.crd import CannotEvaluate, CelFailure, evaluate_with

Json = dict[str, Any]


class ConditionFailed(Exception):
    """A condition could not be evaluated."""


def conditions_hold(conditions: list[Json], request: Json) -> bool:
    """Return whether all conditions hold. One that does not counts more than one that fails."""
    variables = admission_variables(request)
    errors: list[str] = []
    for condition in conditions:
        expression: str = condition["expression"]
        try:
            result = evaluate_with(expression, variables)
        except CannotEvaluate as error:
            errors.append(f"expression '{expression}' was not evaluated: {error}")
            continue
        if isinstance(result, CelFailure):
            errors.append(f"expression '{expression}' resulted in error: {result.why}")
        elif result is not True:
            return False
    if errors:
        raise ConditionFailed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return True


def admission_variables(request: Json) -> Json:
    """Return the names that expressions about a write may use."""
    about = {name: value for name, value in request.items() if name not in ("object", "oldObject")}
    return {"object": request["object"], "oldObject": request["oldObject"], "request": about}

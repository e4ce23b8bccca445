"""The functions that Kubernetes adds to CEL, as declarations for the library.

https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries

A function that is not here is an undeclared name, and the rule that uses it is not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from . import _addresses, _lists, _named_formats, _ordered

BAD_ARGUMENT: Final = "bad argument: "
# Name, whether it is called on a value, the types of its parameters and of its result, and the function.
_TABLE: Final[tuple[tuple[str, bool, tuple[str, ...], str, Callable[..., Any]], ...]] = (
    *_lists.FUNCTIONS,
    *_ordered.FUNCTIONS,
    *_addresses.FUNCTIONS,
    *_named_formats.FUNCTIONS,
)


def declarations(cel: Any) -> list[Any]:
    """Return the declarations of all functions, for an environment of the library."""
    type_ = cel.Type
    by_name: dict[str, list[Any]] = {}
    for name, member, parameters, result, implementation in _TABLE:
        overload = cel.Overload(
            f"{name}_{'_'.join(parameters)}{'_member' if member else ''}",
            return_type=getattr(type_, result),
            parameters=[getattr(type_, parameter) for parameter in parameters],
            is_member=member,
            impl=_blaming(implementation),
        )
        by_name.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in by_name.items()]


def _blaming(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function with errors for wrong arguments, so that a rule fails as on a server."""

    def call(*arguments: Any) -> Any:
        try:
            return implementation(*arguments)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{BAD_ARGUMENT}{error}") from None

    return call

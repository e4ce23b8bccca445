"""Declarations, for the library, of the functions that Kubernetes adds to CEL.

https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries

A rule that uses any other function is not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from . import (
    _authorizer_functions,
    _format_functions,
    _list_functions,
    _network_functions,
    _quantity_functions,
)

BAD_ARGUMENT: Final = "bad argument: "
_TABLE: Final = (
    *_list_functions.FUNCTIONS,
    *_quantity_functions.FUNCTIONS,
    *_network_functions.FUNCTIONS,
    *_format_functions.FUNCTIONS,
)


def declarations(cel: Any, *, has_authorizer: bool = False) -> list[Any]:
    """Return the declarations of all functions, for an environment of the library."""
    types = cel.Type
    overloads_by_name: dict[str, list[Any]] = {}
    table = (*_TABLE, *_authorizer_functions.FUNCTIONS) if has_authorizer else _TABLE
    for name, member, parameters, result, implementation in table:
        overload = cel.Overload(
            f"{name}_{'_'.join(parameters)}{'_member' if member else ''}",
            return_type=getattr(types, result),
            parameters=[getattr(types, parameter) for parameter in parameters],
            is_member=member,
            impl=_mark_errors(implementation),
        )
        overloads_by_name.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in overloads_by_name.items()]


def _mark_errors(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with marked errors for bad arguments, which the evaluation recognizes."""

    def call(*arguments: Any) -> Any:
        try:
            return implementation(*arguments)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{BAD_ARGUMENT}{error}") from None

    return call

"""`description_of`: returns the description of a program, from any value that defines its operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from ..operator import ControllerRun, Operator, ProgramDescription

OperatorLike: TypeAlias = Operator | ControllerRun | Iterable[ControllerRun] | ProgramDescription
"""An `Operator` with its controllers, results of `Controller.run`, or a `ProgramDescription`."""


def description_of(operator: object) -> ProgramDescription:
    """Return the description of an `OperatorLike`. Raise TypeError for other values."""
    return operator if isinstance(operator, ProgramDescription) else operator_of(operator).description


def operator_of(operator: object) -> Operator:
    """Return an operator of a controller, or of several. Raise TypeError for other values."""
    name = type(operator).__name__
    match operator:
        case Operator():
            return operator
        case ControllerRun():
            created = Operator(election=operator.election)
            operator.election = None
            created.add(operator)
            return created
        case Iterable():
            runs = list(cast("Iterable[object]", operator))
            if runs and all(isinstance(run, ControllerRun) for run in runs):
                created = Operator()
                created.add(*cast("list[ControllerRun]", runs))
                return created
        case _:
            pass
    raise TypeError(
        f"a {name} is not an operator: return an Operator to which controllers"
        " were added, the result of Controller.run(), or a ProgramDescription"
    )

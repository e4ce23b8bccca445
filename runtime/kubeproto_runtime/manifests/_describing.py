"""`description_of`: the parts of a program, from any of the forms in which it may define its operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from ..operator import Operator, ProgramDescription, Run

OperatorLike: TypeAlias = Operator | Run | Iterable[Run] | ProgramDescription
"""An `Operator` to which its controllers were added, a controller ready to run, or several; or, where a
program has no Operator, what it consists of."""


def description_of(operator: object) -> ProgramDescription:
    """Return the description of an `OperatorLike`; TypeError for anything else."""
    return operator if isinstance(operator, ProgramDescription) else operator_of(operator).description


def operator_of(operator: object) -> Operator:
    """Return an Operator of a controller, or of several; TypeError for what cannot be run as one."""
    name = type(operator).__name__
    match operator:
        case Operator():
            return operator
        case Run():
            made = Operator(election=operator.election)
            operator.election = None
            made.add(operator)
            return made
        case Iterable():
            runs = list(cast("Iterable[object]", operator))
            if runs and all(isinstance(one, Run) for one in runs):
                made = Operator()
                made.add(*cast("list[Run]", runs))
                return made
        case _:
            pass
    raise TypeError(
        f"a {name} is not an operator: return an Operator to which controllers"
        " were added, what Controller.run() returned, or a ProgramDescription"
    )

"""`description_of`: what an operator consists of, from whatever a program calls its operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from ..operator import Operator, OperatorDescription, Run

OperatorLike: TypeAlias = Operator | Run | Iterable[Run]
"""An `Operator` to which its controllers were added, a controller ready to run, or several."""


def description_of(operator: object) -> OperatorDescription:
    """Return the description of an `OperatorLike`, which will not be run; TypeError if it is none."""
    name = type(operator).__name__
    match operator:
        case Operator():
            return operator.description
        case Run():
            made = Operator(election=operator.election)
            operator.election = None
            made.add(operator)
            return made.description
        case Iterable():
            runs = list(cast("Iterable[object]", operator))
            if runs and all(isinstance(one, Run) for one in runs):
                made = Operator()
                made.add(*cast("list[Run]", runs))
                return made.description
        case _:
            pass
    raise TypeError(
        f"a {name} is not an operator: return an Operator to which controllers"
        " were added, or what Controller.run() returned"
    )

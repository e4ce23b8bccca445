"""The results of a reconcile: values with the time of the next call."""

from __future__ import annotations

from math import inf, nan

import pytest

from kubeproto.control import Action, await_change, requeue


def test_an_action_contains_the_time_of_the_next_call() -> None:
    actions: list[Action] = [requeue(after=600), requeue(after=0, priority=-5), await_change()]
    assert actions == [Action(600.0), Action(0.0, -5), Action(None)]


@pytest.mark.parametrize("delay", [-1, inf, nan])
def test_an_infinite_or_undefined_delay_is_refused(delay: float) -> None:
    with pytest.raises(ValueError, match="must be finite and not negative"):
        requeue(after=delay)

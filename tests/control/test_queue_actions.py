"""What a reconcile returns: values that say when to call again."""

from __future__ import annotations

from math import inf, nan

import pytest

from kubeproto.control import Action, await_change, requeue


def test_an_action_says_when_to_call_again() -> None:
    actions: list[Action] = [requeue(after=600), requeue(after=0, priority=-5), await_change()]
    assert actions == [Action(600.0), Action(0.0, -5), Action(None)]


@pytest.mark.parametrize("after", [-1, inf, nan])
def test_a_time_that_never_comes_is_refused(after: float) -> None:
    with pytest.raises(ValueError, match="must be finite and not negative"):
        requeue(after=after)

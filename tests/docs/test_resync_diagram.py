"""The diagram of the documentation shows the arrows of the resync machine, as its table does."""

from __future__ import annotations

from typing import get_args

from diagrams import arrows

from kubeproto.watching import resync
from tools import resync_diagram as diagram

DOC = resync.__doc__ or ""


def test_the_diagram_is_drawn_from_the_arrows_of_the_machine() -> None:
    assert diagram.TARGET.read_text() == diagram.svg(DOC), "run: python -m tools.resync_diagram"


def test_every_arrow_is_drawn_or_told_in_the_caption() -> None:
    drawn = {
        (before, event, after) for (before, after), events in diagram.edges(DOC).items() for event in events
    }
    told = {arrow for arrow in arrows(DOC) if arrow[1] in diagram.TOLD}
    assert drawn | told == arrows(DOC)
    assert not drawn & told


def test_every_state_has_its_place() -> None:
    assert set(diagram.PLACES) == {state.__name__ for state in get_args(resync.State)}

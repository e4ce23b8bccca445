"""A real server accepts the definitions of random classes, and judges their instances as we do."""

from __future__ import annotations

import pytest

from realserver import RealServer

from ._real_asking import asking
from ._seeds import new_seed
from .shapes import ask, differences


@pytest.mark.kubernetes("1.36")
def test_random_classes_are_accepted_and_their_instances_get_our_verdicts(real_server: RealServer) -> None:
    seed = str(new_seed())
    with asking(real_server.connection) as asker:
        lines = [line for shape in ask(asker, seed, 8, 60) for line in differences(shape)]
    assert lines == [], seed

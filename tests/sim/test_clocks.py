"""Clocks that drift independently, on a cluster whose own time is exact."""

from __future__ import annotations

import pytest

from kubeproto_sim import Cluster, DriftingClock


def test_a_clock_runs_at_its_own_rate_from_its_own_time() -> None:
    cluster = Cluster()
    fast, slow = DriftingClock(cluster, rate=1.25, ahead=5.0), DriftingClock(cluster, rate=0.5)
    start = cluster.now
    cluster.advance(8.0)
    assert fast() == start + 5.0 + 10.0
    assert slow() == start + 4.0


def test_a_change_of_rate_preserves_the_elapsed_time() -> None:
    cluster = Cluster()
    clock = DriftingClock(cluster)
    start = clock()
    cluster.advance(10.0)
    clock.drift(2.0)
    cluster.advance(10.0)
    assert clock() == start + 30.0


def test_a_clock_that_is_set_back_continues() -> None:
    cluster = Cluster()
    clock = DriftingClock(cluster)
    start = clock()
    clock.jump(-60.0)
    cluster.advance(1.0)
    assert clock() == start - 59.0


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_stopped_or_reversed_clock_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="runs forward"):
        DriftingClock(Cluster(), rate=rate)
    with pytest.raises(ValueError, match="runs forward"):
        DriftingClock(Cluster()).drift(rate)

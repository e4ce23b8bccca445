"""A thousand seeds of faults: when they are over, the cache is exact."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import pytest
from caching import Cache
from raw_client import Book

import kubeproto_sim as sim

TROUBLE, QUIET = 400.0, 1000.0


def schedule_writes(cluster: sim.Cluster, rng: Random) -> None:
    """Schedule writes of all kinds during the faults; sometimes the history is compacted."""

    def write(number: int) -> None:
        name = f"b{rng.randrange(8)}"
        stored = cluster.get(Book, name)
        if number % 23 == 0:
            cluster.compact()
        elif stored is not None and rng.random() < 0.3:
            cluster.remove(Book, name)
        else:
            body: dict[str, Any] = {
                "apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": name},
                "spec": {"title": str(number)},
            }  # fmt: skip
            cluster.put(body)

    for number in range(60):
        cluster.later(rng.uniform(0, TROUBLE), partial(write, number))


def run_with_faults(seed: int) -> tuple[Cache, sim.Faults]:
    modes = (
        sim.Modes(),
        sim.Modes(streaming_lists=False),
        sim.Modes(end_mark="missing"),
        sim.Modes(bookmarks=False),
        sim.Modes(gone="http-gone"),
        sim.Modes(watch_cache=False),
    )[seed % 6]
    cluster = sim.Cluster(crds=[Book], seed=seed, modes=modes, managed_fields=False)
    cluster.keeps_log = False
    schedule_writes(cluster, Random(seed))
    faults = sim.Faults(cluster, seed=seed, share=0.5)
    cluster.later(TROUBLE, faults.calm)
    cache = Cache(cluster, faults.blocking_transport(), seed)
    cache.run(TROUBLE + QUIET)
    return cache, faults


@pytest.mark.parametrize(
    "tens",
    [
        *range(20),
        *(pytest.param(tens, marks=pytest.mark.thorough("more of a kind")) for tens in range(20, 100)),
    ],
)
def test_the_cache_is_exact_after_quiet(tens: int) -> None:
    for seed in range(tens * 10, tens * 10 + 10):
        cache, faults = run_with_faults(seed)
        assert cache.snapshot() == cache.stored_versions(), f"seed {seed}\n{faults.transcript}"


def test_a_seed_repeats_its_run_exactly() -> None:
    (first, first_lines), (second, second_lines) = run_with_faults(3), run_with_faults(3)
    assert first_lines.transcript == second_lines.transcript
    assert "!!" in first_lines.transcript
    assert first.snapshot() == second.snapshot()
    assert run_with_faults(4)[1].transcript != first_lines.transcript

"""The kinds of a storm, and a cluster that serves them: made once, and forked for each run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import kubeproto as kp
import kubeproto_sim as sim

FINALIZER: Final = "storm.example.com/external"


class BookSpec(kp.Fields):
    title: str
    pages: int = 0


class BookStatus(kp.Fields):
    label: str = ""


class Book(kp.Object[BookSpec, BookStatus], group="storm.example.com", version="v1", plural="books"):
    """What has a ConfigMap with its title, and a status that repeats it."""


class ShelfSpec(kp.Fields):
    width: int = 1


class Shelf(kp.Object[ShelfSpec, None], group="storm.example.com", version="v1", plural="shelves"):
    """What has something outside of the cluster, and a finalizer therefore."""


BOOKS: Final = "books.storm.example.com"
SHELVES: Final = "shelves.storm.example.com"
CONFIGMAPS: Final = "configmaps"
NAMESPACES: Final = ("default", "other")


@lru_cache(maxsize=1)
def _template() -> sim.Cluster:
    cluster = sim.Cluster(crds=[Book, Shelf], managed_fields=True)
    cluster.namespace("other")
    cluster.keeps_log = False
    return cluster


def new_cluster(modes: sim.Modes, window: int, garbage: float, seed: int) -> sim.Cluster:
    """A cluster that serves these kinds."""
    cluster = _template().fork()
    cluster.modes = modes
    state: Any = cluster._state
    state.rng.state = seed
    state.storage.window = window
    for resource in state.storage.resources.values():
        resource.window = window
    # Collected at once, what an operator makes for an object that only its cache still shows would go and be
    # made again as fast as both can: a real collector takes its time.
    cluster.controllers["garbage-collector-controller"].slow(garbage)
    return cluster

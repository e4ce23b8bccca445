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
    """The kind with a ConfigMap of its title, and a status that repeats the title."""


class ShelfSpec(kp.Fields):
    width: int = 1


class Shelf(kp.Object[ShelfSpec, None], group="storm.example.com", version="v1", plural="shelves"):
    """The kind with an external resource, and therefore with a finalizer."""


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
    """Return a cluster that serves these kinds."""
    cluster = _template().fork()
    cluster.modes = modes
    state: Any = cluster._state
    state.rng.state = seed
    state.storage.window = window
    for resource in state.storage.resources.values():
        resource.window = window
    # With immediate garbage collection, the ConfigMap of an object that only the operator's cache still shows
    # would be deleted and created again endlessly. A real collector is slower.
    cluster.controllers["garbage-collector-controller"].slow(garbage)
    return cluster

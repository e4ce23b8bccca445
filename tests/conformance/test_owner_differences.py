"""Owners and garbage collection: after the same random requests, the same objects remain on both servers.

The time of a collection is random, so the final states are compared. Objects are ConfigMaps and Secrets that
own each other; their deletions use each policy.
"""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any, Final, TypeAlias

import pytest

from conformance.client import Client, fresh_namespace
from conformance.servers import Server
from conformance.test_differences import simulated_twin

SEQUENCES: Final = 25
NAMES: Final = ("a", "b", "c", "d", "e", "f")
Sequence: TypeAlias = "tuple[Client, Client, list[Any], list[tuple[str, str, str]]]"
PLURALS: Final = {"ConfigMap": "configmaps", "Secret": "secrets"}
PATIENCE: Final = 600  # polls, a tenth of a second apart
STILL: Final = 8  # polls with the same state


def test_random_owners_leave_the_same_objects_behind(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(19)
    sequences: list[Sequence] = []
    for _ in range(SEQUENCES):
        real = fresh_namespace(server)
        sequences.append((real, simulated_twin(real), *draw_sequence(rng)))
        for client in sequences[-1][:2]:
            build(client, sequences[-1][2])
    wait_for_the_collector(fresh_namespace(server))
    deleted = 0
    # A single deletion in each namespace at a time: most of the time is spent waiting.
    for index in range(max(len(deletions) for *_, deletions in sequences)):
        under_way = [sequence for sequence in sequences if index < len(sequence[3])]
        for real, twin, _, deletions in under_way:
            name, kind, policy = deletions[index]
            for client in (real, twin):
                target = f"{client.home}/{PLURALS[kind]}/{name}"
                client.send("DELETE", target, {"propagationPolicy": policy})
            deleted += 1
        for real, twin, graph, deletions in unsettled(under_way):
            raise AssertionError((graph, deletions, state(twin), state(real)))
    with capsys.disabled():
        sys.stdout.write(f"\n{deleted} deletions left the same objects\n")


def draw_sequence(rng: random.Random) -> tuple[list[Any], list[tuple[str, str, str]]]:
    """Return objects with their owners, which precede them, and their deletions, in order."""
    graph: list[Any] = []
    for name in NAMES:
        kind = rng.choice(("ConfigMap", "Secret"))
        owners = rng.sample(graph, min(len(graph), rng.choice((0, 1, 1, 2))))
        block = [rng.random() < 0.5 for _ in owners]
        finalizers = ["a.b/c"] if rng.random() < 0.1 else []
        graph.append((name, kind, [(node[0], node[1]) for node in owners], block, finalizers))
    chosen = rng.sample(graph, rng.randint(1, 3))
    policies = ("Background", "Foreground", "Orphan")
    return graph, [(node[0], node[1], rng.choice(policies)) for node in chosen]


def build(client: Client, graph: list[Any]) -> None:
    uids: dict[tuple[str, str], str] = {}
    for name, kind, owners, block, finalizers in graph:
        references = [
            {
                "apiVersion": "v1",
                "kind": owner_kind,
                "name": owner,
                "uid": uids[owner, owner_kind],
                "blockOwnerDeletion": blocks,
            }
            for (owner, owner_kind), blocks in zip(owners, block, strict=True)
        ]
        meta = {"name": name, "ownerReferences": references, "finalizers": finalizers}
        created = client.create(
            f"{client.home}/{PLURALS[kind]}", {"apiVersion": "v1", "kind": kind, "metadata": meta}
        )
        uids[name, kind] = created["metadata"]["uid"]


def wait_for_the_collector(client: Client) -> None:
    """Wait until the garbage collector has acted on an object of each kind that was created after all others.

    It watches each kind separately, and orphans or collects only objects that it knows: a Secret whose owner
    is deleted before the collector has seen the Secret would be treated differently.
    """
    kinds = sorted(PLURALS)
    for owning, owned in itertools.permutations(kinds):
        names = f"last-{owning}".lower(), f"last-{owned}".lower()
        build(client, [(names[0], owning, [], [], []), (names[1], owned, [(names[0], owning)], [False], [])])
        client.send(
            "DELETE", f"{client.home}/{PLURALS[owning]}/{names[0]}", {"propagationPolicy": "Background"}
        )
        client.wait_until_deleted(f"{client.home}/{PLURALS[owned]}", names[1])


def state(client: Client) -> dict[str, Any]:
    """Return each object with its owners, its finalizers, and whether it is being deleted."""
    objects: dict[str, Any] = {}
    for plural in PLURALS.values():
        for item in client.get(f"{client.home}/{plural}")["items"]:
            meta = item["metadata"]
            if meta["name"] in NAMES:
                owners = [reference["name"] for reference in meta.get("ownerReferences", ())]
                going = "deletionTimestamp" in meta
                objects[f"{plural}/{meta['name']}"] = (owners, sorted(meta.get("finalizers", ())), going)
    return objects


def unsettled(sequences: list[Sequence]) -> list[Sequence]:
    """Return the sequences whose real server does not reach the state of the simulated server and stay in
    it.
    """
    for _, twin, *_ in sequences:
        twin.server.wait(60.0)
    pending = [(entry, state(entry[1]), [0]) for entry in sequences]
    for _ in range(PATIENCE):
        for (real, *_), expected, equal_polls in pending:
            equal_polls[0] = equal_polls[0] + 1 if state(real) == expected else 0
        pending = [entry for entry in pending if entry[2][0] < STILL]
        if not pending:
            break
        pending[0][0][0].server.wait(0.1)
    return [entry for entry, _, _ in pending]

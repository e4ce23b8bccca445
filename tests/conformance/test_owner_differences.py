"""Owners and garbage collection: after the same random requests, the same objects are left on both servers.

When a collector looks is chance, so what is compared is the state that both come to rest in. Objects are
ConfigMaps and Secrets that own each other; their deletions follow each policy.
"""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any, Final, TypeAlias

import pytest

from conformance.client import Client, fresh_namespace
from conformance.servers import Server
from conformance.test_differences import beside

SEQUENCES: Final = 25
NAMES: Final = ("a", "b", "c", "d", "e", "f")
Sequence: TypeAlias = "tuple[Client, Client, list[Any], list[tuple[str, str, str]]]"
PLURALS: Final = {"ConfigMap": "configmaps", "Secret": "secrets"}
PATIENCE: Final = 600  # looks, a tenth of a second apart
STILL: Final = 8  # looks that have to see the same


def test_random_owners_leave_the_same_objects_behind(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(19)
    sequences: list[Sequence] = []
    for _ in range(SEQUENCES):
        real = fresh_namespace(server)
        sequences.append((real, beside(real), *drawn(rng)))
        for client in sequences[-1][:2]:
            build(client, sequences[-1][2])
    until_the_collector_knows_all(fresh_namespace(server))
    deleted = 0
    # One deletion in each namespace at a time: most of the time is spent waiting.
    for at in range(max(len(deletions) for *_, deletions in sequences)):
        under_way = [one for one in sequences if at < len(one[3])]
        for real, twin, _, deletions in under_way:
            name, kind, policy = deletions[at]
            for client in (real, twin):
                target = f"{client.home}/{PLURALS[kind]}/{name}"
                client.send("DELETE", target, {"propagationPolicy": policy})
            deleted += 1
        for real, twin, graph, deletions in unsettled(under_way):
            raise AssertionError((graph, deletions, state(twin), state(real)))
    with capsys.disabled():
        sys.stdout.write(f"\n{deleted} deletions left the same objects\n")


def drawn(rng: random.Random) -> tuple[list[Any], list[tuple[str, str, str]]]:
    """Objects with their owners, which stand before them, and what is deleted of them, in order."""
    graph: list[Any] = []
    for name in NAMES:
        kind = rng.choice(("ConfigMap", "Secret"))
        owners = rng.sample(graph, min(len(graph), rng.choice((0, 1, 1, 2))))
        block = [rng.random() < 0.5 for _ in owners]
        finalizers = ["a.b/c"] if rng.random() < 0.1 else []
        graph.append((name, kind, [(one[0], one[1]) for one in owners], block, finalizers))
    chosen = rng.sample(graph, rng.randint(1, 3))
    policies = ("Background", "Foreground", "Orphan")
    return graph, [(one[0], one[1], rng.choice(policies)) for one in chosen]


def build(client: Client, graph: list[Any]) -> None:
    uids: dict[tuple[str, str], str] = {}
    for name, kind, owners, block, finalizers in graph:
        references = [
            {
                "apiVersion": "v1",
                "kind": of,
                "name": owner,
                "uid": uids[owner, of],
                "blockOwnerDeletion": blocks,
            }
            for (owner, of), blocks in zip(owners, block, strict=True)
        ]
        meta = {"name": name, "ownerReferences": references, "finalizers": finalizers}
        made = client.create(
            f"{client.home}/{PLURALS[kind]}", {"apiVersion": "v1", "kind": kind, "metadata": meta}
        )
        uids[name, kind] = made["metadata"]["uid"]


def until_the_collector_knows_all(client: Client) -> None:
    """Wait until the garbage collector has acted on an object of each kind that was made after all others.

    It watches each kind by itself, and orphans or collects what it knows of: a Secret that it has not seen
    yet when its owner goes would be treated in another way.
    """
    kinds = sorted(PLURALS)
    for owning, owned in itertools.permutations(kinds):
        names = f"last-{owning}".lower(), f"last-{owned}".lower()
        build(client, [(names[0], owning, [], [], []), (names[1], owned, [(names[0], owning)], [False], [])])
        client.send(
            "DELETE", f"{client.home}/{PLURALS[owning]}/{names[0]}", {"propagationPolicy": "Background"}
        )
        client.gone(f"{client.home}/{PLURALS[owned]}", names[1])


def state(client: Client) -> dict[str, Any]:
    """What is there: each object with its owners, its finalizers, and whether it is being deleted."""
    found: dict[str, Any] = {}
    for plural in PLURALS.values():
        for item in client.get(f"{client.home}/{plural}")["items"]:
            meta = item["metadata"]
            if meta["name"] in NAMES:
                owners = [one["name"] for one in meta.get("ownerReferences", ())]
                going = "deletionTimestamp" in meta
                found[f"{plural}/{meta['name']}"] = (owners, sorted(meta.get("finalizers", ())), going)
    return found


def unsettled(sequences: list[Sequence]) -> list[Sequence]:
    """Those whose real server does not come to the state of the simulated one, and stay there."""
    for _, twin, *_ in sequences:
        twin.server.wait(60.0)
    left = [(one, state(one[1]), [0]) for one in sequences]
    for _ in range(PATIENCE):
        for (real, *_), expected, same in left:
            same[0] = same[0] + 1 if state(real) == expected else 0
        left = [one for one in left if one[2][0] < STILL]
        if not left:
            break
        left[0][0][0].server.wait(0.1)
    return [one for one, _, _ in left]

"""Owners and garbage collection: after the same random requests, the same objects are left on both servers.

When a collector looks is chance, so what is compared is the state that both come to rest in. Objects are
ConfigMaps and Secrets that own each other; their deletions follow each policy.
"""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any, Final

import pytest

from conformance.client import Client, fresh_namespace
from conformance.servers import Server
from conformance.test_differences import beside

SEQUENCES: Final = 25
NAMES: Final = ("a", "b", "c", "d", "e", "f")
PLURALS: Final = {"ConfigMap": "configmaps", "Secret": "secrets"}
PATIENCE: Final = 400  # looks, a tenth of a second apart


def test_random_owners_leave_the_same_objects_behind(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(19)
    deleted = 0
    for _ in range(SEQUENCES):
        real = fresh_namespace(server)
        twin = beside(real)
        graph, deletions = drawn(rng)
        for client in (real, twin):
            build(client, graph)
        for name, kind, policy in deletions:
            for client in (real, twin):
                target = f"{client.home}/{PLURALS[kind]}/{name}"
                client.send("DELETE", target, {"propagationPolicy": policy})
            deleted += 1
            assert settled(real, twin), (graph, deletions, state(twin), state(real))
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


def settled(real: Client, twin: Client) -> bool:
    """Whether both servers come to the same state, and stay there."""
    twin.server.wait(60.0)
    expected = state(twin)
    same = 0
    for _ in itertools.repeat(None, PATIENCE):
        same = same + 1 if state(real) == expected else 0
        if same == 8:
            return True
        real.server.wait(0.1)
    return False

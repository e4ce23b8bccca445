"""Random writes of a Scale, most of them invalid: the simulated server responds to each."""

from __future__ import annotations

import json
import random
from typing import Any, Final

from conformance.kinds import FOO, foo

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

JSON_PATCH: Final = "application/json-patch+json"
MEDIA: Final = (
    "application/merge-patch+json", JSON_PATCH, "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, 5, 1.5, "x", "", [], {}, True, -1, 2**31, 2**70, {"a": 1}, [1], [None],
)  # fmt: skip
TARGETS: Final = ("/apis/apps/v1/namespaces/n/deployments", "/apis/suite.test/v1/namespaces/n/foos")
DEPLOYMENT: Final[Any] = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}  # fmt: skip


def change(rng: random.Random, media: str) -> Any:
    value = rng.choice(VALUES)
    if media == JSON_PATCH:
        operation = {
            "op": rng.choice(["add", "replace", "remove", "test", "move", "copy", 5, None]),
            "path": rng.choice(
                ["/spec", "/spec/replicas", "/metadata/name", "/kind", "/status", "", 5, None]
            ),
            "value": value,
            "from": rng.choice(["/spec", "/kind", 5]),
        }
        return rng.choice([[operation], value])
    part = rng.choice(["spec", "kind", "apiVersion", "metadata", "status"])
    field = rng.choice(["name", "namespace", "uid", "resourceVersion", "labels", "managedFields"])
    return rng.choice([{part: value}, {"spec": {"replicas": value}}, {"metadata": {field: value}}, value])


def test_each_write_of_a_scale_gets_a_response() -> None:
    cluster = sim.Cluster(crds=[FOO])
    cluster.namespace("n")

    def ask(method: str, target: str, body: Any, media: str = "application/json") -> int:
        request = RawRequest(method, target, (("Content-Type", media),), json.dumps(body).encode())
        return cluster.respond(request).status

    assert [ask("POST", TARGETS[0], DEPLOYMENT), ask("POST", TARGETS[1], foo("a", replicas=1))] == [201, 201]
    rng, statuses = random.Random(1), set[int]()
    for _ in range(2_000):
        target, media = f"{rng.choice(TARGETS)}/a/scale", rng.choice(MEDIA)
        statuses.add(ask("PATCH", target, change(rng, media), media))
        statuses.add(ask("PUT", target, change(rng, "")))
    assert {200, 400, 409, 415, 422} <= statuses

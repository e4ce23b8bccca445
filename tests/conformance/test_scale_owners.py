"""Who owns the replicas of an object after its Scale was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

from conformance.client import MERGE, Client
from conformance.kinds import foo, foos

REPLICAS: Final[Any] = {"f:replicas": {}}


def owners(client: Client, target: str) -> list[tuple[str, bool, Any]]:
    """Return the entries: the subresource, whether there is a time, and the fields of the spec."""
    entries = client.get(target)["metadata"]["managedFields"]
    return [
        (entry.get("subresource", ""), "time" in entry, entry["fieldsV1"].get("f:spec")) for entry in entries
    ]


@pytest.mark.parametrize(
    ("had", "change", "expected"),
    [
        (2, {"spec": {"replicas": 1}}, [("scale", False, REPLICAS)]),
        # A server creates a new entry even if nothing changes, and drops it with the next write.
        (1, {"spec": {"replicas": 1}}, [("", False, REPLICAS)]),
        (2, {"metadata": {"labels": {"a": "b"}}}, [("", False, REPLICAS)]),
        (None, {"spec": {"replicas": 1}}, ()),
    ],
)
def test_a_scale_takes_the_replicas_from_their_owner(
    client: Client, had: int | None, change: Any, expected: Sequence[Any]
) -> None:
    target = f"{foos(client.namespace)}/a"
    client.create(foos(client.namespace), foo("a") if had is None else foo("a", replicas=had))
    client.merge(f"{target}/scale", change)
    other_entry: Any = ("", True, {".": {}, "f:color": {}, "f:size": {}})
    assert owners(client, target) == [*expected, other_entry]
    client.merge(target, {"metadata": {"annotations": {"a": "b"}}})
    assert owners(client, target) == [*(entry for entry in expected if entry[0]), other_entry]


def test_a_scale_needs_replicas(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    client.create(foos(client.namespace), foo("a"))
    status = client.expect_refusal("PATCH", f"{target}/scale", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert (status["code"], status["message"]) == (
        400, 'the spec replicas field ".spec.replicas" cannot be empty',
    )  # fmt: skip

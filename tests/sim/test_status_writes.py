"""The metadata that a write of the status changes, kind by kind, as on a 1.36 server."""

from __future__ import annotations

from typing import Any, Final

import pytest
from raw_client import BOOKS, MERGE, RawClient

_SELECTED: Final = {"matchLabels": {"a": "b"}}
_TEMPLATE: Final[dict[str, Any]] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_SET: Final[dict[str, Any]] = {"replicas": 0, "selector": _SELECTED, "template": _TEMPLATE}
KINDS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("/apis/apps/v1/namespaces/default/deployments", _SET),
    ("/apis/apps/v1/namespaces/default/replicasets", _SET),
    ("/apis/apps/v1/namespaces/default/statefulsets", _SET | {"serviceName": "s"}),
    ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"selector": _SELECTED}),
    ("/api/v1/namespaces/default/services", {"ports": [{"port": 80}]}),
    ("/api/v1/namespaces/default/resourcequotas", {"hard": {"pods": "10"}}),
    ("/api/v1/namespaces/default/pods", _TEMPLATE["spec"]),
    ("/api/v1/nodes", {}),
)
OWNER: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}
CHANGE: Final = {
    "metadata": {
        "labels": {"l": "2"}, "annotations": {"n": "2"}, "finalizers": ["x.io/y"], "ownerReferences": [OWNER],
    },
    "spec": {"replicas": 7},
}  # fmt: skip


@pytest.mark.parametrize(("target", "spec"), KINDS, ids=[target.rpartition("/")[2] for target, _ in KINDS])
def test_a_status_write_of_a_built_in_kind_changes_metadata(target: str, spec: dict[str, Any]) -> None:
    client = RawClient()
    meta = {"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}}
    created = client.create(target, {"metadata": meta, "spec": spec})
    patched = client.fetch("PATCH", f"{target}/a/status", CHANGE, MERGE)
    meta = patched["metadata"]
    assert meta["annotations"]["n"] == "2"
    assert meta["finalizers"] == ["x.io/y"]
    assert meta["labels"] == ({"l": "1"} if target.endswith("deployments") else {"l": "2"})
    assert meta.get("ownerReferences") == (None if target.endswith("pods") else [OWNER])
    assert meta.get("generation") == created["metadata"].get("generation")
    assert patched["spec"] == created["spec"]


def test_a_status_write_of_a_custom_resource_does_not_change_metadata() -> None:
    client = RawClient()
    client.book("a")
    patched = client.fetch("PATCH", f"{BOOKS}/a/status", CHANGE | {"status": {"readers": 1}}, MERGE)
    assert patched["status"] == {"readers": 1}
    assert not {"labels", "annotations", "finalizers", "ownerReferences"} & set(patched["metadata"])

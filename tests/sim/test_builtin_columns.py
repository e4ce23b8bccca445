"""Tables of all built-in kinds have the columns and cells of a real server.

minimal_cells.json contains the cells that a kube-apiserver 1.36.3 sent for each of the minimal objects of
minimal_objects.json. Ages and the name of the client are excluded from the comparison.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from raw_client import RawClient

import kubeproto_sim as sim
from kubeproto.kinds import kind_table

HERE: Final = Path(__file__).parent
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
OBJECTS: Final[list[Any]] = json.loads((HERE / "minimal_objects.json").read_text())
CELLS: Final[dict[str, list[Any]]] = json.loads((HERE / "minimal_cells.json").read_text())
_DRAWN: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:]+Z|^\d+d$|^0s$|^10\.0\.0\.\d+$|^admin$|^sim$"
)


def plain(cells: list[Any]) -> list[Any]:
    return [_DRAWN.sub("<drawn>", cell) if isinstance(cell, str) else cell for cell in cells]


def key_of(target: str) -> str:
    parts = [part for part in target.split("/")[2:] if part]
    return "/".join(part for part in parts if part not in ("namespaces", "default")) or "v1/namespaces"


@pytest.mark.parametrize(("target", "obj"), [row[:2] for row in OBJECTS], ids=[row[0] for row in OBJECTS])
def test_a_minimal_object_has_the_cells_of_a_real_server(target: str, obj: dict[str, Any]) -> None:
    key = "v1/namespaces" if target == "/api/v1/namespaces" else key_of(target)
    table = RawClient().fetch("POST", f"{target}?dryRun=All", obj, Accept=TABLE)
    assert plain(table["rows"][0]["cells"]) == plain(CELLS[key])


def test_every_kind_that_is_listed_has_columns() -> None:
    raw_client = RawClient(sim.Cluster())
    for resource_facts in kind_table().resources:
        resource = resource_facts.resource
        if "list" in resource.verbs:
            root = "apis" if resource.group else "api"
            target = f"/{root}/{resource.api_version}/{resource.plural}"
            response = raw_client.fetch("GET", target, Accept=TABLE)
            assert raw_client.status == 200
            assert "Name" in [column["name"] for column in response["columnDefinitions"]]


def test_the_status_column_of_a_pod_shows_its_waiting_reason() -> None:
    raw_client = RawClient()
    raw_client.pod("p", node="n")
    state = {"waiting": {"reason": "ErrImagePull"}}
    waiting = {"name": "c", "ready": False, "restartCount": 2, "state": state, "image": "i", "imageID": ""}

    def wait(pod: dict[str, Any]) -> None:
        pod["status"]["containerStatuses"] = [waiting]

    raw_client.cluster.edit("v1/Pod", "p", wait)
    response = raw_client.fetch("GET", "/api/v1/namespaces/default/pods/p", Accept=TABLE)
    assert response["rows"][0]["cells"][:4] == ["p", "0/1", "ErrImagePull", "2"]
    assert response["rows"][0]["cells"][5:7] == ["<none>", "n"]

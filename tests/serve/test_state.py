"""Objects that outlive the process: a restart preserves them, and a SIGKILL loses no acknowledged write."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import sys
from pathlib import Path

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_serve import UnusableState, serve

sys.path.insert(0, str(Path(__file__).parent))
from state_rig import kill_under_load

ANOTHER = pytest.mark.thorough("another load of the same kind")


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="library.example.io", version="v1", plural="books"):
    """A book."""


def config_map(name: str, **metadata: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def test_a_restart_preserves_objects_kinds_and_pending_deletions(tmp_path: Path) -> None:
    async def main() -> None:
        first = sim.Cluster(crds=[Book], seed=1)
        async with serve(first, state=tmp_path):
            first.put(Book(metadata=kp.ObjectMeta(name="moby"), spec=BookSpec(title="Moby")))
            owner = first.put(config_map("owner"))["metadata"]["uid"]
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}
            first.put(config_map("owned", ownerReferences=[reference]))
            first.put(config_map("gone"))
            first.remove("v1/ConfigMap", "gone")
            first.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}})
            first.put(config_map("held", namespace="going", finalizers=["example.io/hold"]))
            first.respond(kp.RawRequest("DELETE", "/api/v1/namespaces/going"))
        second = sim.Cluster(seed=1)
        async with serve(second, state=tmp_path):
            assert second.version >= first.version
            assert second.get(Book, "moby") == first.get(Book, "moby")
            assert second.get("v1/ConfigMap", "gone") is None
            assert second.put(config_map("new"))["metadata"]["uid"] not in {
                obj["metadata"]["uid"] for obj in first.objects("v1/ConfigMap")
            }
            # The controllers know what the first server's controllers knew: owners, and namespaces that are
            # being deleted.
            second.remove("v1/ConfigMap", "owner")
            second.remove("v1/ConfigMap", "held", "going")
            second.settle()
            assert second.get("v1/ConfigMap", "owned") is None
            assert second.get("v1/Namespace", "going") is None
            # The history is empty, as after the restart of a real server.
            answer = second.respond(kp.RawRequest("GET", "/api/v1/configmaps?watch=1&resourceVersion=1"))
            assert not isinstance(answer.body, bytes)
            assert b'"code":410' in answer.body.take()

    anyio.run(main)


def test_a_server_that_is_killed_before_the_first_write_has_stored_its_objects(tmp_path: Path) -> None:
    async def main() -> None:
        first = sim.Cluster(seed=1)
        async with serve(first, state=tmp_path / "running"):
            shutil.copytree(tmp_path / "running", tmp_path / "killed")
        second = sim.Cluster(seed=2)
        async with serve(second, state=tmp_path / "killed"):
            assert second.get("v1/Namespace", "default", "") == first.get("v1/Namespace", "default", "")

    anyio.run(main)


def test_changes_that_could_not_be_written_are_written_when_the_server_ends(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def main() -> None:
        cluster = sim.Cluster()
        async with serve(cluster, state=tmp_path):
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))  # as if the disk were full
            try:
                cluster.put(config_map("a"))
                await anyio.sleep_forever()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    with pytest.RaisesGroup(sqlite3.OperationalError):
        anyio.run(main)

    async def restart() -> None:
        cluster = sim.Cluster()
        async with serve(cluster, state=tmp_path):
            assert cluster.get("v1/ConfigMap", "a") is not None

    anyio.run(restart)


def test_only_a_single_server_uses_a_folder_at_a_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(sim.Cluster(), state=tmp_path):
            with pytest.raises(UnusableState, match="another server uses it"):
                async with serve(sim.Cluster(), state=tmp_path):
                    pass
        async with serve(sim.Cluster(), state=tmp_path):
            pass

    anyio.run(main)


@pytest.mark.parametrize("damage", ["text", "format"])
def test_a_folder_with_foreign_content_is_refused(tmp_path: Path, damage: str) -> None:
    async def main() -> None:
        if damage == "text":
            (tmp_path / "cluster.sqlite").write_text("not a database, but long enough to look at" * 99)
        else:
            async with serve(sim.Cluster(), state=tmp_path):
                pass
            database = sqlite3.connect(tmp_path / "cluster.sqlite")
            database.execute("UPDATE cluster SET format = 99")
            database.commit()
            database.close()
        with pytest.raises(UnusableState, match=r"cluster\.sqlite"):
            async with serve(sim.Cluster(), state=tmp_path):
                pass

    anyio.run(main)


@pytest.mark.one_python
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=ANOTHER), pytest.param(3, marks=ANOTHER)])
def test_a_kill_under_load_loses_no_acknowledged_write_and_leaves_no_partial_write(
    tmp_path: Path, seed: int
) -> None:
    assert kill_under_load(tmp_path / "state", seed) > 0

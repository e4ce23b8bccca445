"""Objects are migrated to the version that is stored, and no version is forgotten while one may be in it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from migration_scenarios import NAME, Book, BookV1, Spec, books_are_migrated, definition

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import CustomResourceDefinition, deny
from kubeproto.kinds.core_v1 import Namespace
from kubeproto_runtime import MigrationError
from kubeproto_runtime.testing import (
    BACKENDS,
    Backend,
    install_webhooks,
    run,
    simulated,
    simulated_blocking,
)
from kubeproto_runtime.webhooks import Admission, Webhooks
from kubeproto_runtime.writing import Migration


def cluster_of(*names: str) -> sim.Cluster:
    """Books of these names in a cluster that has stored v1 before v2."""
    cluster = sim.Cluster(crds=[definition(storage="v2")])
    with simulated_blocking(cluster) as client:
        store(cluster, "v1", "v2")
        for name in names:
            namespace, _, short = name.rpartition("/")
            metadata = kp.ObjectMeta(name=short, namespace=namespace or "default")
            if namespace:
                cluster.put(Namespace(metadata=kp.ObjectMeta(name=namespace)))
            client.create(Book(metadata=metadata, spec=Spec(title="Moby-Dick")))
    return cluster


def store(cluster: sim.Cluster, *versions: str) -> None:
    with simulated_blocking(cluster) as client:
        status = client.api(CustomResourceDefinition).subresource("status")
        status.merge_patch(NAME, {"status": {"storedVersions": list(versions)}})


def stored(cluster: sim.Cluster) -> list[str]:
    found: Any = cluster.get(CustomResourceDefinition, NAME)
    versions: list[str] = found["status"]["storedVersions"]
    return versions


def patched(faults: sim.Faults) -> list[str]:
    """The objects that were patched, in order, with each attempt."""
    lines = [line.split() for line in faults.transcript.splitlines() if " PATCH " in line]
    return [line[2].rpartition("/")[2] for line in lines if "status" not in line[2]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_object_is_written_at_the_rate_and_old_versions_are_forgotten(backend: Backend) -> None:
    cluster = cluster_of("b1", "b2", "other/b1")
    faults = sim.Faults(cluster)

    async def main() -> None:
        async with simulated(cluster, faults=faults) as client:
            began = cluster.now
            done = await client.migrate_storage(Book, rate=0.5)
            assert done == Migration(NAME, "v2", 3, ("v1",))
            assert cluster.now - began == pytest.approx(10.0 + 2 * 2.0)
            assert await client.migrate_storage(NAME) == Migration(NAME, "v2")

    run(main, backend=backend)
    assert stored(cluster) == ["v2"]
    assert patched(faults) == ["b1", "b2", "b1"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_version_can_go_as_on_a_real_server(backend: Backend) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            await books_are_migrated(client)

    run(main, backend=backend)


def test_a_script_migrates_in_the_same_way() -> None:
    cluster = cluster_of("b1", "b2")
    with simulated_blocking(cluster) as client:
        assert client.migrate_storage(Book) == Migration(NAME, "v2", 2, ("v1",))
    assert stored(cluster) == ["v2"]


def test_pages_are_requested_until_there_are_no_more() -> None:
    cluster = cluster_of(*(f"b{number:03}" for number in range(501)))
    with simulated_blocking(cluster) as client:
        assert client.migrate_storage(Book, rate=1000.0).rewritten == 501


def test_nothing_is_sent_where_nothing_is_stored_in_another_version() -> None:
    cluster = cluster_of("b1")
    store(cluster, "v2")
    faults = sim.Faults(cluster)
    with simulated_blocking(cluster, faults=faults) as client:
        assert client.migrate_storage(Book) == Migration(NAME, "v2")
    assert len(faults.transcript.splitlines()) == 1


def test_what_is_deleted_meanwhile_need_not_be_written() -> None:
    cluster = cluster_of("b1", "b2", "b3")
    cluster.later(10.5, lambda: cluster.remove(Book, "b2"))
    with simulated_blocking(cluster) as client:
        assert client.migrate_storage(Book, rate=1.0).rewritten == 2
    assert stored(cluster) == ["v2"]


def test_an_object_that_is_refused_keeps_the_old_version() -> None:
    cluster = cluster_of("b1", "b2", "b3")

    def check(admission: Admission[Book]) -> Any:
        return deny("not this one") if admission.object.metadata.name == "b2" else None

    install_webhooks(cluster, Webhooks(Book).validate(check, operations=("UPDATE",)))
    faults = sim.Faults(cluster)
    with simulated_blocking(cluster, faults=faults) as client:
        with pytest.raises(
            MigrationError, match=r"1 were refused, such as Book\.migrated\.test default/b2: PATCH"
        ) as caught:
            client.migrate_storage(Book)
        [(refused, error)] = caught.value.refused
        assert (refused.name, type(error)) == ("b2", kp.Forbidden)
        assert patched(faults) == ["b1", "b2", "b3"]  # the others are done
        assert stored(cluster) == ["v1", "v2"]
        # Those that were written need not be written again.
        client.api(Book).delete("b2")
        again = client.migrate_storage(Book, since=caught.value.since)
        assert (again.rewritten, stored(cluster)) == (2, ["v2"])


def test_after_twenty_refusals_nothing_more_is_tried() -> None:
    cluster = cluster_of(*(f"b{number}" for number in range(30)))
    install_webhooks(cluster, Webhooks(Book).validate(lambda _: deny("none"), operations=("UPDATE",)))
    faults = sim.Faults(cluster)
    with simulated_blocking(cluster, faults=faults) as client, pytest.raises(MigrationError) as caught:
        client.migrate_storage(Book)
    assert (len(caught.value.refused), len(patched(faults))) == (20, 20)


def test_objects_that_are_newer_than_an_earlier_migration_are_left_alone() -> None:
    cluster = cluster_of("b1", "b2")
    begun = str(cluster.version)
    with simulated_blocking(cluster) as client:
        client.create(Book(metadata=kp.ObjectMeta(name="b3"), spec=Spec(title="Emma")))
        assert client.migrate_storage(Book, since=begun).rewritten == 2


def test_a_definition_that_changes_meanwhile_keeps_its_versions() -> None:
    cluster = cluster_of("b1", "b2", "b3")
    there_and_back = [definition(storage=storage).spec for storage in ("v1", "v2")]
    with simulated_blocking(cluster) as other, simulated_blocking(cluster) as client:

        def change() -> None:
            definitions = other.api(CustomResourceDefinition)
            for spec in there_and_back:
                definitions.update(NAME, partial(set_spec, spec))

        cluster.later(11.5, change)
        with pytest.raises(MigrationError, match="it was changed while its objects were rewritten"):
            client.migrate_storage(Book, rate=1.0)
        assert "v1" in stored(cluster)
        client.migrate_storage(Book)
    assert stored(cluster) == ["v2"]


def set_spec(spec: dict[str, Any], found: CustomResourceDefinition) -> None:
    found.spec = spec


@pytest.mark.parametrize("conflicts", [4, 5])
def test_a_conflict_is_met_by_another_attempt_and_not_forever(conflicts: int) -> None:
    cluster = cluster_of("b1")
    faults = sim.Faults(cluster, script=[sim.ForceConflict()] * conflicts)
    with simulated_blocking(cluster, faults=faults) as client:
        if conflicts == 4:
            assert client.migrate_storage(Book).rewritten == 1
        else:
            with pytest.raises(
                MigrationError, match=r"such as Book\.migrated\.test default/b1: .*has been modified"
            ):
                client.migrate_storage(Book)
    assert patched(faults) == ["b1"] * 5


def test_a_definition_whose_status_is_written_meanwhile_is_read_again() -> None:
    cluster = cluster_of()
    faults = sim.Faults(cluster, script=[sim.ForceConflict()] * 2)
    with simulated_blocking(cluster, faults=faults) as client:
        assert client.migrate_storage(Book) == Migration(NAME, "v2", 0, ("v1",))
    assert stored(cluster) == ["v2"]


def test_a_definition_that_changes_at_the_last_moment_keeps_its_versions() -> None:
    cluster = cluster_of()

    class Changing(sim.BlockingSimTransport):
        """Another client changes the definition just before its status is written."""

        def send(self, request: kp.RawRequest, **options: Any) -> Any:
            if request.method == "PATCH" and "/status" in request.target:
                with simulated_blocking(cluster) as other:
                    spec = definition(storage="v1").spec
                    other.api(CustomResourceDefinition).update(NAME, partial(set_spec, spec))
            return super().send(request, **options)

    with simulated_blocking(cluster) as client:
        client.transport = Changing(cluster, cluster.respond)
        with pytest.raises(MigrationError, match="it was changed while its objects were rewritten"):
            client.migrate_storage(Book)
    assert "v1" in stored(cluster)


def test_a_page_that_cannot_be_read_ends_it() -> None:
    cluster = cluster_of("b1")
    faults = sim.Faults(cluster)
    with simulated_blocking(cluster, faults=faults) as client:
        cluster.later(5.0, lambda: faults.script.append(sim.Html(code=404)))
        with pytest.raises(MigrationError, match="a page of them could not be read"):
            client.migrate_storage(Book)
    assert stored(cluster) == ["v1", "v2"]


def test_objects_of_which_no_version_is_served_cannot_be_migrated() -> None:
    cluster = cluster_of("b1")
    with simulated_blocking(cluster) as client:

        def hide(found: CustomResourceDefinition) -> None:
            for one in found.spec["versions"]:
                one["served"] = False

        client.api(CustomResourceDefinition).update(NAME, hide)
        with pytest.raises(MigrationError, match="none of its versions is served"):
            client.migrate_storage(Book)
    assert stored(cluster) == ["v1", "v2"]


def test_objects_are_requested_in_another_version_if_the_stored_one_is_not_served() -> None:
    cluster = cluster_of("b1")
    with simulated_blocking(cluster) as client:

        def hide(found: CustomResourceDefinition) -> None:
            for one in found.spec["versions"]:
                one["served"] = one["name"] == "v1"

        client.api(CustomResourceDefinition).update(NAME, hide)
        assert client.migrate_storage(NAME) == Migration(NAME, "v2", 1, ("v1",))
        assert client.api(BookV1).get("b1").spec.title == "Moby-Dick"


@pytest.mark.parametrize("options", [{"rate": 0.0}, {"settle": -1.0}, {"since": "later"}])
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(options: Any) -> None:
    faults = sim.Faults(cluster_of("b1"))
    with simulated_blocking(faults.cluster, faults=faults) as client:
        with pytest.raises(kp.InvalidRequest, match="migrate_storage needs"):
            client.migrate_storage(Book, **options)
        with pytest.raises(kp.NotFound):
            client.migrate_storage("films.migrated.test")
    assert len(faults.transcript.splitlines()) == 1

"""Kinds by name and verbs on objects at hand, in both clients: what a script needs."""

from __future__ import annotations

from typing import Any

import pytest
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import definition_of
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.objects import Table, TableColumn, TableRow
from kubeproto_runtime import KindNotServed, conditions
from kubeproto_runtime.calls import UnknownKind
from kubeproto_runtime.testing import simulated, simulated_blocking

__all__ = ["go"]


class BookSpec(kp.Fields):
    title: str = ""


class Book(kp.Object[BookSpec, None], group="example.com", version="v1", short_names=("bk",)):
    """A book."""


class OtherBook(kp.Object[BookSpec, None], group="other.example.com", version="v2", kind="Book"):
    """Another kind of the same name."""


TEXT = """
apiVersion: example.com/v1
kind: Book
metadata: {name: moby}
spec: {title: Moby-Dick}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: label, namespace: prod}
data: {a: b}
"""


def library() -> sim.Cluster:
    cluster = sim.Cluster(crds=[Book, OtherBook])
    cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
    return cluster


NAMES = [
    ("deploy", "deployments.apps/v1"),
    ("Deployment", "deployments.apps/v1"),
    ("deployments.apps", "deployments.apps/v1"),
    ("deployments.v1.apps", "deployments.apps/v1"),
    ("po", "pods/v1"),
    ("pod", "pods/v1"),
    ("pods.v1.", "pods/v1"),
    ("bk", "books.example.com/v1"),
    ("books.example.com", "books.example.com/v1"),
    ("books.other.example.com", "books.other.example.com/v2"),
    ("book.v2.other.example.com", "books.other.example.com/v2"),
    ("ns", "namespaces/v1"),
]


@pytest.mark.parametrize(("name", "resource"), NAMES)
def test_a_kind_is_found_by_each_of_its_names(go: Go, name: str, resource: str) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            assert str((await client.resource(name)).resource) == resource
        with simulated_blocking(cluster) as blocking:
            assert str(blocking.resource(name).resource) == resource

    go(main)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deployment.app", "no resource 'deployment.app'; did you mean deployments.apps?"),
        ("poods", "no resource 'poods'; did you mean pods or "),
        ("xyzzy", "the server serves no resource 'xyzzy'"),
    ],
)
def test_a_name_that_is_not_known_is_refused_with_what_may_have_been_meant(name: str, said: str) -> None:
    with simulated_blocking(library()) as client, pytest.raises(UnknownKind) as refused:
        client.resource(name)
    assert said in str(refused.value)
    assert isinstance(refused.value, KindNotServed)


def test_a_kind_that_is_installed_later_is_found_without_a_new_client() -> None:
    cluster = sim.Cluster()
    with simulated_blocking(cluster) as client:
        client.resource("pods")
        with pytest.raises(UnknownKind):
            client.resource("books")
        client.create(definition_of(Book))
        cluster.advance(5)
        assert client.resource("books").resource.group == "example.com"


def test_discovery_is_asked_once_for_all_names_that_it_knows() -> None:
    cluster = library()
    with simulated_blocking(cluster) as client:
        for name, _ in NAMES:
            client.resource(name)
    assert sum(exchange.request.target in ("/api", "/apis") for exchange in cluster.log) == 2


def test_a_namespace_counts_only_for_a_kind_that_has_one() -> None:
    with simulated_blocking(library()) as client:
        assert client.resource("pods", namespace="prod").namespace == "prod"
        assert client.resource("pods").namespace == "default"
        assert client.resource("ns", namespace="prod").namespace == ""
        assert client.resource("ns", namespace=kp.ALL).namespace == ""


def test_objects_of_a_manifest_are_made_read_changed_and_deleted(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            for obj in kp.parse_manifest(TEXT):
                made = await client.create(obj)
                assert made.metadata.uid
            book, label = [await client.refresh(obj) for obj in kp.parse_manifest(TEXT)]
            assert (book["spec"]["title"], label.metadata.namespace) == ("Moby-Dick", "prod")
            book["spec"]["title"] = "Typee"
            book = await client.replace(book)
            label["data"] = {"a": "c"}
            await client.apply(wanted(label), field_manager="me", force=True)
            seen = await client.wait_for(book, lambda obj: obj["spec"]["title"] == "Typee")
            assert seen.metadata.uid == book.metadata.uid
            assert (await (await client.of(label)).get("label"))["data"] == {"a": "c"}
            for obj in (book, label):
                await client.delete(obj)
                assert await client.wait_for(obj, conditions.deleted()) is None
        assert cluster.get(Book, "moby") is None

    go(main)


def put(cluster: sim.Cluster, name: str) -> None:
    cluster.put(Book(metadata=kp.ObjectMeta(name=name, namespace="default"), spec=BookSpec()))


def wanted(obj: kp.Dynamic) -> kp.Dynamic:
    meta = kp.ObjectMeta(name=obj.metadata.name, namespace=obj.metadata.namespace)
    return kp.Dynamic(
        kind=obj.kind, api_version=obj.api_version, metadata=meta, content={"data": obj["data"]}
    )


def test_the_same_on_the_blocking_client_and_with_classes() -> None:
    cluster = library()
    with simulated_blocking(cluster) as client:
        for obj in kp.parse_manifest(TEXT, [Book, ConfigMap]):
            client.create(obj)
        book = client.api(Book).get("moby")  # read lazily: its class is a hidden one
        book.spec.title = "Typee"
        book = client.replace(book)
        assert type(client.of(book).kind) is type(Book)
        assert client.of(book).kind is Book
        book = client.refresh(book)
        assert book.spec.title == "Typee"
        client.delete(book, propagation="Background")
        assert client.wait_for(book, conditions.deleted()) is None
        label = client.apply(
            ConfigMap(metadata=kp.ObjectMeta(name="label", namespace="prod"), data={"a": "c"}),
            field_manager="me",
            force=True,
        )
        assert label.data == {"a": "c"}
    assert not any(exchange.request.target in ("/api", "/apis") for exchange in cluster.log)


def test_an_object_of_a_kind_that_is_not_served_is_refused_by_its_kind() -> None:
    with (
        simulated_blocking(sim.Cluster()) as client,
        pytest.raises(KindNotServed, match=r"Book .example.com/v1"),
    ):
        client.create(kp.parse_manifest(TEXT)[0])


def test_metadata_alone_has_no_kind() -> None:
    cluster = library()
    cluster.put(Book(metadata=kp.ObjectMeta(name="moby"), spec=BookSpec()))
    with simulated_blocking(cluster) as client:
        found: Any = client.api(kp.Metadata[Book]).get("moby")
        with pytest.raises(
            kp.InvalidRequest, match=r"'moby' does not name its kind; use client.api\(kp.Metadata"
        ):
            client.delete(found)


def test_a_table_prints_as_kubectl_does() -> None:
    cluster = library()
    with simulated_blocking(cluster) as client:
        for obj in kp.parse_manifest(TEXT):
            client.create(obj)
        table = client.resource("cm", namespace=kp.ALL).as_table().list()
        lines = table.text(namespaces=True).splitlines()
        assert lines[0] == "NAMESPACE   NAME    DATA   AGE"
        assert [line.split()[:3] for line in lines[1:]] == [["prod", "label", "1"]]
        assert str(table) == table.text()
        assert str(table).splitlines()[0] == "NAME    DATA   AGE"
        [row] = table.rows
        assert row.metadata is not None
        assert (row.metadata.name, row.metadata.namespace) == ("label", "prod")
        assert table.records()[0]["Name"] == "label"
        bare = client.resource("cm", namespace="prod").as_table(include_object="None").list()
        assert [row.metadata for row in bare.rows] == [None]
        whole = client.resource("cm", namespace="prod").as_table(include_object="Object").list()
        assert [row.object is not None and row.object["data"] for row in whole.rows] == [{"a": "b"}]


@pytest.mark.parametrize("include", ["Metadata", "None"])
def test_tables_come_in_pages_and_no_row_twice(include: Any) -> None:
    cluster = library()
    for number in range(7):
        cluster.put({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": f"map-{number}", "namespace": "prod"},
        })  # fmt: skip
    with simulated_blocking(cluster) as client:
        api = client.resource("cm", namespace="prod")
        pages = api.as_table(include_object=include).pages(limit=3)
        tables = [next(pages)]
        cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})
        cluster.compact()  # the rest is of a later moment
        tables += pages
    assert not pages.consistent
    assert [row.cells[0] for table in tables for row in table.rows] == [f"map-{n}" for n in range(7)]


class Shelf(kp.Object[BookSpec, None], group="example.com", version="v1", categories=("everything",)):
    """Another kind."""


def test_a_category_is_each_of_its_kinds_once_in_both_clients(go: Go) -> None:
    cluster = sim.Cluster(crds=[Shelf])
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "prod"}})

    async def main() -> None:
        async with simulated(cluster) as client:
            every = await client.resources("everything")
            assert [api.resource.plural for api in every] == ["shelfs"]
            tables = client.api(ConfigMap, namespace="prod").as_table().pages(limit=1)
            assert [row.cells[0] async for table in tables for row in table.rows] == ["a"]
            assert tables.consistent

    go(main)
    with simulated_blocking(cluster) as client:
        assert [api.resource.plural for api in client.resources("everything")] == ["shelfs"]
        assert [api.resource.plural for api in client.resources("cm")] == ["configmaps"]
        with pytest.raises(UnknownKind, match="everythink"):
            client.resources("everythink")


def test_a_wide_table_has_the_columns_that_are_hidden_otherwise() -> None:
    with simulated_blocking(library()) as client:
        table = client.resource("po").as_table().list()
    assert "NODE" not in table.text()
    assert "NODE" in table.text(wide=True)
    assert table.rows == []


def test_a_cell_cannot_write_to_the_terminal() -> None:
    column = TableColumn(name="Name")
    row = TableRow(cells=["a\x1b[2Jb"])
    table = Table(column_definitions=[column], raw_rows=[row])
    assert table.text().splitlines()[1] == "a\\x1b[2Jb"


def test_minutes_of_a_blocking_simulation_take_no_time() -> None:
    cluster = library()
    with simulated_blocking(cluster) as client:
        cluster.later(300, lambda: put(cluster, "late"))
        begun = client.now()
        late = Book(metadata=kp.ObjectMeta(name="late"), spec=BookSpec())
        client.wait_for(late, conditions.exists(), timeout=600)
        assert client.now() - begun >= 300
        client.api(Book).delete("late")
        assert client.until(lambda: cluster.get(Book, "late") is None, within=60)
        with pytest.raises(kp.DeadlineExceeded):
            client.until(lambda: cluster.get(Book, "late"), within=60)

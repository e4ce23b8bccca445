"""Conversations with a server: the same program runs against a real server, to record them, and against the
recording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
from asked_release import GATES

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import ConfigMap, Namespace, Pod, Service, ServiceAccount
from kubeproto.objects import Definition, Scale
from kubeproto.requests import Request, health, openapi_index, version
from kubeproto.wire import Expired, classify

from ._real_asking import NAMESPACES, Asker


class Stage:
    """Preparations of a conversation on a server; with a recording they do nothing."""

    def __init__(
        self, release: str, asker: Asker | None = None, compact: Callable[[], object] = lambda: None
    ) -> None:
        self.release = release
        self.compact = compact
        self._asker = asker

    def do(self, request: Request[Any]) -> None:
        """Send a request, unless the conversation is replayed."""
        if self._asker is not None:
            self._asker.ask(request)


Conversation = Callable[[Asker, Stage], None]


class BookSpec(kp.Fields):
    title: str
    copies: int = 1


class BookStatus(kp.Fields):
    lent: int = 0


class Book(
    kp.Object[BookSpec, BookStatus],
    group="talk.kubeproto.test",
    version="v1",
    plural="books",
    definition=Definition(scale=Scale(".spec.copies", ".status.lent")),
):
    """What is spoken of."""  # recorded: the description of the definition


def book(name: str, title: str = "Moby", **metadata: Any) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name, **metadata), spec=BookSpec(title=title))


def in_namespace(asker: Asker, name: str) -> str:
    asker.ask(NAMESPACES.create(Namespace(metadata=kp.ObjectMeta(name=name))))
    return name


def life_of_an_object(asker: Asker, _: Stage) -> None:
    asker.define(definition_of(Book))
    books = kp.Api(Book, namespace=in_namespace(asker, "life"))
    created = asker.reply(books.create(book("moby", finalizers=["talk.kubeproto.test/hold"])))
    assert created.created
    assert created.value.spec == BookSpec(title="Moby")
    read = asker.ask(books.get("moby"))
    assert read == created.value
    read.spec.copies = 3
    replaced = asker.ask(books.replace(read))
    assert replaced.metadata.generation == 2
    patched = asker.ask(books.merge_patch("moby", {"metadata": {"labels": {"shelf": "sea"}}}))
    assert patched.metadata.labels == {"shelf": "sea"}
    tested = asker.ask(books.json_patch("moby", [{"op": "test", "path": "/spec/copies", "value": 3}]))
    assert tested.metadata.resource_version == patched.metadata.resource_version
    applied = {"metadata": {"name": "moby"}, "spec": {"copies": 5}}
    with pytest.raises(kp.Conflict) as conflict:
        asker.ask(books.apply(applied, field_manager="library"))
    assert [cause.field for cause in conflict.value.status.details.causes] == [".spec.copies"]
    assert asker.ask(books.apply(applied, field_manager="library", force=True)).spec.copies == 5
    lent = asker.ask(books.status.merge_patch("moby", {"status": {"lent": 2}, "spec": {"copies": 9}}))
    assert (lent.spec.copies, lent.status) == (5, BookStatus(lent=2))
    scale = asker.ask(books.scale.get("moby"))
    assert scale.status is not None
    assert (scale.spec.replicas, scale.status.replicas) == (5, 2)
    going = asker.ask(books.delete("moby"))
    assert isinstance(going, Book)
    assert going.metadata.deletion_timestamp is not None
    asker.ask(books.merge_patch("moby", {"metadata": {"finalizers": None}}))
    with pytest.raises(kp.NotFound):
        asker.ask(books.get("moby"))
    deleted = asker.ask(books.delete_collection(label_selector="shelf=sea"))
    assert isinstance(deleted, kp.ObjectList)


def a_watch_with_a_selector(asker: Asker, _: Stage) -> None:
    books = kp.Api(Book, namespace=in_namespace(asker, "selected"))
    since = asker.ask(books.list()).version
    watch = books.watch(resource_version=since, label_selector="shelf=sea", timeout_seconds=10)
    with asker.watch(watch) as events:
        asker.ask(books.create(book("moby", labels={"shelf": "sea"})))
        asker.ask(books.merge_patch("moby", {"metadata": {"labels": {"shelf": "land"}}}))
        asker.ask(books.merge_patch("moby", {"metadata": {"labels": {"shelf": "sea"}}}))
        asker.ask(books.delete("moby"))
        received = list(events)
    kinds = [type(event) for event in received if not isinstance(event, kp.Bookmark)]
    assert kinds == [kp.Added, kp.Deleted, kp.Added, kp.Deleted]
    assert any(isinstance(event, kp.Bookmark) for event in received)
    deleted_event, restored_event = received[1], received[2]
    assert isinstance(deleted_event, kp.Deleted)
    assert isinstance(restored_event, kp.Added)
    assert deleted_event.object.metadata.uid == restored_event.object.metadata.uid


def streaming_lists(asker: Asker, stage: Stage) -> None:
    books = kp.Api(Book, namespace=in_namespace(asker, "streamed"))
    for name in "abc":
        asker.ask(books.create(book(name)))
    if stage.release not in GATES["WatchList"]:
        with asker.watch(books.watch(send_initial_events=True, timeout_seconds=10)) as events:
            [refused] = events
        assert isinstance(refused, kp.WatchFailed)
        assert refused.status.reason == "Invalid"
        assert "unless the WatchList feature gate is enabled" in refused.status.message
        return
    for kind in (Book, kp.Metadata[Book], kp.Dynamic):
        api: kp.Api[Any] = kp.Api(kind, namespace="streamed", resource=books.resource)
        watch = api.watch(send_initial_events=True, timeout_seconds=10)
        with asker.watch(watch) as events:
            names: list[str] = []
            for event in events:
                if isinstance(event, kp.Bookmark):
                    assert event.initial_events_end
                    break
                assert isinstance(event, kp.Added)
                names.append(event.object.metadata.name)
        assert sorted(names) == ["a", "b", "c"]


def forgotten_versions(asker: Asker, stage: Stage) -> None:
    maps = kp.Api(ConfigMap, namespace=in_namespace(asker, "forgotten"))
    for name in "abcde":
        asker.ask(maps.create(ConfigMap(metadata=kp.ObjectMeta(name=name), data={"x": name})))
    first = asker.ask(maps.list(limit=2))
    stage.compact()
    with pytest.raises(kp.Gone) as expired:
        asker.ask(maps.list(limit=2, continue_=first.next_page))
    outcome = classify(expired.value)
    assert isinstance(outcome, Expired)
    remainder = asker.ask(maps.list(continue_=outcome.token))
    assert {config_map.metadata.name for config_map in (*first, *remainder)} >= set("abcde")
    with pytest.raises(kp.Gone):
        asker.ask(maps.list(resource_version=first.version, resource_version_match="Exact"))
    with asker.watch(maps.watch(resource_version=first.version, timeout_seconds=5)) as events:
        [event] = events
    assert isinstance(event, kp.WatchFailed)
    assert event.status.reason == "Expired"


def read_server_information(asker: Asker, _: Stage) -> None:
    server_version = asker.ask(version())
    assert server_version.major == "1"
    assert asker.ask(health("readyz")).healthy
    assert "apis/apps/v1" in asker.ask(openapi_index())
    discovery = asker.discover()
    deployments = discovery.find("deploy")
    assert deployments is not None
    assert (deployments.group, deployments.kind) == ("apps", "Deployment")


def refusals(asker: Asker, _: Stage) -> None:
    books = kp.Api(Book, namespace=in_namespace(asker, "refused"))
    created = asker.ask(books.create(book("moby")))
    asker.ask(books.merge_patch("moby", {"spec": {"copies": 2}}))
    loose = kp.Api(kp.Dynamic, resource=books.resource, namespace="refused")
    invalid_map = msgspec.convert({"metadata": {"name": "x"}, "content": {"spec": {"title": 5}}}, kp.Dynamic)
    unknown = msgspec.convert(
        {"metadata": {"name": "x"}, "content": {"spec": {"title": "x", "colour": "blue"}}}, kp.Dynamic
    )
    refused: list[tuple[type[kp.ApiError], Any]] = [
        (kp.NotFound, books.get("dick")),
        (kp.AlreadyExists, books.create(book("moby"))),
        (kp.Conflict, books.replace(created)),
        (kp.Conflict, books.delete("moby", uid="00000000-0000-4000-8000-ffffffffffff")),
        (kp.Invalid, books.create(book("No Name"))),
        (kp.Invalid, loose.create(invalid_map)),
        (kp.BadRequest, loose.create(unknown, field_validation="Strict")),
        (kp.Invalid, books.json_patch("moby", [{"op": "test", "path": "/spec/copies", "value": 9}])),
        (kp.ApiError, loose.strategic_patch("moby", {"spec": {"copies": 1}})),
        (kp.ApiError, books.list(field_selector="spec.title=Moby")),
        (kp.ApiError, books.list(continue_="nonsense")),
        (kp.NotFound, kp.Api(Book, namespace="nowhere").create(book("x"))),
    ]  # fmt: skip
    for kind, request in refused:
        with pytest.raises(kind) as caught:
            asker.ask(request)
        assert caught.value.status.message
    warned = asker.reply(loose.create(unknown, field_validation="Warn"))
    assert warned.warnings == ('unknown field "spec.colour"',)


def nobody_may_do_anything(asker: Asker, _: Stage) -> None:
    with pytest.raises(kp.Forbidden) as caught:
        asker.ask(NAMESPACES.list())
    assert 'User "nobody" cannot list' in caught.value.status.message


def create_pods_by_controllers(asker: Asker, _: Stage) -> None:
    namespace = in_namespace(asker, "made")
    deployments, pods = kp.Api(Deployment, namespace=namespace), kp.Api(Pod, namespace=namespace)
    manifest = {
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    }
    with asker.watch(pods.watch(label_selector="app=web", resource_version="0")) as events:
        created = asker.ask(deployments.apply(manifest, field_manager="talk"))
        assert created.spec.replicas == 2
        born: dict[str, Pod] = {}
        while len(born) < 2:
            event = next(events)
            if isinstance(event, kp.Added | kp.Modified):
                born[event.object.metadata.name] = event.object
    first = next(iter(born.values()))
    [owner] = first.metadata.owner_references
    assert (owner.kind, owner.controller) == ("ReplicaSet", True)
    assert first.spec.containers[0].image == "web:1"
    table = asker.ask(pods.as_table().list())
    assert [column.name for column in table.column_definitions or ()][:3] == ["Name", "Ready", "Status"]
    assert asker.ask(pods.log(first.metadata.name)) == ""  # no node runs it
    assert asker.ask(pods.evict(first.metadata.name)).status == "Success"
    assert asker.ask(deployments.scale.get("web")).spec.replicas == 2
    assert asker.ask(deployments.scale.merge_patch("web", {"spec": {"replicas": 1}})).spec.replicas == 1
    accounts = kp.Api(ServiceAccount, namespace=namespace)
    asker.ask(accounts.create(ServiceAccount(metadata=kp.ObjectMeta(name="robot"))))
    token = asker.ask(accounts.create_token("robot", expiration_seconds=600))
    assert token.status is not None
    assert token.status.token
    services = kp.Api(Service, namespace=namespace)
    ports: Any = [{"port": 80}]
    made_service = asker.ask(
        services.apply({"metadata": {"name": "web"}, "spec": {"ports": ports}}, field_manager="talk")
    )
    assert made_service.spec is not None
    assert made_service.spec.cluster_ip
    going = asker.ask(deployments.delete("web", propagation="Foreground"))
    assert isinstance(going, Deployment)
    assert going.metadata.finalizers == ["foregroundDeletion"]


def a_long_list(asker: Asker, stage: Stage) -> None:
    maps = kp.Api(ConfigMap, namespace=in_namespace(asker, "long"))
    for number in range(400):
        name = f"map-{number:03}"
        stage.do(maps.create(ConfigMap(metadata=kp.ObjectMeta(name=name), data={"n": str(number)})))
    listed = asker.reply(maps.list())
    assert dict(listed.headers)["Content-Encoding"] == "gzip"
    assert len(listed.value) >= 400
    first = asker.ask(maps.list(limit=20))
    second = asker.ask(maps.list(limit=20, continue_=first.next_page))
    names = [item.metadata.name for item in (*first, *second)]
    assert names == sorted(item.metadata.name for item in listed.value)[:40]


# The user of a conversation, and whether the server must have no watch cache, so that compaction takes effect
# at once.
CONVERSATIONS: Final[dict[str, tuple[Conversation, str, bool]]] = {
    "life-of-an-object": (life_of_an_object, "admin", False),
    "a-watch-with-a-selector": (a_watch_with_a_selector, "admin", False),
    "streaming-lists": (streaming_lists, "admin", False),
    "forgotten-versions": (forgotten_versions, "admin", True),
    "what-a-server-offers": (read_server_information, "admin", False),
    "refusals": (refusals, "admin", False),
    "nobody-may-do-anything": (nobody_may_do_anything, "nobody", False),
    "what-controllers-make": (create_pods_by_controllers, "admin", False),
    "a-long-list": (a_long_list, "admin", False),
}

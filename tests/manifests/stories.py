"""What people do with the programs whose manifests are tested, on any server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
import librarian
from book import Book as BookOfExample, BookSpec as BookOfExampleSpec
from echo import Echo, EchoSpec
from foos import Foo, FooSpec
from hello import WEBHOOKS
from hello_kind import Hello, HelloSpec, OldHello, OldHelloSpec
from librarian import Book, BookSpec

import kubeproto as kp
from kubeproto import KubeObject
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import (
    ConfigMap,
    Event as OldEvent,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    ObjectReference,
    Secret,
)
from kubeproto.kinds.events_v1 import Event
from kubeproto_runtime import Client

Said = list[str]
Story = Callable[[Client, Said], Awaitable[None]]
"""By a client that may do everything, with what the program has said so far."""
NAMESPACE_OF_HELLO: Final = "hello-operator"
NAMESPACE_OF_FOOS: Final = "foos"
WITHIN: Final = 60.0  # seconds for each step, in whatever time the event loop has


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(WITHIN):
        while not await check():
            await anyio.sleep(0.1)


async def has_said(said: Said, words: str) -> None:
    async def is_there() -> bool:
        return any(words in line for line in said)

    await eventually(is_there)


async def a_canyon_comes_and_goes(user: Client, said: Said) -> None:
    echoes, deployments = user.api(Echo), user.api(Deployment)

    async def has(replicas: int) -> bool:
        found = await deployments.get_or_none("canyon")
        return found is not None and found.spec.replicas == replicas

    await echoes.create(Echo(metadata=kp.ObjectMeta(name="canyon"), spec=EchoSpec(replicas=2)))
    await eventually(lambda: has(2))
    await echoes.merge_patch("canyon", {"spec": {"replicas": 3}})
    await eventually(lambda: has(3))
    await deployments.delete("canyon")
    await eventually(lambda: has(3))
    await echoes.delete("canyon")
    await gone(user, Echo, "canyon")


async def a_hello_comes_and_goes(user: Client, said: Said) -> None:
    hellos, deployments = user.api(Hello), user.api(Deployment)

    async def has(replicas: int) -> bool:
        found = await deployments.get_or_none("mars")
        return found is not None and found.spec.replicas == replicas

    async def is_reported() -> bool:
        return any(event.reason == "Goodbye" for event in await user.api(Event).list())

    await eventually(
        partial(is_taken, user, Hello(metadata=kp.ObjectMeta(name="mars"), spec=HelloSpec(replicas=2)))
    )
    await eventually(lambda: has(2))
    assert (await hellos.get("mars")).spec.text == "Hello from mars!"  # by its webhook
    await eventually(
        partial(is_taken, user, OldHello(metadata=kp.ObjectMeta(name="old"), spec=OldHelloSpec(size=1)))
    )
    assert (await hellos.get("old")).spec.replicas == 1
    secrets = user.api(Secret, namespace=NAMESPACE_OF_HELLO)
    await secrets.merge_patch(WEBHOOKS, {"data": {"tls.crt": ""}})  # the leader makes it again

    async def is_whole() -> bool:
        return bool(((await secrets.get(WEBHOOKS)).data or {})["tls.crt"])

    await eventually(is_whole)
    await hellos.merge_patch("mars", {"spec": {"replicas": 3}})
    await eventually(lambda: has(3))
    for name in ("mars", "old"):
        await eventually(partial(is_deleted, user, Hello, name))
        await gone(user, Hello, name)
    await eventually(is_reported)


async def a_labelled_book_comes_and_goes(user: Client, said: Said) -> None:
    books, labels = user.api(Book), user.api(ConfigMap)

    async def is_labelled(title: str) -> bool:
        found = await labels.get_or_none("moby")
        return found is not None and (found.data or {})["label"] == title

    async def is_repeated() -> bool:
        return any(event.series is not None for event in await user.api(Event).list())

    ink = Secret(metadata=kp.ObjectMeta(name="ink"))
    await user.api(Secret, namespace=librarian.NAMESPACE).create(ink)
    await books.create(Book(metadata=kp.ObjectMeta(name="moby"), spec=BookSpec(title="Moby")))
    for title in ("Moby-Dick", "The Whale"):
        await books.merge_patch("moby", {"spec": {"title": title}})
        await eventually(partial(is_labelled, title))
    await eventually(is_repeated)
    await books.delete("moby")
    await gone(user, Book, "moby")


async def gone(user: Client, kind: type[KubeObject], name: str) -> None:
    async def is_gone() -> bool:
        return await user.api(kind).get_or_none(name) is None

    await eventually(is_gone)


async def is_taken(user: Client, obj: KubeObject) -> bool:
    """Whether the server takes an object; it may not trust the webhooks yet, or not know them."""
    try:
        await user.create(obj)
    except kp.AlreadyExists:
        return True
    except kp.ApiError:
        return False
    return True


async def is_deleted(user: Client, kind: type[KubeObject], name: str) -> bool:
    try:
        await user.api(kind).delete(name)
    except kp.NotFound:
        return True
    except kp.ApiError:
        return False  # the certificate has just changed
    return True


async def a_foo_is_shown(user: Client, said: Said) -> None:
    foos = user.api(Foo, namespace=NAMESPACE_OF_FOOS)
    await foos.create(Foo(metadata=kp.ObjectMeta(name="baz"), spec=FooSpec(name="the baz")))
    await has_said(said, "the baz")
    await foos.delete("baz")


async def a_book_is_told_of(user: Client, said: Said) -> None:
    spec = BookOfExampleSpec(title="Moby-Dick")
    await user.api(BookOfExample).create(BookOfExample(metadata=kp.ObjectMeta(name="moby"), spec=spec))
    await has_said(said, "added: Moby-Dick")
    await user.api(BookOfExample).delete("moby")
    await has_said(said, "deleted: Moby-Dick")


async def a_node_breaks(user: Client, said: Said) -> None:
    about = ObjectReference(api_version="v1", kind="Node", name="broken", uid="u-1")
    event = OldEvent(
        metadata=kp.ObjectMeta(name="broken", namespace="default"), involved_object=about,
        type="Warning", reason="DiskFailed", message="the disk does not turn",
    )  # fmt: skip
    await user.create(event)
    condition = NodeCondition(type="DiskPressure", status="True", reason="DiskFull", message="no space")
    metadata = kp.ObjectMeta(name="broken", labels={"role": "worker"})
    node = Node(metadata=metadata, spec=NodeSpec(), status=NodeStatus(conditions=[condition]))
    try:
        await user.create(node)
        await has_said(said, "broken: new")
        await has_said(said, "Warning DiskFailed: the disk does not turn")
    finally:
        with anyio.CancelScope(shield=True):
            await user.api(Node).delete("broken")
            await user.api(OldEvent, namespace="default").delete("broken")

"""Scenarios for the programs whose manifests are tested: actions of a user on any server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
import librarian
from book import Book as BookOfExample, BookSpec as BookOfExampleSpec
from echo import Echo, EchoSpec
from foos import Foo, FooSpec
from hello import WEBHOOK_SERVICE
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

Output = list[str]
Scenario = Callable[[Client, Output], Awaitable[None]]
"""It gets a client with all permissions, and the lines that the program has printed so far."""
HELLO_NAMESPACE: Final = "hello-operator"
NAMESPACE_OF_FOOS: Final = "foos"
TIMEOUT: Final = 60.0  # seconds for each step, in the time of the event loop


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(TIMEOUT):
        while not await check():
            await anyio.sleep(0.1)


async def wait_for_output(output: Output, expected_text: str) -> None:
    async def is_printed() -> bool:
        return any(expected_text in line for line in output)

    await eventually(is_printed)


async def create_and_delete_an_echo(user: Client, output: Output) -> None:
    echoes, deployments = user.api(Echo), user.api(Deployment)

    async def has(replicas: int) -> bool:
        deployment = await deployments.get_or_none("canyon")
        return deployment is not None and deployment.spec.replicas == replicas

    await echoes.create(Echo(metadata=kp.ObjectMeta(name="canyon"), spec=EchoSpec(replicas=2)))
    await eventually(lambda: has(2))
    await echoes.merge_patch("canyon", {"spec": {"replicas": 3}})
    await eventually(lambda: has(3))
    await deployments.delete("canyon")
    await eventually(lambda: has(3))
    await echoes.delete("canyon")
    await wait_until_gone(user, Echo, "canyon")


async def create_and_delete_a_hello(user: Client, output: Output) -> None:
    hellos, deployments = user.api(Hello), user.api(Deployment)

    async def has(replicas: int) -> bool:
        deployment = await deployments.get_or_none("mars")
        return deployment is not None and deployment.spec.replicas == replicas

    async def is_reported() -> bool:
        return any(event.reason == "Goodbye" for event in await user.api(Event).list())

    await eventually(
        partial(try_to_create, user, Hello(metadata=kp.ObjectMeta(name="mars"), spec=HelloSpec(replicas=2)))
    )
    await eventually(lambda: has(2))
    assert (await hellos.get("mars")).spec.text == "Hello from mars!"  # set by its webhook
    await eventually(
        partial(try_to_create, user, OldHello(metadata=kp.ObjectMeta(name="old"), spec=OldHelloSpec(size=1)))
    )
    assert (await hellos.get("old")).spec.replicas == 1
    secrets = user.api(Secret, namespace=HELLO_NAMESPACE)
    # The leader issues the certificate again.
    await secrets.merge_patch(WEBHOOK_SERVICE, {"data": {"tls.crt": ""}})

    async def is_restored() -> bool:
        return bool(((await secrets.get(WEBHOOK_SERVICE)).data or {})["tls.crt"])

    await eventually(is_restored)
    await hellos.merge_patch("mars", {"spec": {"replicas": 3}})
    await eventually(lambda: has(3))
    for name in ("mars", "old"):
        await eventually(partial(try_to_delete, user, Hello, name))
        await wait_until_gone(user, Hello, name)
    await eventually(is_reported)


async def create_and_delete_a_labelled_book(user: Client, output: Output) -> None:
    books, labels = user.api(Book), user.api(ConfigMap)

    async def is_labelled(title: str) -> bool:
        deployment = await labels.get_or_none("moby")
        return deployment is not None and (deployment.data or {})["label"] == title

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
    await wait_until_gone(user, Book, "moby")


async def wait_until_gone(user: Client, kind: type[KubeObject], name: str) -> None:
    async def is_gone() -> bool:
        return await user.api(kind).get_or_none(name) is None

    await eventually(is_gone)


async def try_to_create(user: Client, obj: KubeObject) -> bool:
    """Create an object, and return False if the server does not know or trust the webhooks yet."""
    try:
        await user.create(obj)
    except kp.AlreadyExists:
        return True
    except kp.ApiError:
        return False
    return True


async def try_to_delete(user: Client, kind: type[KubeObject], name: str) -> bool:
    try:
        await user.api(kind).delete(name)
    except kp.NotFound:
        return True
    except kp.ApiError:
        return False  # the server does not trust the new certificate yet
    return True


async def create_a_printed_foo(user: Client, output: Output) -> None:
    foos = user.api(Foo, namespace=NAMESPACE_OF_FOOS)
    await foos.create(Foo(metadata=kp.ObjectMeta(name="baz"), spec=FooSpec(name="the baz")))
    await wait_for_output(output, "the baz")
    await foos.delete("baz")


async def create_and_delete_a_reported_book(user: Client, output: Output) -> None:
    spec = BookOfExampleSpec(title="Moby-Dick")
    await user.api(BookOfExample).create(BookOfExample(metadata=kp.ObjectMeta(name="moby"), spec=spec))
    await wait_for_output(output, "added: Moby-Dick")
    await user.api(BookOfExample).delete("moby")
    await wait_for_output(output, "deleted: Moby-Dick")


async def report_a_broken_node(user: Client, output: Output) -> None:
    node_reference = ObjectReference(api_version="v1", kind="Node", name="broken", uid="u-1")
    event = OldEvent(
        metadata=kp.ObjectMeta(name="broken", namespace="default"), involved_object=node_reference,
        type="Warning", reason="DiskFailed", message="the disk does not turn",
    )  # fmt: skip
    await user.create(event)
    condition = NodeCondition(type="DiskPressure", status="True", reason="DiskFull", message="no space")
    metadata = kp.ObjectMeta(name="broken", labels={"role": "worker"})
    node = Node(metadata=metadata, spec=NodeSpec(), status=NodeStatus(conditions=[condition]))
    try:
        await user.create(node)
        await wait_for_output(output, "broken: new")
        await wait_for_output(output, "Warning DiskFailed: the disk does not turn")
    finally:
        with anyio.CancelScope(shield=True):
            await user.api(Node).delete("broken")
            await user.api(OldEvent, namespace="default").delete("broken")

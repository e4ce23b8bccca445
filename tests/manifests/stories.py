"""What people do with the operators whose manifests are tested, on any server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
import echo
import hello
import librarian
from echo import Echo, EchoSpec
from hello_kind import Hello, HelloSpec
from librarian import Book, BookSpec

import kubeproto as kp
from kubeproto import KubeObject
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import ConfigMap, Secret
from kubeproto.kinds.events_v1 import Event
from kubeproto_runtime import Client
from kubeproto_runtime.manifests import OperatorLike

Make = Callable[[Client], OperatorLike]
Story = Callable[[Client], Awaitable[None]]
WITHIN: Final = 60.0  # seconds for each step, in whatever time the event loop has


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(WITHIN):
        while not await check():
            await anyio.sleep(0.1)


async def a_canyon_comes_and_goes(user: Client) -> None:
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


async def a_hello_comes_and_goes(user: Client) -> None:
    hellos, deployments = user.api(Hello), user.api(Deployment)

    async def has(replicas: int) -> bool:
        found = await deployments.get_or_none("mars")
        return found is not None and found.spec.replicas == replicas

    async def is_reported() -> bool:
        return any(event.reason == "Goodbye" for event in await user.api(Event).list())

    await hellos.create(Hello(metadata=kp.ObjectMeta(name="mars"), spec=HelloSpec(replicas=2)))
    await eventually(lambda: has(2))
    await hellos.merge_patch("mars", {"spec": {"replicas": 3}})
    await eventually(lambda: has(3))
    await hellos.delete("mars")
    await gone(user, Hello, "mars")
    await eventually(is_reported)


async def a_book_comes_and_goes(user: Client) -> None:
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


OPERATORS: Final[dict[str, tuple[Make, Story, type[KubeObject], str]]] = {
    "echo": (echo.operator, a_canyon_comes_and_goes, Echo, "echo-operator"),
    "hello": (hello.operator, a_hello_comes_and_goes, Hello, "hello-operator"),
    "librarian": (librarian.operator, a_book_comes_and_goes, Book, librarian.NAMESPACE),
}

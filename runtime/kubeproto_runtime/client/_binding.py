"""Methods that send a verb of the core, with the name, the docstring and the parameters of the verb.

A verb that only some kinds have is a descriptor, which refuses other kinds to type checkers.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import anyio

from kubeproto import KubeObject
from kubeproto.streams import PortForwarding, Process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
    from typing import Self, TypeAlias

    from kubeproto import Api, Dynamic, Metadata
    from kubeproto.objects import HasToken, RunsContainers
    from kubeproto.requests import Request, StreamRequest, Subresource
    from kubeproto.wire import UpgradeRequest

    from ..calls._base_client import BaseClient, Streamed

    # The types that have the verb: the kinds with the capability, their metadata, and `Dynamic`.
    _Running: TypeAlias = "BoundTo[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    _Tokened: TypeAlias = "BoundTo[HasToken | Metadata[HasToken] | Dynamic]"

K = TypeVar("K", bound=KubeObject)
K_co = TypeVar("K_co", bound=KubeObject, covariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
E = TypeVar("E")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F")
P = ParamSpec("P")


class BoundTo(Generic[K_co]):
    """The base of `BoundApi`: one kind, and the client that sends its requests."""

    client: BaseClient
    requests: Api[Any]


class BoundBelow(Generic[K]):
    """The base of `BoundSubresource`."""

    client: BaseClient
    requests: Subresource[K]


def awaited(
    verb: Callable[Concatenate[Api[K], P], Request[T]],
) -> Callable[Concatenate[BoundTo[K], P], Awaitable[T]]:
    """Return a method that sends a verb, and returns the value of the response."""

    async def send(self: BoundTo[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    return named(send, verb, "BoundApi")


def awaited_below(
    verb: Callable[Concatenate[Subresource[K], P], Request[T]],
) -> Callable[Concatenate[BoundBelow[K], P], Awaitable[T]]:
    """Return such a method for a verb of a subresource."""

    async def send(self: BoundBelow[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    return named(send, verb, "BoundSubresource")


class Only(Generic[B_contra, P, R_co]):
    """A verb that only some kinds have; a type checker refuses it to the others."""

    def __init__(
        self, verb: Callable[..., Any], perform: Callable[..., R_co], owner: str = "BoundApi"
    ) -> None:
        self.perform = named(perform, verb, owner)

    @overload
    def __get__(self, bound: None, owner: object = None) -> Callable[..., R_co]: ...
    @overload
    def __get__(self, bound: B_contra, owner: object = None) -> Callable[P, R_co]: ...

    def __get__(self, bound: B_contra | None, owner: object = None) -> Callable[..., R_co]:
        # Documentation reads the method from the class.
        return self.perform if bound is None else partial(self.perform, bound)


def of_pods(verb: Callable[Concatenate[Any, P], Request[T]]) -> Only[_Running, P, Awaitable[T]]:
    return Only(verb, _sending(verb))


def of_accounts(verb: Callable[Concatenate[Any, P], Request[T]]) -> Only[_Tokened, P, Awaitable[T]]:
    return Only(verb, _sending(verb))


def _sending(verb: Callable[..., Request[T]]) -> Callable[..., Awaitable[T]]:
    async def send(self: BoundTo[Any], /, *args: Any, **kwargs: Any) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    return send


def process(
    verb: Callable[Concatenate[Any, P], UpgradeRequest],
) -> Only[_Running, P, AbstractAsyncContextManager[Process]]:
    @asynccontextmanager
    async def converse(self: BoundTo[Any], /, *args: Any, **kwargs: Any) -> AsyncGenerator[Process]:
        async with self.client.upgrade(verb(self.requests, *args, **kwargs)) as socket:
            yield Process(socket)

    return Only(verb, converse)


def ports(
    verb: Callable[Concatenate[Any, P], UpgradeRequest],
) -> Only[_Running, P, AbstractAsyncContextManager[PortForwarding]]:
    forward_request: Callable[..., UpgradeRequest] = verb

    @asynccontextmanager
    async def forward(
        self: BoundTo[Any], /, name: str, ports: Sequence[int]
    ) -> AsyncGenerator[PortForwarding]:
        async with self.client.upgrade(forward_request(self.requests, name, ports)) as socket:
            yield PortForwarding(socket, ports, signal=anyio.Event)

    return Only(verb, forward)


def lines(
    verb: Callable[Concatenate[Any, P], StreamRequest[E]],
) -> Only[_Running, P, AbstractAsyncContextManager[Each[E]]]:
    @asynccontextmanager
    async def follow(self: BoundTo[Any], /, *args: Any, **kwargs: Any) -> AsyncGenerator[Each[E]]:
        async with self.client.open(verb(self.requests, *args, **kwargs)) as streamed:
            yield Each(streamed)

    return Only(verb, follow)


def named(method: F, verb: Callable[..., Any], owner: str) -> F:
    """Give a method the name, the docstring and the parameters of a verb."""
    function: Any = method
    function.__name__, function.__qualname__ = verb.__name__, f"{owner}.{verb.__name__}"
    function.__doc__ = verb.__doc__
    function.__signature__ = signature(verb).replace(return_annotation=Signature.empty)
    return method


class Each(Generic[E]):
    """Yields the items of a stream."""

    def __init__(self, streamed: Streamed[E]) -> None:
        self._streamed = streamed
        self._items: Iterator[E] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        while True:
            for item in self._items:
                return item
            self._items = iter(await anext(self._streamed))

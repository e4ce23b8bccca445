"""Methods that send a verb of the core, with the name, the docstring and the parameters of the verb.

A verb that only some kinds have is a descriptor: a type checker reports its use on other kinds.
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

    from ..calls._base_client import BaseClient, ResponseStream

    # The types that have the verb: the kinds with the capability, their metadata, and `Dynamic`.
    _Running: TypeAlias = "BoundApiBase[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    _Tokened: TypeAlias = "BoundApiBase[HasToken | Metadata[HasToken] | Dynamic]"

K = TypeVar("K", bound=KubeObject)
K_co = TypeVar("K_co", bound=KubeObject, covariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
E = TypeVar("E")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F")
P = ParamSpec("P")


class BoundApiBase(Generic[K_co]):
    """The base of `BoundApi`: one kind, and the client that sends its requests."""

    client: BaseClient
    requests: Api[Any]


class BoundSubresourceBase(Generic[K]):
    """The base of `BoundSubresource`."""

    client: BaseClient
    requests: Subresource[K]


def send_verb(
    verb: Callable[Concatenate[Api[K], P], Request[T]],
) -> Callable[Concatenate[BoundApiBase[K], P], Awaitable[T]]:
    """Return a method that sends a verb, and returns the value of the response."""

    async def send(self: BoundApiBase[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    return copy_verb_signature(send, verb, "BoundApi")


def send_subresource_verb(
    verb: Callable[Concatenate[Subresource[K], P], Request[T]],
) -> Callable[Concatenate[BoundSubresourceBase[K], P], Awaitable[T]]:
    """Return a method that sends a verb of a subresource, and returns the value of the response."""

    async def send(self: BoundSubresourceBase[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    return copy_verb_signature(send, verb, "BoundSubresource")


class KindVerb(Generic[B_contra, P, R_co]):
    """A verb that only some kinds have. A type checker reports its use on other kinds."""

    def __init__(
        self, verb: Callable[..., Any], perform: Callable[..., R_co], owner: str = "BoundApi"
    ) -> None:
        self.perform = copy_verb_signature(perform, verb, owner)

    @overload
    def __get__(self, bound: None, owner: object = None) -> Callable[..., R_co]: ...
    @overload
    def __get__(self, bound: B_contra, owner: object = None) -> Callable[P, R_co]: ...

    def __get__(self, bound: B_contra | None, owner: object = None) -> Callable[..., R_co]:
        # The documentation generator reads the method from the class.
        return self.perform if bound is None else partial(self.perform, bound)


def for_pods(verb: Callable[Concatenate[Any, P], Request[T]]) -> KindVerb[_Running, P, Awaitable[T]]:
    return KindVerb(verb, _send_any(verb))


def for_accounts(verb: Callable[Concatenate[Any, P], Request[T]]) -> KindVerb[_Tokened, P, Awaitable[T]]:
    return KindVerb(verb, _send_any(verb))


def _send_any(verb: Callable[..., Request[T]]) -> Callable[..., Awaitable[T]]:
    async def send(self: BoundApiBase[Any], /, *args: Any, **kwargs: Any) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    return send


def run_process(
    verb: Callable[Concatenate[Any, P], UpgradeRequest],
) -> KindVerb[_Running, P, AbstractAsyncContextManager[Process]]:
    @asynccontextmanager
    async def converse(self: BoundApiBase[Any], /, *args: Any, **kwargs: Any) -> AsyncGenerator[Process]:
        async with self.client.upgrade(verb(self.requests, *args, **kwargs)) as socket:
            yield Process(socket)

    return KindVerb(verb, converse)


def forward_ports(
    verb: Callable[Concatenate[Any, P], UpgradeRequest],
) -> KindVerb[_Running, P, AbstractAsyncContextManager[PortForwarding]]:
    forward_request: Callable[..., UpgradeRequest] = verb

    @asynccontextmanager
    async def forward(
        self: BoundApiBase[Any], /, name: str, ports: Sequence[int]
    ) -> AsyncGenerator[PortForwarding]:
        async with self.client.upgrade(forward_request(self.requests, name, ports)) as socket:
            yield PortForwarding(socket, ports, signal=anyio.Event)

    return KindVerb(verb, forward)


def stream_lines(
    verb: Callable[Concatenate[Any, P], StreamRequest[E]],
) -> KindVerb[_Running, P, AbstractAsyncContextManager[ItemStream[E]]]:
    @asynccontextmanager
    async def follow(self: BoundApiBase[Any], /, *args: Any, **kwargs: Any) -> AsyncGenerator[ItemStream[E]]:
        async with self.client.open(verb(self.requests, *args, **kwargs)) as streamed:
            yield ItemStream(streamed)

    return KindVerb(verb, follow)


def copy_verb_signature(method: F, verb: Callable[..., Any], owner: str) -> F:
    """Set the name, the docstring and the signature of a method to those of a verb."""
    function: Any = method
    function.__name__, function.__qualname__ = verb.__name__, f"{owner}.{verb.__name__}"
    function.__doc__ = verb.__doc__
    function.__signature__ = signature(verb).replace(return_annotation=Signature.empty)
    return method


class ItemStream(Generic[E]):
    """Yields the items of a stream."""

    def __init__(self, streamed: ResponseStream[E]) -> None:
        self._streamed = streamed
        self._items: Iterator[E] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        while True:
            for item in self._items:
                return item
            self._items = iter(await anext(self._streamed))

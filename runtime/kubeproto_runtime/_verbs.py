"""`BoundApi[Book]`: every verb of `kubeproto.Api`, sent and awaited.

The verbs are those of the core, with its parameters: each line below takes one of them and waits for the
answer. What needs more than one request stands in modules of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from kubeproto import Api, KubeObject, Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._client import Client

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
P = ParamSpec("P")


def _awaited(
    verb: Callable[Concatenate[Api[K], P], Request[T]],
) -> Callable[Concatenate[BoundApi[K], P], Awaitable[T]]:
    """A verb of the core that is sent, and gives the value of its answer."""

    async def send(self: BoundApi[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.client.call(verb(self.requests, *args, **kwargs))).value

    send.__name__, send.__qualname__ = verb.__name__, f"BoundApi.{verb.__name__}"
    send.__doc__ = verb.__doc__
    return send


class BoundApi(Generic[K]):
    """The verbs on one kind of object, in one namespace or in all, sent by a client."""

    def __init__(self, client: Client, requests: Api[K]) -> None:
        self.client = client
        self.requests = requests

    def __repr__(self) -> str:
        return f"BoundApi({self.requests!r})"

    get = _awaited(Api[K].get)
    create = _awaited(Api[K].create)
    replace = _awaited(Api[K].replace)
    delete = _awaited(Api[K].delete)

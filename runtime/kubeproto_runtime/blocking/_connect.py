"""`connect_blocking()`: a client for threads and scripts, from the configuration that kubectl would use."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final, NoReturn, Unpack

from ..client._connect import (
    BLOCKING_TRANSPORTS,
    ClientOptions,
    ConnectOptions,
    find_opener,
    overrides_of,
    resolve_config,
    token_writer,
)
from ._blocking_authorized_transport import BlockingAuthorizedTransport, BlockingOpener
from ._client import BlockingClient

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from kubeproto.config import Config, Overrides


def connect_blocking(
    *,
    config: Config | None = None,
    transport: str | BlockingOpener | None = None,
    client: ClientOptions | None = None,
    **overrides: Unpack[ConnectOptions],
) -> AbstractContextManager[BlockingClient]:
    """Connect as `connect` does, without an event loop: the same parameters, and transports that block.

    ``with connect_blocking() as client:`` gives the client, until the context is left.
    """
    return BlockingNotEntered(
        _connected(config, transport, client, overrides_of(**overrides), tuple(overrides))
    )


class BlockingNotEntered(AbstractContextManager[BlockingClient]):
    """What `connect_blocking` returns: it becomes a client when it is entered."""

    def __init__(self, entered: AbstractContextManager[BlockingClient]) -> None:
        self._entered = entered

    def __enter__(self) -> BlockingClient:
        return self._entered.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._entered.__exit__(kind, error, trace)

    if not TYPE_CHECKING:  # the checkers find these mistakes by themselves

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(_NOT_ENTERED.format(f"has no {name!r}"))

        def __aenter__(self) -> NoReturn:
            raise TypeError(_NOT_ENTERED.format("needs `with`, and on an event loop use connect()"))

        def __aexit__(self, *exc_info: object) -> None:
            pass


_NOT_ENTERED: Final = (
    "connect_blocking() itself {}: write `with connect_blocking() as client:` and use the client inside"
)


@contextmanager
def _connected(
    config: Config | None,
    transport: str | BlockingOpener | None,
    client: ClientOptions | None,
    overrides: Overrides,
    wanted: tuple[str, ...],
) -> Generator[BlockingClient]:
    opener = find_opener(transport, BLOCKING_TRANSPORTS, "threads")
    found = resolve_config(config, overrides, wanted)
    with BlockingAuthorizedTransport(found.config, opener, save_tokens=token_writer(found)) as authorized:
        yield BlockingClient(authorized, namespace=found.config.namespace, **(client or {}))

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
from ._blocking_client import BlockingClient

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
    """Return a context manager that connects, with the parameters of `connect` and a blocking transport.

    ``with connect_blocking() as client:`` binds the client, and closes it when the block exits.
    """
    return BlockingNotEntered(
        _connected(config, transport, client, overrides_of(**overrides), tuple(overrides))
    )


class BlockingNotEntered(AbstractContextManager[BlockingClient]):
    """The returned value of `connect_blocking`: a client once it is entered. Any other use is an error."""

    def __init__(self, connection: AbstractContextManager[BlockingClient]) -> None:
        self._connection = connection

    def __enter__(self) -> BlockingClient:
        return self._connection.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._connection.__exit__(kind, error, trace)

    if not TYPE_CHECKING:  # type checkers find these mistakes by themselves

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(_CONNECT_MISUSE.format(f"has no {name!r}"))

        def __aenter__(self) -> NoReturn:
            raise TypeError(_CONNECT_MISUSE.format("needs `with`, and on an event loop use connect()"))

        def __aexit__(self, *exc_info: object) -> None:
            pass


_CONNECT_MISUSE: Final = (
    "connect_blocking() itself {}: write `with connect_blocking() as client:` and use the client inside"
)


@contextmanager
def _connected(
    config: Config | None,
    transport: str | BlockingOpener | None,
    client: ClientOptions | None,
    overrides: Overrides,
    override_names: tuple[str, ...],
) -> Generator[BlockingClient]:
    opener = find_opener(transport, BLOCKING_TRANSPORTS, "threads")
    source = resolve_config(config, overrides, override_names)
    with BlockingAuthorizedTransport(source.config, opener, save_tokens=token_writer(source)) as authorized:
        yield BlockingClient(authorized, namespace=source.config.namespace, **(client or {}))

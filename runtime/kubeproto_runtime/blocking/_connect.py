"""`connect_blocking()`: from what lies around to a client for threads and scripts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Unpack

from ..client._connect import (
    BLOCKING_TRANSPORTS,
    ClientOptions,
    ConnectOptions,
    find_opener,
    found_by,
    keeping,
)
from ._authorized import BlockingAuthorized, BlockingOpener
from ._client import BlockingClient

if TYPE_CHECKING:
    from collections.abc import Generator

    from kubeproto.config import Config


@contextmanager
def connect_blocking(
    *,
    config: Config | None = None,
    transport: str | BlockingOpener | None = None,
    client: ClientOptions | None = None,
    **wanted: Unpack[ConnectOptions],
) -> Generator[BlockingClient]:
    """Connect as `connect` does, without an event loop: the same parameters, and transports that block."""
    opener = find_opener(transport, BLOCKING_TRANSPORTS, "threads")
    found = found_by(config, wanted)
    with BlockingAuthorized(found.config, opener, keep=keeping(found)) as authorized:
        yield BlockingClient(authorized, namespace=found.config.namespace, **(client or {}))

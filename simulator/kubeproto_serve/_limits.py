"""How much a server grants each client, so that none can take it from the others."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """What a client may take. Times are in seconds, sizes in bytes.

    `idle` is how long a connection may stay without a request. `stalled` is how long a client may take none
    of the bytes that are sent to it: a real server ends the watch of a client that does not keep up, too.
    """

    connections: int = 10_000
    head: int = 64 * 1024  # Go's server grants 1 MiB; kubectl's longest request is a few KiB
    body: int = 4 * 1024 * 1024  # above Kubernetes' own 3 MiB, which is refused in Kubernetes' own words
    idle: float = 180.0
    stalled: float = 30.0

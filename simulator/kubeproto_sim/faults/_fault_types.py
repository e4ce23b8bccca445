"""The faults that can be injected, as values."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Cut(Struct, frozen=True):
    """The body stops after `after` bytes: the connection breaks, or, with `clean`, ends as if complete."""

    after: int = 0
    clean: bool = False


class HalfOpen(Struct, frozen=True):
    """The body stops after `after` bytes, and the client never learns that the server has died."""

    after: int = 0


class Delay(Struct, frozen=True):
    """The response takes longer."""

    seconds: float = 5.0


class Lag(Struct, frozen=True):
    """A read gets its response from a replica that is some versions behind."""

    versions: int = 3


class Expire(Struct, frozen=True):
    """A read gets 410, in one of the forms that servers use."""

    form: Literal["in-stream", "http-expired", "http-gone"] = "in-stream"


class FutureVersion(Struct, frozen=True):
    """A read gets the error that its version has not been reached."""


class ErrorEvent(Struct, frozen=True):
    """A watch ends with an ERROR event of this code."""

    code: int = 500


class Throttle(Struct, frozen=True):
    """The request gets 429, in plain text as from a proxy, or as a Status.

    Without seconds it has no Retry-After.
    """

    seconds: int | None = 1
    plain: bool = True


class Fail(Struct, frozen=True):
    """The request gets 500 or another code, before or after it takes effect."""

    after: bool = False
    code: int = 500


class LoseResponse(Struct, frozen=True):
    """The request takes effect, but its response is lost."""


class RefuseConnection(Struct, frozen=True):
    """The connection is refused."""


class ForceConflict(Struct, frozen=True):
    """A replace or patch meets a conflict."""


class Html(Struct, frozen=True):
    """A proxy in front of the server responds, in HTML."""

    code: int = 502


class Empty(Struct, frozen=True):
    """A response without a body."""


class ExpireCredentials(Struct, frozen=True):
    """The credentials have expired: 401."""


class Both(Struct, frozen=True):
    """Two faults of a request; `outer` is nearer to the client: ``Both(Cut(100), Fail())``."""

    outer: Fault
    inner: Fault


Fault = (
    Cut | HalfOpen | Delay | Lag | Expire | FutureVersion | ErrorEvent | Throttle | Fail | LoseResponse
    | RefuseConnection | ForceConflict | Html | Empty | ExpireCredentials | Both
)  # fmt: skip
RequestClass = Literal["read", "watch", "write"]

"""`Status`: how the server reports the outcome of a request, and the reason of a failure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ._meta import ListMeta


class StatusCause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the causes of a failure; `field` is a path such as ``spec.size``."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a Status is about. `kind` is usually the plural resource name, for Invalid the kind."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The server's report on a request. `code` is 0 where the server left it out (a finished deletion)."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails = StatusDetails()
    code: int = 0
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)

    @property
    def success(self) -> bool:
        """True if the server did what was requested."""
        return self.status == "Success"

    @property
    def gone(self) -> bool:
        """True for each form of a 410: the version or token is too old."""
        return self.code == 410 or self.reason in ("Expired", "Gone")

    def has_cause(self, reason: str) -> bool:
        """True if one of the causes has this reason."""
        return any(cause.reason == reason for cause in self.details.causes)

"""`Status`: the server's report on the outcome of a request, with the reason of a failure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ._object_meta import ListMeta


class StatusCause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cause of a failure; `field` is a path such as ``spec.size``."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The subject of a Status. `kind` is usually the plural resource name, for Invalid the kind."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The server's report on a request. `code` is 0 if the server omitted it (a finished deletion)."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails = StatusDetails()
    code: int = 0
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)

    @property
    def success(self) -> bool:
        """True if the server carried out the request."""
        return self.status == "Success"

    @property
    def gone(self) -> bool:
        """True for each form of a 410: the version or token is too old."""
        return self.code == 410 or self.reason in ("Expired", "Gone")

    def has_cause(self, reason: str) -> bool:
        """Return whether a cause has this reason."""
        return any(cause.reason == reason for cause in self.details.causes)

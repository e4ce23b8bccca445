"""The gate of a client's write: authorization and admission. The server's own writes pass no gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

Json = dict[str, Any]
Normalize = Callable[[Json], Json]
"""Returns the stored form of an object that a webhook has changed; or `TypeMismatch`."""


class SubresourceBody(Struct, frozen=True, kw_only=True):
    """The body of a request for a subresource that has its own kind, such as an Eviction."""

    api_version: str
    kind: str
    operation: str
    obj: Json
    old: Json | None = None
    dry_run: bool = False


class Gate:
    """A gate that admits every write unchanged."""

    @property
    def user_info(self) -> Json:
        """The user who writes, in the form of reviews."""
        return {"username": "sim", "groups": ["system:authenticated"]}

    @property
    def mutates(self) -> bool:
        """Whether `mutate` may change an object."""
        return False

    def mutate(self, obj: Json, old: Json | None, normalize: Normalize) -> Json:
        """Return the object to write; raise `Rejection` to refuse the write."""
        return obj

    def check(self, obj: Json, old: Json | None) -> None:
        """Reject an object that its writer may not write; called before the rules of its kind."""

    def validate(self, obj: Json, old: Json | None) -> None:
        """Reject an object in its stored form; called after all other checks."""

    def delete(self, old: Json, options: Json) -> None:
        """Reject a deletion."""

    def mutate_body(self, body: SubresourceBody) -> Json:
        """Return the body of a subresource to use; raise `Rejection` to refuse it."""
        return body.obj

    def validate_body(self, body: SubresourceBody) -> None:
        """Reject the body of a subresource."""


OPEN: Final = Gate()

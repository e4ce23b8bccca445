"""What a client's write must pass besides the rules of its kind; the server's own writes skip it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

Json = dict[str, Any]
# Brings an object that a webhook has changed into the form that is stored; or `Misfit`.
Tidy = Callable[[Json], Json]


class SubresourceBody(Struct, frozen=True, kw_only=True):
    """What a request for a subresource is about: a body of a kind of its own, such as an Eviction."""

    api_version: str
    kind: str
    operation: str
    obj: Json
    old: Json | None = None
    dry_run: bool = False


class Gate:
    """Lets every write pass unchanged."""

    @property
    def mutates(self) -> bool:
        """Whether an object may come out of `mutate` changed."""
        return False

    def mutate(self, obj: Json, old: Json | None, tidy: Tidy) -> Json:
        """Return the object that is to be written in place of this one; or refuse it."""
        return obj

    def check(self, obj: Json, old: Json | None) -> None:
        """Refuse an object that its writer is not allowed to write; before the rules of its kind."""

    def validate(self, obj: Json, old: Json | None) -> None:
        """Refuse an object as it is to be stored; after everything else."""

    def delete(self, old: Json, options: Json) -> None:
        """Refuse a deletion."""

    def mutate_body(self, body: SubresourceBody) -> Json:
        """Return the body of a subresource that takes the place of this one; or refuse it."""
        return body.obj

    def validate_body(self, body: SubresourceBody) -> None:
        """Refuse the body of a subresource."""


OPEN: Final = Gate()

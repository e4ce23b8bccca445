"""What a kind needs of whoever converts its objects between versions, where a webhook has to be asked."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ...crd import KindConversion

Json = dict[str, Any]


class Converter(Protocol):
    """Converts objects by the webhook of their definition."""

    def convert(self, webhook: KindConversion, obj: Json, version: str) -> Json:
        """Return an object in another version, given as its `apiVersion`; or refuse the request."""
        ...

    def prepare(self, webhook: KindConversion, objs: Iterable[Json], version: str) -> None:
        """Ask about all of these objects at once, so that a request is put off once and not for each."""
        ...

    def from_cache(self) -> AbstractContextManager[None]:
        """Convert no object again, while this lasts, that was converted for a list or a watch before."""
        ...

    def in_background(self, *, called_later: bool) -> AbstractContextManager[None]:
        """Convert for an open watch, which ends where the reply of a webhook is missing.

        With `called_later` the calls that are missing are noted for whoever can send them.
        """
        ...

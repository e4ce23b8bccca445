"""The interface by which a kind has its objects converted between versions, where a webhook does that."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kubeproto.crd import KindConversion

Json = dict[str, Any]


class Converter(Protocol):
    """Converts objects by the webhook of their definition."""

    def convert(self, webhook: KindConversion, obj: Json, version: str) -> Json:
        """Return an object in another version, given as its `apiVersion`; or refuse the request."""
        ...

    def prepare(self, webhook: KindConversion, objs: Iterable[Json], version: str) -> None:
        """Request all of these conversions at once, so that a request is repeated once and not for each."""
        ...

    def from_cache(self) -> AbstractContextManager[None]:
        """Convert no object again, while this lasts, that was converted for a list or a watch before."""
        ...

    def in_background(self, *, called_later: bool) -> AbstractContextManager[None]:
        """Convert for an open watch, which ends where the reply of a webhook is missing.

        With `called_later` the missing calls are kept for the driver, which can send them.
        """
        ...

"""Objects as a server would print them: what `kubectl get` shows."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ._meta import ListMeta


class TableColumn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a table. `priority` 0 is always shown, more only in a wide view."""

    name: str
    type: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0


class TableRow(Struct, kw_only=True, omit_defaults=True):
    """One object as the server would print it. How much `object` holds was said in the request."""

    cells: list[Any]
    object: dict[str, Any] | None = None


class Table(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Objects as `kubectl get` would print them. Servers write null for an empty list."""

    column_definitions: list[TableColumn] | None
    rows: list[TableRow] | None
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.column_definitions or ())

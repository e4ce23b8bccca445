"""Objects in the columns of `kubectl get`, as a server prints them."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from .._errors import printable
from ._codec import decode
from ._depths import Dynamic
from ._object_meta import ListMeta, ObjectMeta

# As in kubectl: the minimum width of a column, and the spaces between two columns.
_MIN_WIDTH: Final = 6
_GAP: Final = 3


class TableColumn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a table. A column of a priority above 0 is shown in a wide view only."""

    name: str
    type: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0


class TableRow(Struct, kw_only=True, omit_defaults=True):
    """The printed cells of an object. The request determines the included part of the object."""

    cells: list[Any]
    raw: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw, name="object")

    @property
    def object(self) -> Dynamic | None:
        """The included part of the object: by default its metadata, as a `PartialObjectMetadata`."""
        text = bytes(self.raw)
        return decode(text, Dynamic) if text not in (b"", b"null") else None

    @property
    def metadata(self) -> ObjectMeta | None:
        """The metadata of the object, if it is included."""
        obj = self.object
        return None if obj is None else obj.metadata


class Table(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Objects in the form of `kubectl get`: ``print(table)``, or ``table.text(wide=True)``."""

    column_definitions: list[TableColumn] | None
    raw_rows: list[TableRow] | None = msgspec.field(name="rows")
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.column_definitions or ())

    @property
    def rows(self) -> list[TableRow]:
        """The rows. Servers write null for an empty list."""
        return self.raw_rows or []

    def records(self) -> list[dict[str, Any]]:
        """Return the cells of each row by the names of their columns."""
        return [dict(zip(self.columns, row.cells, strict=False)) for row in self.rows]

    def text(self, *, wide: bool = False, namespaces: bool = False, headers: bool = True) -> str:
        """Return the table as kubectl prints it.

        `wide` shows all columns, `namespaces` the namespace of each row; without `headers`, there are only
        rows.
        """
        columns = enumerate(self.column_definitions or ())
        indexes = [index for index, column in columns if wide or not column.priority]
        lines = [[self.columns[index].upper() for index in indexes]]
        lines += [[_format_cell(row.cells[index]) for index in indexes] for row in self.rows]
        if namespaces:
            spaces = [row.metadata.namespace if row.metadata else "" for row in self.rows]
            lines = [[space, *line] for space, line in zip(["NAMESPACE", *spaces], lines, strict=True)]
        lines = lines if headers else lines[1:]
        widths = [max(_MIN_WIDTH, max(map(len, column)) + _GAP) for column in zip(*lines, strict=True)]
        return "\n".join(_format_line(line, widths) for line in lines)

    def __str__(self) -> str:
        return self.text()


def _format_line(cells: list[str], widths: list[int]) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _format_cell(value: Any) -> str:
    """Return a cell on one line, without control characters for a terminal."""
    match value:
        case None:
            return "<none>"
        case bool():
            return str(value).lower()
        case _:
            return printable(str(value))

"""Tables as kubectl prints them: those of the server, joined from pages, with labels, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from ._output import BOLD, styled, use_color

if TYPE_CHECKING:
    from typing import TextIO

    from kubeproto import Resource
    from kubeproto.objects import JsonPath, Table, TableRow


class TablePrinter:
    """Prints one table for each kind. The pages of one are joined, so that its columns are aligned."""

    tabular: Final = True
    tells_nothing: Final = True

    def __init__(
        self,
        stream: TextIO,
        *,
        wide: bool = False,
        namespaces: bool = False,
        headers: bool = True,
        labels: bool = False,
        label_columns: tuple[str, ...] = (),
        sort_by: str = "",
    ) -> None:
        self.several = False
        self.single = False
        self.namespaced = True  # whether any of the kinds has namespaces
        self.count = 0
        self._stream = stream
        self._wide = wide
        self._namespaces = namespaces
        self._headers = headers
        self._labels = labels
        self._label_columns = label_columns
        self._sort_by = sort_path(sort_by)
        self._resource: Resource | None = None
        self._table: Table | None = None

    @property
    def include_object(self) -> Literal["Metadata", "Object"]:
        """How much of each object the rows have to include."""
        return "Object" if self._sort_by else "Metadata"

    def begin(self, resource: Resource) -> None:
        """Begin a table of this kind."""
        self._resource, self._table = resource, None

    def page(self, page: Any) -> None:
        """Take a page, or one object as a table."""
        table: Table = page
        if self._table is None:
            self._table = table
        else:
            self._table.raw_rows = self._table.rows + table.rows

    def end(self) -> None:
        """Print the table unless it is empty."""
        table = self._table
        if table is None or not table.rows:
            return
        table.raw_rows = sorted_rows(table.rows, self._sort_by)
        add_labels(table, self._label_columns, all_labels=self._labels)
        if self.several and self._resource is not None:
            name_kinds(table, self._resource)
        namespaces = self._namespaces and self.namespaced
        text = table.text(wide=self._wide, namespaces=namespaces, headers=self._headers)
        if self._headers:
            header, _, rows = text.partition("\n")
            text = f"{styled(header, BOLD, use_color(self._stream))}\n{rows}"
        self._stream.write(("\n" if self.count else "") + text + "\n")
        self._stream.flush()
        self.count += len(table.rows)

    def close(self) -> None:
        """Do nothing: everything has been printed."""


def sort_path(text: str) -> JsonPath | None:
    """Return the path to sort by; None for an empty string."""
    from kubeproto.objects import JsonPath

    return JsonPath.parse(text) if text else None


def sort_key(value: Any) -> tuple[int, float, str]:
    """Return a key that sorts missing values first, then numbers, then strings, as kubectl does."""
    match value:
        case None:
            return 0, 0.0, ""
        case bool() | int() | float():
            return 1, float(value), ""
        case _:
            return 2, 0.0, str(value)


def sorted_rows(rows: list[TableRow], path: JsonPath | None) -> list[TableRow]:
    """Return the rows in the order of the values at a path."""
    if path is None:
        return rows
    from ._documents import as_plain

    def key(row: TableRow) -> tuple[int, float, str]:
        found = path.find(as_plain(row.object, managed_fields=True)) if row.object is not None else []
        return sort_key(found[0] if found else None)

    return sorted(rows, key=key)


def add_labels(table: Table, columns: tuple[str, ...], *, all_labels: bool) -> None:
    """Add columns with single labels, and one with all of them."""
    from kubeproto.objects import TableColumn

    if not (columns or all_labels):
        return
    names = [column.rpartition("/")[2].upper() for column in columns] + (["LABELS"] if all_labels else [])
    table.column_definitions = [
        *(table.column_definitions or ()),
        *(TableColumn(name=name, type="string") for name in names),
    ]
    for row in table.rows:
        labels = row.metadata.labels if row.metadata else {}
        row.cells += [labels.get(column, "") for column in columns]
        if all_labels:
            row.cells.append(",".join(f"{key}={labels[key]}" for key in sorted(labels)) or "<none>")


def name_kinds(table: Table, resource: Resource) -> None:
    """Put the kind before each name, as kubectl does if several kinds are shown."""
    at = next((at for at, column in enumerate(table.column_definitions or ()) if column.name == "Name"), 0)
    for row in table.rows:
        row.cells[at] = f"{kind_name(resource)}/{row.cells[at]}"


def kind_name(resource: Resource) -> str:
    """Return ``deployment.apps``: what kubectl puts before a name."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.group}" if resource.group else kind

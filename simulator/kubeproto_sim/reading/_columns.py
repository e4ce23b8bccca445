"""The columns in which kubectl shows a kind, and the cells of an object."""

from __future__ import annotations

import functools
import pkgutil
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import is_list, is_object

from ..kinds._served_kinds import ServedKind
from ._builtin_cells import ROWS
from ._cell_values import ago

_NAME: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may"
    " allow a client to request the generation of an appropriate name automatically. Name is primarily"
    " intended for creation idempotence and configuration definition. Cannot be updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_AGE: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not"
    " guaranteed to be set in happens-before order across separate operations. Clients may not set this"
    " value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for"
    " lists."
    " More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_STEP: Final = re.compile(
    r"\.?((?:[^.\[\\]|\\.)+)|\[(\d+)\]|\[\?\(@\.([^=\s]+)\s*==\s*['\"]([^'\"]*)['\"]\)\]"
)

Cell = Callable[[dict[str, Any], float], Any]


class CellColumn(Struct, frozen=True):
    """A column: its definition as it is sent, and the function that makes its cells."""

    definition: dict[str, Any]
    cell: Cell


def definitions_of(served: ServedKind) -> list[dict[str, Any]]:
    """Return the definitions of the columns in which a kind is shown."""
    if served.custom:
        return [column.definition for column in _columns_of(served)]
    return _recorded()[served.full_name]


def cells_of(served: ServedKind, obj: dict[str, Any], time: float) -> list[Any]:
    """Return the cells of an object, in the order of the columns."""
    if served.custom:
        return [column.cell(obj, time) for column in _columns_of(served)]
    return ROWS[served.full_name](obj, time)


@functools.cache
def _recorded() -> dict[str, list[dict[str, Any]]]:
    """Return the columns of built-in kinds, recorded from a real server by `make probe`."""
    data = pkgutil.get_data("kubeproto_sim", "columns.json")
    if data is None:
        raise RuntimeError("kubeproto_sim was installed without its columns.json")
    columns: dict[str, list[dict[str, Any]]] = msgspec.json.decode(data)["columns"]
    return columns


def _columns_of(served: ServedKind) -> tuple[CellColumn, ...]:
    """Return the columns of a custom resource: those of its definition, or name and age."""
    name = _column("Name", _NAME, lambda obj, _: obj["metadata"].get("name", ""), format_="name")
    if served.defined and served.defined.columns:
        columns: list[CellColumn] = []
        for column in served.defined.columns:
            text = column.description or (
                f"Custom resource definition column (in JSONPath format): {column.json_path}"
            )
            cell = _path_cell(column.json_path, column.type)
            columns.append(_column(column.name, text, cell, column.type, column.format, column.priority))
        return (name, *columns)
    return (name, _column("Age", _AGE, _age, "date"))


def look_up(obj: Any, path: str) -> Any:
    """Return the first value at a simple JSONPath (members, indexes, filters by equality), or None."""
    value = obj
    for step in _STEP.finditer(path):
        name, index, key, expected_value = step.groups()
        if name is not None:
            value = value.get(name.replace("\\", "")) if is_object(value) else None
        elif not is_list(value):
            return None
        elif index is not None:
            value = value[int(index)] if int(index) < len(value) else None
        else:
            value = next(
                (
                    element
                    for element in value
                    if is_object(element) and str(element.get(key)) == expected_value
                ),
                None,
            )
    return value


def _column(
    name: str, description: str, cell: Cell, type_: str = "string", format_: str = "", priority: int = 0
) -> CellColumn:
    definition = {
        "name": name, "type": type_, "format": format_, "description": description, "priority": priority,
    }  # fmt: skip
    return CellColumn(definition, cell)


def _age(obj: dict[str, Any], time: float) -> Any:
    return ago(obj["metadata"].get("creationTimestamp"), time)


def _path_cell(path: str, type_: str) -> Cell:
    def cell(obj: dict[str, Any], time: float) -> Any:
        value = look_up(obj, path)
        if type_ == "date":
            return ago(value, time) if isinstance(value, str) else None
        return value

    return cell

"""Refuse times without a zone before they are sent: they name no instant, and a server refuses them.

They are not treated as UTC: `datetime.now()` and `datetime.utcnow()` are both naive and name different
instants.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct

from .._errors import LocalProtocolError
from ._json_values import is_object


class NaiveTime(LocalProtocolError, ValueError):
    """A time without a zone in an outgoing object; the message names the field."""


def refuse_naive_times(value: Any, name: str) -> None:
    """Raise a `NaiveTime` that names the value and the field if a time in the value has no zone."""
    path = _find(value)
    if path is not None:
        raise NaiveTime(
            f"{name}: {path.removeprefix('.') or 'it'} is naive (no time zone); use datetime.now(UTC)"
        )


def _find(value: Any) -> str | None:
    """Return the path of the first naive time in a value, or None."""
    if isinstance(value, datetime.datetime):
        return "" if value.utcoffset() is None else None
    parts: list[tuple[str, Any]] = []
    if isinstance(value, Struct):
        # Not `structs.fields`, which reads the annotations again each time, in 0.1 ms.
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        parts = [(f".{wire}", getattr(value, name)) for wire, name in names]
    elif is_object(value):
        parts = [(f".{key}" if key.isidentifier() else f"[{key}]", part) for key, part in value.items()]
    elif isinstance(value, list | tuple | set | frozenset):
        elements = cast("Iterable[Any]", value)
        parts = [(f"[{index}]", part) for index, part in enumerate(elements)]
    for step, part in parts:
        if (path := _find(part)) is not None:
            return step + path
    return None

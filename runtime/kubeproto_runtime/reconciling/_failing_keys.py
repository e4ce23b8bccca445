"""`FailingKey`: the last failure of a key, and a summary of it for the debug page.

The text of an error may contain parts of an object: a server quotes the value that it refuses, and a program
may put anything into its errors. So the summary has only the subject of an error and the line that raised it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kubeproto import ApiError, TransportError

from ..tasks._error_texts import error_text, type_name
from ._plans import ReconcileTimeout

if TYPE_CHECKING:
    from types import TracebackType


class FailingKey(Struct, frozen=True):
    """The last failure of a key: the whole text, for the log, and a summary without contents."""

    text: str
    summary: str
    attempt: int
    failed_at: float


def error_summary(error: Exception) -> str:
    """Describe an error without any text that could be from an object or a credential."""
    name = type_name(error)
    try:
        match error:
            case ApiError():
                return f"{name}: {error.request.partition('?')[0]}: {error.code} {error.reason}".rstrip()
            case ReconcileTimeout() | TransportError():
                return f"{name}: {error_text(error)}"
            case _:
                return f"{name}{_origin(error.__traceback__)}"
    except Exception:
        return name  # a subclass of the user's may lack the attributes of its base


def _origin(traceback: TracebackType | None) -> str:
    """Return the function, file and line that raised an error."""
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    file = code.co_filename.rpartition("/")[2]
    return f" in {code.co_name}, {file} line {traceback.tb_lineno}"

"""Formatters for log records, as text for people or as JSON. Each line names its object and its reconcile.

::

    handler = logging.StreamHandler()
    handler.setFormatter(logs.TextFormatter() if sys.stderr.isatty() else logs.JsonFormatter())
    logging.basicConfig(level="INFO", handlers=[handler])

No formatter is installed automatically: the program configures its logging. Both formatters show the extra
fields of a record. `ctx.logger` adds the object, and the reason, the attempt and the id of the reconcile.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from kubeproto import ObjectRef

from .tasks._error_texts import error_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["JsonFormatter", "TextFormatter"]

# The attributes that every record has. Any other attribute is an extra field.
_STANDARD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats each record as a line of JSON: `time`, `level`, `logger`, `message`, and the extra fields.

    An object is written with its group, kind, namespace and name. While a span of OpenTelemetry is open, the
    line contains `trace_id` and `span_id`. A value that JSON cannot represent is written as a string.
    """

    def __init__(self) -> None:
        super().__init__()
        try:
            self._trace: Any = import_module("opentelemetry.trace")
        except ModuleNotFoundError:
            self._trace = None

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line: dict[str, Any] = {
            "time": _format_time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        extra = _extra_fields(record)
        if isinstance(ref := extra.pop("ref", None), ObjectRef):
            extra["object"] = ref
        line |= {name: value for name, value in extra.items() if name not in line}
        if self._trace is not None and (span := self._trace.get_current_span().get_span_context()).is_valid:
            line |= {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        return msgspec.json.encode(_to_json(line)).decode()


class TextFormatter(logging.Formatter):
    """Formats each record as text: the time, level, logger and message, and the extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line, followed by its traceback."""
        # The lines of `ctx.logger` begin with their object.
        extra = {
            name: value for name, value in _extra_fields(record).items() if name not in ("object", "ref")
        }
        pairs = " ".join(f"{name}={_quote(value)}" for name, value in extra.items())
        message = record.getMessage().replace("\n", "\n    ")
        separator = "  " if pairs else ""
        text = f"{_format_time(record)} {record.levelname:7} {record.name}: {message}{separator}{pairs}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        if record.stack_info:
            text += "\n" + self.formatStack(record.stack_info)
        return text


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}


def _format_time(record: logging.LogRecord) -> str:
    created = datetime.fromtimestamp(record.created, UTC)
    return f"{created:%Y-%m-%dT%H:%M:%S}.{created.microsecond // 1000:03}Z"


def _to_json(value: Any) -> Any:
    """Return the JSON form of a value."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return value.encode("utf-8", "replace").decode()  # UTF-8 has no form for a lone surrogate
        case float():
            return value if value - value == 0 else str(value)  # JSON has no infinity
        case ObjectRef():
            return {
                "group": value.group,
                "kind": value.kind,
                "namespace": value.namespace,
                "name": value.name,
            }
        case dict():
            members = cast("Mapping[Any, Any]", value).items()
            return {_to_json(error_text(name)): _to_json(member) for name, member in members}
        case list() | tuple():
            return [_to_json(element) for element in cast("Sequence[Any]", value)]
        case _:
            return _to_json(error_text(value))


def _quote(value: Any) -> str:
    text: str = _to_json(error_text(value))
    return msgspec.json.encode(text).decode() if not text or set(text) & set(' "\n=') else text

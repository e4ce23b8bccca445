"""Formatters for the lines that a program logs: for people, or as JSON, with the object and run of each line.

::

    handler = logging.StreamHandler()
    handler.setFormatter(logs.TextFormatter() if sys.stderr.isatty() else logs.JsonFormatter())
    logging.basicConfig(level="INFO", handlers=[handler])

Nothing here is set up automatically: the program decides how it logs. Both formatters show what a record
carries besides its message: from `ctx.logger` that is the object, why and for which time it is reconciled,
and the run.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from kubeproto import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["JsonFormatter", "TextFormatter"]

# What every record has; everything else was added by the code that logged it.
_ORDINARY: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A line of JSON for each record: `time`, `level`, `logger`, `message`, and what the record carries.

    An object is written with its group, kind, namespace and name. While a span of OpenTelemetry is open,
    `trace_id` and `span_id` say which. A value without a JSON form is written as a string.
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
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        carried = _carried(record)
        if isinstance(ref := carried.pop("ref", None), ObjectRef):
            carried["object"] = ref
        line |= {name: value for name, value in carried.items() if name not in line}
        if self._trace is not None and (span := self._trace.get_current_span().get_span_context()).is_valid:
            line |= {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        return msgspec.json.encode(_plain(line)).decode()


class TextFormatter(logging.Formatter):
    """A line for people: the time, the level, the logger, the message, and what the record carries."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line, with its traceback below."""
        # The lines of `ctx.logger` begin with their object.
        carried = {name: value for name, value in _carried(record).items() if name not in ("object", "ref")}
        more = " ".join(f"{name}={_quoted(value)}" for name, value in carried.items())
        message = record.getMessage().replace("\n", "\n    ")
        text = f"{_time(record)} {record.levelname:7} {record.name}: {message}{'  ' if more else ''}{more}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        if record.stack_info:
            text += "\n" + self.formatStack(record.stack_info)
        return text


def _carried(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _ORDINARY}


def _time(record: logging.LogRecord) -> str:
    made = datetime.fromtimestamp(record.created, UTC)
    return f"{made:%Y-%m-%dT%H:%M:%S}.{made.microsecond // 1000:03}Z"


def _plain(value: Any) -> Any:
    """Return the JSON form of a value."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return value.encode("utf-8", "replace").decode()  # a lone surrogate has no form
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
            return {_plain(str(name)): _plain(one) for name, one in cast("Mapping[Any, Any]", value).items()}
        case list() | tuple():
            return [_plain(one) for one in cast("Sequence[Any]", value)]
        case _:
            return _plain(str(value))


def _quoted(value: Any) -> str:
    text: str = _plain(str(value))
    return msgspec.json.encode(text).decode() if not text or set(text) & set(' "\n=') else text

"""Texts of errors that a user's function raised, for logs and comparisons.

An error's `__str__`, its notes and the errors that it was raised from are the user's code, and may raise. A
controller formats the errors of its runs outside of the runs: without these functions, one object whose
reconcile raises such an error would end the operator, and again after each restart.
"""

from __future__ import annotations

import logging
from traceback import TracebackException
from typing import Any, Final

# The name of a class; its metaclass may define another `__name__`.
_class_name: Final[Any] = type.__dict__["__name__"].__get__


class UnprintableError(Exception):
    """Stands in a traceback for an error that cannot be formatted."""


def type_name(value: object) -> str:
    """Return the name of the class of a value."""
    name: str = _class_name(type(value))
    return name


def error_text(error: object) -> str:
    """Return the text of an error or another value, or the name of its class if its `__str__` raises."""
    return _call_or_describe(str, error, "__str__")


def value_repr(value: object) -> str:
    """Return the repr of a value, or the name of its class if its `__repr__` raises."""
    return _call_or_describe(repr, value, "__repr__")


def log_failure(
    log: logging.Logger | logging.LoggerAdapter[Any],
    message: str,
    *args: object,
    error: BaseException,
    level: int = logging.ERROR,
) -> None:
    """Log a message with the traceback of an error."""
    if log.isEnabledFor(level):
        log.log(level, message, *args, exc_info=make_formattable(error), stacklevel=2)


def make_formattable(error: BaseException) -> BaseException:
    """Return an error with the same traceback that is safe to format.

    A logging handler raises a RecursionError from formatting. After any other error it loses the line. Before
    Python 3.13, notes that raise cause such an error.
    """
    try:
        for _ in TracebackException.from_exception(error).format():
            pass
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as failure:
        text = f"{type_name(error)}, whose traceback cannot be formatted: {type_name(failure)}"
        return UnprintableError(text).with_traceback(error.__traceback__)
    return error


def _call_or_describe(convert: Any, value: object, method: str) -> str:
    try:
        # The exact class: the methods of a subclass of str may raise as well.
        return str.__str__(convert(value))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as failure:
        return f"{type_name(value)} ({method} raised {type_name(failure)})"

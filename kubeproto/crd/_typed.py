"""A typed object checked before it is sent, by the rules of its own class."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from ..objects import KubeObject, encode
from ._violations import Violation
from .cel._rules import RuleOutcome, check_rules
from .definitions._definitions import schema_for
from .validation._validation import validate


def validate_object(obj: KubeObject, old: KubeObject | None = None) -> list[Violation]:
    """Return what a server would refuse in this object, or in its update from `old`, with the same paths."""
    return validate(_schema(type(obj)), _wire(obj), None if old is None else _wire(old))


def check_object_rules(obj: KubeObject, old: KubeObject | None = None) -> list[RuleOutcome]:
    """Return the outcome of every CEL rule of the object's class: passed, failed, or not evaluated."""
    return check_rules(_schema(type(obj)), _wire(obj), None if old is None else _wire(old))


@functools.lru_cache(maxsize=256)
def _schema(cls: type[KubeObject]) -> dict[str, Any]:
    # A lazy object is of a hidden class below the one that was declared.
    declared = next((one for one in cls.__mro__ if "resource" in vars(one)), None)
    if declared is None:
        raise TypeError(f"{cls.__name__} is not a kind with a class of its own, so it has no schema")
    return schema_for(declared)


def _wire(obj: KubeObject) -> dict[str, Any]:
    # What a lazy object has not read yet is checked as well, as the bytes that were received.
    written: dict[str, Any] = msgspec.json.decode(encode(obj))
    return written

"""Checks of a typed object before it is sent, by the schema of its class."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from ..objects import KubeObject, encode
from ._violations import Violation
from .cel._rule_outcomes import RuleOutcome, check_rules
from .definitions._definition_building import schema_with_root_rules
from .validation._object_validation import validate


def validate_object(obj: KubeObject, old: KubeObject | None = None) -> list[Violation]:
    """Return the violations that a server would report for this object, or for its update from `old`."""
    return validate(_schema_of(type(obj)), _to_json(obj), None if old is None else _to_json(old))


def check_object_rules(obj: KubeObject, old: KubeObject | None = None) -> list[RuleOutcome]:
    """Return the outcome of every CEL rule of the object's class: passed, violated, or not evaluated."""
    return check_rules(_schema_of(type(obj)), _to_json(obj), None if old is None else _to_json(old))


@functools.lru_cache(maxsize=256)
def _schema_of(cls: type[KubeObject]) -> dict[str, Any]:
    # The class of a lazy object is a hidden subclass of the declared class.
    declared = next((base for base in cls.__mro__ if "resource" in vars(base)), None)
    if declared is None:
        raise TypeError(f"{cls.__name__} is not a kind with its own class, so it has no schema")
    return schema_with_root_rules(declared)


def _to_json(obj: KubeObject) -> dict[str, Any]:
    # A lazy object may have undecoded fields, which are checked as well.
    decoded: dict[str, Any] = msgspec.json.decode(encode(obj))
    return decoded

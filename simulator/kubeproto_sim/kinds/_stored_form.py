"""A fast yes for objects of built-in kinds: one that fits a type made from the table needs no tidying.

Most objects are written in the form in which they are stored: nothing unknown, null or empty in them, every
value of its type, quantities and times as a server writes them. msgspec finds that out in two microseconds,
where `FieldPlan` takes ten for a small object and a hundred for a pod. An object that does not fit is not
necessarily wrong: it goes through its plan. So each rule here may ask for more than the plan does, and for
nothing less.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kubeproto.kinds import FieldFacts, table

from ._builtin import built_in
from ._orders import POINTERS
from ._releases import Release

# Texts that already are what `_canonical` would make of them. A quantity of up to three digits is.
_MICRO_TIME: Final = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z"
_QUANTITY: Final = r"\A(0|[1-9][0-9]{0,2}(m|k|M|G|T|Ki|Mi|Gi|Ti)?)\Z"
# An integer that fits any type. One of 64 bits may be larger, and then goes through its plan.
_INTEGER: Final[Any] = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_LEAVES: Final[dict[str, Any]] = {
    "string": str, "integer": _INTEGER, "number": int | float, "boolean": bool, "bytes": str,
    "time": Annotated[str, Meta(pattern=r"(?s)\A.{10}T.{8}Z\Z")],
    "micro-time": Annotated[str, Meta(pattern=_MICRO_TIME)],
    "quantity": Annotated[str, Meta(pattern=_QUANTITY)],
    "int-or-string": int | str, "object": dict[str, Any], "any": Any,
}  # fmt: skip
# What is left out where it is empty or zero, as it must be there: neither.
_FULL: Final[dict[str, Any]] = {
    "string": Annotated[str, Meta(min_length=1)],
    "bytes": Annotated[str, Meta(min_length=1)],
    "integer": Annotated[int, Meta(ge=1, le=2**31 - 1)],
    "int-or-string": Annotated[int, Meta(ge=1)] | Annotated[str, Meta(min_length=1)],
}
_NOT_NULL: Final[Any] = bool | int | float | str | list[Any] | dict[str, Any]
# Only the plan can judge such a field: no value fits.
_NO_VALUE: Final[Any] = Annotated[str, Meta(min_length=1, max_length=0)]


class _Recursive(Exception):
    """A type that holds itself."""


@cache
def stored_form(type_: str, release: Release) -> Callable[[Any], bool]:
    """Return a function that is True for values of a type that certainly are in their stored form."""
    try:
        form: Any = _struct(type_, release)
    except _Recursive:
        return _never
    convert, mismatch = msgspec.convert, msgspec.ValidationError

    def fits(value: Any) -> bool:
        try:
            convert(value, form)
        except mismatch:
            return False
        return True

    return fits


def _never(_: Any) -> bool:
    return False


@cache
def _struct(type_: str, release: Release) -> Any:
    zeros = built_in().zeros.get(type_, {})
    fields: list[Any] = []
    for name, field in table().types[type_].fields.items():
        if f"{type_}.{name}" in release.missing_fields or f"{type_}.{name}" in release.gated_fields:
            continue
        if field.type == type_:
            raise _Recursive
        kept = field.required or field.default is not None or (type_, name) in POINTERS
        kind = _field(field, release, kept=zeros.get(name, kept), drops_zero=not zeros.get(name, True))
        fields.append((f"f{len(fields)}", kind | UnsetType, msgspec.field(name=name, default=UNSET)))
    return msgspec.defstruct("StoredForm", fields, forbid_unknown_fields=True)


def _field(field: FieldFacts, release: Release, *, kept: bool, drops_zero: bool) -> Any:
    """Return the type of a field; `kept` is whether a server keeps it where it is empty."""
    if field.type.startswith("schema-"):
        leaf: Any = Any
    elif "." in field.type:
        leaf = _struct(field.type, release)
    else:
        leaf = _LEAVES[field.type]
    if not field.form:
        return _single(field.type, leaf, kept=kept, drops_zero=drops_zero)
    for at, form in enumerate(reversed(field.form), 1):
        leaf = list[leaf] if form == "list" else dict[str, leaf]
        if at == len(field.form) and not kept:
            leaf = Annotated[leaf, Meta(min_length=1)]
    return leaf


def _single(type_: str, leaf: Any, *, kept: bool, drops_zero: bool) -> Any:
    if leaf is Any:
        return _NOT_NULL
    if kept:
        return leaf
    if drops_zero and type_ in ("number", "boolean"):
        return _NO_VALUE
    if type_ == "integer" and not drops_zero:
        return leaf
    if type_ == "int-or-string" and not drops_zero:
        return int | _FULL["string"]
    return _FULL.get(type_, leaf)

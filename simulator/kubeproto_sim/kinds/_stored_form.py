"""A fast check for objects of built-in kinds: an object that fits a msgspec type is in its stored form.

Most objects are sent in the form in which they are stored: no unknown, null or empty fields, values of the
right types, quantities and times in canonical form. msgspec detects that in two microseconds, where
`FieldPlan` takes ten for a small object and a hundred for a pod. An object that does not fit goes through its
plan. So each rule here may be stricter than the plan, and must not be weaker.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kubeproto.kinds import BuiltinField, kind_table

from ._builtin_table import built_in
from ._field_orders import POINTERS
from ._kubernetes_releases import Release

# Texts that `_canonical` would not change, such as a quantity of up to three digits.
_MICRO_TIME: Final = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z"
_QUANTITY: Final = r"\A(0|[1-9][0-9]{0,2}(m|k|M|G|T|Ki|Mi|Gi|Ti)?)\Z"
BASE64: Final = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z"
# An integer that fits any type. A larger integer of 64 bits goes through its plan.
_INTEGER: Final[Any] = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_LEAVES: Final[dict[str, Any]] = {
    "string": str, "integer": _INTEGER, "number": int | float, "boolean": bool,
    "bytes": Annotated[str, Meta(pattern=BASE64)],
    "time": Annotated[str, Meta(pattern=r"(?s)\A.{10}T.{8}Z\Z")],
    "micro-time": Annotated[str, Meta(pattern=_MICRO_TIME)],
    "quantity": Annotated[str, Meta(pattern=_QUANTITY)],
    "int-or-string": int | str, "object": dict[str, Any], "any": Any,
}  # fmt: skip
# Types of fields that are omitted if they are empty or zero: neither is allowed here.
_NON_EMPTY: Final[dict[str, Any]] = {
    "string": Annotated[str, Meta(min_length=1)],
    "bytes": Annotated[str, Meta(min_length=1, pattern=BASE64)],
    "integer": Annotated[int, Meta(ge=1, le=2**31 - 1)],
    "int-or-string": Annotated[int, Meta(ge=1)] | Annotated[str, Meta(min_length=1)],
}
_NOT_NULL: Final[Any] = bool | int | float | str | list[Any] | dict[str, Any]
# The plan must decide on such a field, so no value fits.
_NO_VALUE: Final[Any] = Annotated[str, Meta(min_length=1, max_length=0)]


class _Recursive(Exception):
    """A type contains itself."""


@cache
def stored_form(type_: str, release: Release) -> Callable[[Any], bool]:
    """Return a predicate that is True only for values in their stored form."""
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
    for name, field in kind_table().types[type_].fields.items():
        if f"{type_}.{name}" in release.missing_fields or f"{type_}.{name}" in release.gated_fields:
            continue
        if field.type == type_:
            raise _Recursive
        keeps_empty = field.required or field.default is not None or (type_, name) in POINTERS
        form = _field(
            field, release, keeps_empty=zeros.get(name, keeps_empty), drops_zero=not zeros.get(name, True)
        )
        fields.append((f"f{len(fields)}", form | UnsetType, msgspec.field(name=name, default=UNSET)))
    return msgspec.defstruct("StoredForm", fields, forbid_unknown_fields=True)


def _field(field: BuiltinField, release: Release, *, keeps_empty: bool, drops_zero: bool) -> Any:
    """Return the type of a field."""
    if field.type.startswith("schema-"):
        leaf: Any = Any
    elif "." in field.type:
        leaf = _struct(field.type, release)
    else:
        leaf = _LEAVES[field.type]
    if not field.form:
        return _single(field.type, leaf, keeps_empty=keeps_empty, drops_zero=drops_zero)
    for depth, form in enumerate(reversed(field.form), 1):
        leaf = list[leaf] if form == "list" else dict[str, leaf]
        if depth == len(field.form) and not keeps_empty:
            leaf = Annotated[leaf, Meta(min_length=1)]
    return leaf


def _single(type_: str, leaf: Any, *, keeps_empty: bool, drops_zero: bool) -> Any:
    if leaf is Any:
        return _NOT_NULL
    if keeps_empty:
        return leaf
    if drops_zero and type_ in ("number", "boolean"):
        return _NO_VALUE
    if type_ == "integer" and not drops_zero:
        return leaf
    if type_ == "int-or-string" and not drops_zero:
        return int | _NON_EMPTY["string"]
    return _NON_EMPTY.get(type_, leaf)

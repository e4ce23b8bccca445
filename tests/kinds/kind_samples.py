"""Sample objects from the table of kinds: objects with every field, and objects that Hypothesis draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from hypothesis import strategies as st
from msgspec import structs

from kubeproto.kinds import BuiltinField, BuiltinType, kind_table

Draw = Callable[[st.SearchStrategy[Any]], Any]

_SCHEMA: Final = {"type": "object", "description": "another one"}
# A value for each type name of the table, in the form that a server returns.
FULL: Final[dict[str, Any]] = {
    "any": {"deep": [1, None, {"x": "y"}]},
    "boolean": False,
    "bytes": "AAH/",
    "int-or-string": "25%",
    "integer": 0,
    "micro-time": "2026-01-31T09:30:00.000001Z",
    "number": 0.5,
    "object": {"f:spec": {".": {}}},
    "quantity": "250m",
    "schema-or-array": [_SCHEMA],
    "schema-or-bool": False,
    "schema-or-strings": ["a"],
    "string": "text",
    "time": "2026-01-31T09:30:00Z",
}
_INT64: Final = st.integers(-(2**63), 2**63 - 1)
_JSON: Final = st.recursive(
    st.none() | st.booleans() | _INT64 | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
STRATEGIES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "any": _JSON.filter(lambda value: value is not None),  # null is the same as a missing field
    "boolean": st.booleans(),
    "bytes": st.sampled_from(("", "AA==", "AAH/", "aGVsbG8=")),
    "int-or-string": st.integers(-(2**31), 2**31 - 1) | st.text(max_size=4),
    "integer": _INT64,
    "micro-time": st.sampled_from(("2026-01-31T09:30:00.000000Z", "1999-12-31T23:59:59.999999Z")),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "object": st.dictionaries(st.text(max_size=3), _JSON, max_size=2),
    "quantity": st.sampled_from(("0", "1", "250m", "1Gi", "1500Mi", "3k", "-2", "1e3", "5u")),
    "schema-or-array": st.sampled_from(([], [_SCHEMA], _SCHEMA)),
    "schema-or-bool": st.sampled_from((True, False, _SCHEMA)),
    "schema-or-strings": st.sampled_from(([], ["a", "b"], _SCHEMA)),
    "string": st.text(max_size=5),
    "time": st.sampled_from(("2026-01-31T09:30:00Z", "1970-01-01T00:00:00Z")),
}
# In metadata, empty lists and maps are omitted.
_META: Final = ("meta_v1.ManagedFieldsEntry", "meta_v1.ObjectMeta")
_MAX_DEPTH: Final = 4
_UNSENT_FIELD: Final = "selfLink"  # documented, but not sent by servers since 1.20


def class_of(name: str) -> Any:
    """Return the class of a type of the table."""
    module, _, class_ = name.partition(".")
    return getattr(import_module(f"kubeproto.kinds.{module}"), class_)


def types_of(release: str) -> dict[str, BuiltinType]:
    """Return the types of an older release: without newer fields, with fields that were dropped later."""
    release_facts = kind_table().releases[release]
    types = {
        name: dict(old_type.fields)
        for name, old_type in (kind_table().types | release_facts.dropped_types).items()
    }
    for path, field in release_facts.dropped_fields.items():
        name, _, wire = path.rpartition(".")
        types[name][wire] = field
    for path in release_facts.missing_fields:
        name, _, wire = path.rpartition(".")
        del types[name][wire]
    all_types = kind_table().types | release_facts.dropped_types
    return {name: structs.replace(all_types[name], fields=fields) for name, fields in types.items()}


def full_sample(
    name: str, types: Mapping[str, BuiltinType] | None = None, *, inside: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return an object of a type with every field, except fields of an enclosing type."""
    types = kind_table().types if types is None else types
    builtin_type, inside = types[name], (*inside, name)
    sample = {
        wire: _wrap(
            field, FULL[field.type] if field.type in FULL else full_sample(field.type, types, inside=inside)
        )
        for wire, field in builtin_type.fields.items()
        if field.type not in inside and wire != _UNSENT_FIELD
    }
    return sample | _identity(builtin_type)


@st.composite
def objects(draw: Draw, name: str) -> dict[str, Any]:
    """Draw an object of a type with some of its fields."""
    return _draw_object(draw, name, 0)


def _draw_object(draw: Draw, name: str, depth: int) -> dict[str, Any]:
    builtin_type = kind_table().types[name]
    required = [wire for wire, field in builtin_type.fields.items() if field.required]
    optional = [
        wire for wire, field in builtin_type.fields.items() if not field.required and wire != _UNSENT_FIELD
    ]
    if optional and depth < _MAX_DEPTH:
        required += draw(st.lists(st.sampled_from(optional), unique=True, max_size=4))
    sent_fields = [
        wire for wire in ("metadata", "spec") if wire in builtin_type.fields
    ]  # a server always sends them
    sample = {
        wire: _draw_value(draw, builtin_type.fields[wire], name, depth)
        for wire in sorted({*required, *sent_fields})
    }
    return sample | _identity(builtin_type)


def _draw_value(draw: Draw, field: BuiltinField, owner: str, depth: int) -> Any:
    minimum = 1 if owner in _META else 0

    def value(form: tuple[str, ...]) -> Any:
        if not form:
            if field.type not in STRATEGIES:
                return _draw_object(draw, field.type, depth + 1)
            drawn_value = draw(STRATEGIES[field.type])
            return drawn_value or "x" if field.type == "string" and minimum else drawn_value
        if form[0] == "list":
            return [value(form[1:]) for _ in range(draw(st.integers(minimum, 2)))]
        keys = draw(st.lists(st.text(max_size=3), min_size=minimum, max_size=2, unique=True))
        return {key: value(form[1:]) for key in keys}

    return value(field.form)


def _wrap(field: BuiltinField, value: Any) -> Any:
    for form in reversed(field.form):
        value = [value] if form == "list" else {"key": value}
    return value


def _identity(builtin_type: BuiltinType) -> dict[str, str]:
    return (
        {"apiVersion": builtin_type.gvk.api_version, "kind": builtin_type.gvk.kind}
        if builtin_type.gvk
        else {}
    )

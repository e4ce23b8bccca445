"""Decoding and encoding lose nothing: every field of every kind, drawn objects, and recorded objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from kind_samples import class_of, full_sample, objects, types_of

from kubeproto.kinds import kind_table
from kubeproto.objects import GroupVersionKind, decode, encode, to_plain

RECORDINGS = Path(__file__).parents[1] / "recordings"
KINDS = sorted(name for name, builtin_type in kind_table().types.items() if builtin_type.gvk)


def round_trip(name: str, wire: Any) -> Any:
    """Decode and encode an object, and check that the result decodes to the same object."""
    kind = class_of(name)
    decoded = decode(json.dumps(wire).encode(), kind, strict=True)
    encoded = encode(to_plain(decoded))  # without the view, which would return the original text
    assert decode(encoded, kind, strict=True) == decoded
    return json.loads(encoded)


@pytest.mark.parametrize("name", KINDS)
def test_every_field_of_a_kind_round_trips(name: str) -> None:
    sample = full_sample(name)
    assert round_trip(name, sample) == sample


@pytest.mark.parametrize("release", kind_table().releases)
def test_every_field_of_an_older_release_round_trips(release: str) -> None:
    types = types_of(release)
    for name in KINDS:
        sample = full_sample(name, types)
        assert round_trip(name, sample) == sample


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8, derandomize=True)
@given(data=st.data())
def test_drawn_objects_round_trip(name: str, data: st.DataObject) -> None:
    sample = data.draw(objects(name))
    assert round_trip(name, sample) == sample


def read_recorded_objects() -> list[tuple[str, str, Any]]:
    """Return the objects of built-in kinds in recorded responses, with their types and files."""
    recorded_objects: list[tuple[str, str, Any]] = []
    for path in sorted(RECORDINGS.glob("*.json")):
        body = json.loads(path.read_bytes())["response"].get("body")
        try:
            body_value = json.loads(body) if isinstance(body, str) else body
        except ValueError:
            continue
        for obj in _objects(body_value):
            gvk = GroupVersionKind.of(obj["apiVersion"], obj["kind"])
            try:
                recorded_objects.append((kind_table().type_of(gvk), path.stem, obj))
            except KeyError:
                continue
    return recorded_objects


def _objects(body_value: Any) -> list[Any]:
    match body_value:
        case {"kind": str(kind), "apiVersion": str(version), "items": [*items]}:
            return [{"kind": kind.removesuffix("List"), "apiVersion": version, **item} for item in items]
        case {"kind": str(), "apiVersion": str()}:
            return [body_value]
        case _:
            return []


@pytest.mark.parametrize(
    ("name", "wire"),
    [pytest.param(name, wire, id=f"{file}-{name}") for name, file, wire in read_recorded_objects()],
)
def test_recorded_objects_round_trip(name: str, wire: Any) -> None:
    assert round_trip(name, wire) == _without_nulls(wire)


def test_recordings_contain_several_kinds() -> None:
    names = {name for name, _, _ in read_recorded_objects()}
    assert {"core_v1.Pod", "core_v1.Namespace", "apiextensions_v1.CustomResourceDefinition"} < names


def _without_nulls(value: Any) -> Any:
    return json.loads(json.dumps(value), object_hook=_without_null_members)


def _without_null_members(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}

"""Nothing is lost on the way in and out: every field of every kind, made-up objects, and recorded ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from kind_samples import class_of, full, objects, types_of

from kubeproto.kinds import kind_table
from kubeproto.objects import GroupVersionKind, decode, encode, to_plain

RECORDINGS = Path(__file__).parents[1] / "recordings"
KINDS = sorted(name for name, facts in kind_table().types.items() if facts.gvk)


def there_and_back(name: str, wire: Any) -> Any:
    """What is sent for an object that was read; both readings must agree."""
    kind = class_of(name)
    read = decode(json.dumps(wire).encode(), kind, strict=True)
    sent = encode(to_plain(read))  # of the values alone: a view would write its text back
    assert decode(sent, kind, strict=True) == read
    return json.loads(sent)


@pytest.mark.parametrize("name", KINDS)
def test_every_field_of_a_kind_goes_in_and_out(name: str) -> None:
    sample = full(name)
    assert there_and_back(name, sample) == sample


@pytest.mark.parametrize("release", kind_table().releases)
def test_every_field_that_an_older_release_knows_goes_in_and_out(release: str) -> None:
    types = types_of(release)
    for name in KINDS:
        sample = full(name, types)
        assert there_and_back(name, sample) == sample


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8, derandomize=True)
@given(data=st.data())
def test_made_up_objects_go_in_and_out(name: str, data: st.DataObject) -> None:
    sample = data.draw(objects(name))
    assert there_and_back(name, sample) == sample


def recorded() -> list[tuple[str, str, Any]]:
    """The objects of built-in kinds that a server answered with: type, file, object."""
    found: list[tuple[str, str, Any]] = []
    for path in sorted(RECORDINGS.glob("*.json")):
        body = json.loads(path.read_bytes())["response"].get("body")
        try:
            answer = json.loads(body) if isinstance(body, str) else body
        except ValueError:
            continue
        for each in _objects(answer):
            gvk = GroupVersionKind.of(each["apiVersion"], each["kind"])
            try:
                found.append((kind_table().type_of(gvk), path.stem, each))
            except KeyError:
                continue
    return found


def _objects(answer: Any) -> list[Any]:
    match answer:
        case {"kind": str(kind), "apiVersion": str(version), "items": [*items]}:
            return [{"kind": kind.removesuffix("List"), "apiVersion": version, **item} for item in items]
        case {"kind": str(), "apiVersion": str()}:
            return [answer]
        case _:
            return []


@pytest.mark.parametrize(
    ("name", "wire"), [pytest.param(name, wire, id=f"{file}-{name}") for name, file, wire in recorded()]
)
def test_what_a_server_answered_goes_in_and_out(name: str, wire: Any) -> None:
    assert there_and_back(name, wire) == _without_nulls(wire)


def test_there_are_recordings_of_several_kinds() -> None:
    names = {name for name, _, _ in recorded()}
    assert {"core_v1.Pod", "core_v1.Namespace", "apiextensions_v1.CustomResourceDefinition"} < names


def _without_nulls(value: Any) -> Any:
    return json.loads(json.dumps(value), object_hook=_without_null_members)


def _without_null_members(members: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in members.items() if each is not None}

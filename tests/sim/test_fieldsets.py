"""Sets of fields: their form on the wire, and the laws of union, intersection and difference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from apply_cases import RECORDINGS
from hypothesis import given, strategies as st

from kubeproto.objects import is_list, is_object
from kubeproto_sim.apply.fieldsets import (
    EMPTY,
    FieldSet,
    Path,
    decode_fields,
    difference,
    encode_fields,
    fieldset,
    format_path,
    intersection,
    keys_step,
    leaves,
    paths,
    union,
    value_step,
)

STEPS = st.one_of(
    st.sampled_from(
        ["f:a", "f:b", "f:c", 'k:{"n":"x"}', 'k:{"n":1,"p":"y"}', 'v:"s"', "v:1", "v:true", "i:0"]
    )
)
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
PATH_SETS: st.SearchStrategy[set[Path]] = st.sets(PATHS, max_size=8)


@given(PATH_SETS)
def test_a_set_contains_the_paths_of_its_construction(expected: set[Path]) -> None:
    assert set(paths(fieldset(expected))) == expected


@given(PATH_SETS)
def test_sets_of_equal_paths_are_equal(expected: set[Path]) -> None:
    assert fieldset(sorted(expected)) == fieldset(sorted(expected, reverse=True))
    assert decode_fields(json.loads(json.dumps(encode_fields(fieldset(expected))))) == fieldset(expected)


@given(PATH_SETS, PATH_SETS)
def test_union_intersection_and_difference_are_those_of_the_paths(a: set[Path], b: set[Path]) -> None:
    first, second = fieldset(a), fieldset(b)
    assert union(first, second) == fieldset(a | b)
    assert intersection(first, second) == fieldset(a & b)
    assert difference(first, second) == fieldset(a - b)


@given(PATH_SETS, PATH_SETS)
def test_operations_do_not_change_their_operands(a: set[Path], b: set[Path]) -> None:
    first, second = fieldset(a), fieldset(b)
    for make in (union, intersection, difference):
        make(first, second)
    assert (first, second) == (fieldset(a), fieldset(b))


@given(PATH_SETS)
def test_leaves_are_the_paths_without_longer_paths(expected: set[Path]) -> None:
    def has_longer_path(path: Path) -> bool:
        return any(other != path and other[: len(path)] == path for other in expected)

    assert leaves(fieldset(expected)) == fieldset({path for path in expected if not has_longer_path(path)})


def entries() -> list[Any]:
    """Yield every set of fields in the recorded responses."""
    collected: list[Any] = []

    def look(value: Any) -> None:
        if is_object(value):
            for name, child in value.items():
                if name == "fieldsV1":
                    collected.append(child)
                else:
                    look(child)
        elif is_list(value):
            for child in value:
                look(child)

    for recording in sorted(RECORDINGS.glob("*.json")):
        body = json.loads(recording.read_text())["response"].get("body")
        for line in body.splitlines() if isinstance(body, str) else ():
            if "fieldsV1" in line:
                look(json.loads(line))
    return collected


def test_recorded_sets_are_encoded_again_with_the_same_order_of_keys() -> None:
    assert len(entries()) > 15
    for fields in entries():
        assert json.dumps(encode_fields(decode_fields(fields))) == json.dumps(fields)


def test_steps_are_sorted_as_a_server_sorts_them() -> None:
    expected = [
        ".", "f:A", "f:a", "f:b",
        'k:{"n":1}', 'k:{"n":1,"p":"y"}', 'k:{"n":9}', 'k:{"n":10}', 'k:{"n":"a"}', 'k:{"n":true}',
        "v:2", "v:10", 'v:"10"', 'v:"b"', "v:false", "i:2", "i:10",
    ]  # fmt: skip
    shuffled: dict[str, Any] = {step: {} for step in sorted(expected)}
    assert list(encode_fields(shuffled)) == expected


WRONG: list[Any] = [
    None,
    [],
    "f:a",
    {"f:a": 1},
    {"f:a": None},
    {"a": {}},
    {"x:a": {}},
    {"k:[]": {}},
    {"v:{": {}},
    {"i:a": {}},
    {'i:"1"': {}},
    {"": {}},
    {"f:a": {"b": {}}},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_invalid_sets_of_fields_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        decode_fields(wrong)


def test_the_steps_of_elements_are_their_json() -> None:
    assert keys_step({"protocol": "TCP", "port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
    assert [value_step(value) for value in ("a", 1, True)] == ['v:"a"', "v:1", "v:true"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:containers", 'k:{"name":"c"}', "f:image"), '.spec.containers[name="c"].image'),
        (("f:ports", 'k:{"port":80,"protocol":"TCP"}'), '.ports[port=80,protocol="TCP"]'),
        (("f:finalizers", 'v:"a/b"'), '.finalizers[="a/b"]'),
        (("f:list", "i:3", "f:x"), ".list[3].x"),
    ],
)
def test_a_path_is_printed_as_in_a_message(path: Path, text: str) -> None:
    assert format_path(path) == text


def test_paths_of_a_level_precede_those_inside() -> None:
    fields: FieldSet = fieldset([("f:a",), ("f:a", "f:x"), ("f:b",)])
    assert list(paths(fields)) == [("f:a",), ("f:b",), ("f:a", "f:x")]
    assert list(paths(EMPTY)) == []

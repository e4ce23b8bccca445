"""Dropping managed fields: the result equals that of decoding, dropping and encoding."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kubeproto.control import _transforms, drop_managed_fields

FIELDS: list[Any] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {'k:{"name":"app"}': {".": {}}}}}]

texts = st.text(st.sampled_from('ab"\\[]{},:'), max_size=6)
keys = st.sampled_from(["managedFields", "metadata", "spec", "a", '"managedFields":[', '},"spec":']) | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=4)


def without(text: bytes) -> Any:
    document: Any = json.loads(text)
    metadata: Any = {}
    with suppress(TypeError, KeyError):
        metadata = document["metadata"]
    with suppress(TypeError, AttributeError):
        metadata.pop("managedFields", None)
    return document


@given(
    st.lists(st.tuples(keys, values), max_size=3),
    st.lists(st.tuples(keys, values), max_size=3),
    st.lists(st.tuples(keys, values), max_size=3),
    values | st.just(FIELDS) | st.lists(objects, min_size=1, max_size=2),
    st.booleans(),
)
def test_any_object_loses_only_its_managed_fields(
    prefix: list[tuple[str, Any]],
    meta: list[tuple[str, Any]],
    suffix: list[tuple[str, Any]],
    fields: Any,
    last: bool,
) -> None:
    metadata = dict(meta)
    if last:
        metadata.pop("managedFields", None)
    metadata["managedFields"] = fields
    document = {key: value for key, value in prefix if key != "metadata"} | {"metadata": metadata}
    document |= {key: value for key, value in suffix if key != "metadata"}
    text = json.dumps(document, separators=(",", ":")).encode()
    assert json.loads(drop_managed_fields(text)) == without(text)


@given(objects | values)
def test_any_json_is_unchanged_except_for_managed_fields(value: Any) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(value, separators=separators).encode()
        assert json.loads(drop_managed_fields(text)) == without(text)


@given(st.binary(max_size=40))
@example(b"}]}}")  # removed bytes are not decoded, so that their defects are not detected
def test_text_that_is_not_json_loses_at_most_its_managed_fields(junk: bytes) -> None:
    prefix = b'{"metadata":{"name":"a"'
    text = prefix + b',"managedFields":[' + junk
    try:
        json.loads(text)
    except ValueError:
        assert drop_managed_fields(text) in (text, prefix + text[text.find(b"]") + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"f":{}}]},"spec":{"b":[1]}}',
        b'{"apiVersion":"v1","kind":"A","metadata":{"labels":{},"managedFields":[{"f":{}}],"name":"a"},"spec":{}}',
        b'{"kind":"A","metadata":{"name":"a","managedFields":[{"f":{}}]}}',
    ],
)
def test_texts_of_servers_are_cut_without_decoding(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_transforms, "_reencode")
    assert json.loads(drop_managed_fields(text)) == without(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"name":"a"},"spec":{"x":1,"managedFields":[{"f":{}}]},"status":{}}',
        b'{"data":{"metadata":{"x":1,"managedFields":[{"f":{}}]},"spec":1},"metadata":{"name":"a"}}',
        b'{"metadata":{"annotations":{"x":1,"managedFields":[{"f":{}}]},"name":"a"}}',
        b'{"metadata":{"name":"a","managedFields":[{"m}],":true}]},"spec":{}}',
        b'{"metadata":{"name":"a","managedFields":[{"m}]},":true}]},"spec":{}}',
        b'{"metadata":{"name":"a","managedFields":[{"m":"x}]},"},{"n":"s"}]},"spec":{}}',
        b'{"metadata":{"name":"a","managedFields":[{"m":[{}]},"s"]},"spec":{}}',
        b'{"metadata":{"name":"a","managed\\u0046ields":[{}]}}',
        b'{"metadata":{"managedFields":null}}',
    ],
)
def test_text_that_only_resembles_managed_fields_is_not_removed(text: bytes) -> None:
    assert json.loads(drop_managed_fields(text)) == without(text)

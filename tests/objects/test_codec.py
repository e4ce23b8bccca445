"""Decoding and encoding of values that are not lazy objects, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

import kubeproto as kp
from kubeproto import InvalidObject, LocalProtocolError
from kubeproto.objects import Quantity, decode, encode


class Sized(kp.Fields):
    size: Quantity | None = None


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"size":"a"}', b'{"size":[]}']
)
def test_the_error_for_a_value_that_does_not_fit_names_the_type(data: bytes) -> None:
    with pytest.raises(InvalidObject, match=r"^Sized: "):
        decode(data, Sized)
    if not data.startswith(b'{"size"'):
        for kind in (kp.Dynamic, kp.Metadata):
            with pytest.raises(InvalidObject, match=f"^{kind.__name__}: "):
                decode(data, kind)


class Box(kp.Object[Sized, None], group="boxes.example.com", version="v1"):
    """A value with a size."""


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'"kind":"Box","metadata":{"name":"a","namespace":"n"},', "Box n/a"),
        (b'"metadata":{"name":"a"},', "Box a"),
        (b'"kind":"Box","metadata":{"name":7},', "Box"),
        (b"", "Box"),
    ],
)
def test_the_error_for_an_object_that_does_not_fit_names_the_object(head: bytes, name: str) -> None:
    with pytest.raises(InvalidObject, match=rf"^{name}: .*\$"):
        decode(b"{" + head + b'"spec":{"size":[]}}', Box, strict=True, resource=Box.resource)


def test_quantities_are_strings_in_json() -> None:
    assert decode(b'{"size":"1500m"}', Sized).size == Quantity.parse("1.5")
    assert decode(b'{"size":2}', Sized).size == Quantity.parse("2")
    assert encode(Sized(size=Quantity.parse("1500m"))) == b'{"size":"1500m"}'


def test_a_value_that_cannot_be_encoded_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"a object cannot be sent"):
        encode({"x": object()})


def test_plain_values_are_decoded_eagerly() -> None:
    assert decode(b'[{"size":"1"}]', list[Sized]) == [Sized(size=Quantity.parse("1"))]
    assert decode(b'{"a":null}', dict[str, Any]) == {"a": None}


def test_the_error_for_an_unresolvable_annotation_names_the_class() -> None:
    class Hidden(kp.Fields):
        x: int = 0

    class Outer(kp.Fields):
        hidden: Hidden | None = None

    with pytest.raises(
        LocalProtocolError, match=r"class .*Outer: an annotation cannot be resolved .*'Hidden'"
    ):
        decode(b"{}", Outer)

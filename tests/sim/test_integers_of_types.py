"""The bits of the integers of built-in kinds, found by field numbers, are those of the OpenAPI documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kubeproto_sim.kinds._protobuf_bodies import bits_of
from tools.kinds._api_description import PATH, children


def integer_bits(name: str, schema: Any) -> Iterator[tuple[str, str, int]]:
    group, version, struct = name.split(".")[-3:]
    for field, member_schema in schema.get("properties", {}).items():
        for nested in (member_schema, *children(member_schema)):
            if nested.get("format") in ("int32", "int64"):
                yield f"{group}_{version}.{struct}", field, int(nested["format"][3:])


def test_integers_have_the_bits_of_the_documents() -> None:
    schemas = json.loads(PATH.read_bytes())["schemas"]
    all_integers = [integer for name, schema in schemas.items() for integer in integer_bits(name, schema)]
    assert len(all_integers) > 200
    assert {(type_, field): bits_of(type_, field) for type_, field, _ in all_integers} == {
        (type_, field): bits for type_, field, bits in all_integers
    }

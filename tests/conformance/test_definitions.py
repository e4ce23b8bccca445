"""Each definition of tests and examples is established, and an object of its kind comes back unchanged."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.client import DEFINITIONS, Client, established
from conformance.definitions import Definition, found_definitions, object_of, stored_spec

DEFINITIONS_: Final = found_definitions()


def test_there_are_definitions_in_tests_and_in_examples() -> None:
    assert {location.partition("/")[0] for location in DEFINITIONS_} == {"tests", "examples"}
    assert len(DEFINITIONS_) >= 15


@pytest.mark.parametrize("location", DEFINITIONS_)
def test_a_definition_is_established_and_its_object_is_returned_unchanged(
    client: Client, location: str
) -> None:
    definition: Definition = DEFINITIONS_[location]
    # Several definitions describe the same kind differently: a separate group for each keeps them apart.
    group = f"g{list(DEFINITIONS_).index(location)}.{client.namespace}.test"
    spec = definition["spec"] | {"group": group}
    name = f"{spec['names']['plural']}.{group}"
    definition = definition | {"metadata": {"name": name}, "spec": spec}
    client.define(definition)
    stored = client.get(f"{DEFINITIONS}/{name}")
    assert established(stored)
    kind = spec["names"]["kind"]
    names = {"singular": kind.lower(), "listKind": f"{kind}List"} | spec["names"]
    assert stored["spec"] == {"conversion": {"strategy": "None"}} | stored_spec(spec) | {"names": names}
    if not any(version["served"] and version["storage"] for version in spec["versions"]):
        return  # such a definition is stored, and returns no objects
    body = object_of(definition)
    version = body["apiVersion"].rpartition("/")[2]
    home = f"/namespaces/{client.namespace}" if spec["scope"] == "Namespaced" else ""
    target = f"/apis/{group}/{version}{home}/{spec['names']['plural']}"
    client.create(target, body)
    read = client.get(f"{target}/sample")
    assert {key: value for key, value in read.items() if key != "metadata"} == {
        key: value for key, value in body.items() if key != "metadata"
    }
    client.fetch("DELETE", f"{DEFINITIONS}/{name}")

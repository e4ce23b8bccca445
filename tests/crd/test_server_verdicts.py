"""Definitions and verdicts of random classes equal those that were recorded from a real server."""

from __future__ import annotations

from typing import Any

import server_verdicts
from server_verdicts import check_spec, have_same_causes, kind_of, schema_of_kind

from kubeproto.crd.definitions._structural_checks import check_schema

SHAPES = list(server_verdicts.read_recorded_classes())


def recorded_classes() -> list[tuple[dict[str, Any], Any, Any, Any]]:
    return [(shape["schema"], *attempt) for shape in SHAPES for attempt in shape["tried"]]


def test_the_classes_have_the_schemas_that_a_server_accepted() -> None:
    for shape in SHAPES:
        kind, _ = kind_of(server_verdicts.SEED, shape["number"])
        assert schema_of_kind(kind) == shape["schema"], shape["number"]
        assert check_schema(shape["schema"]) == []


def test_every_instance_is_refused_for_the_causes_of_the_server() -> None:
    for schema, spec, causes, _ in recorded_classes():
        assert have_same_causes(check_spec(schema, spec)[0], causes), (schema, spec)


def test_accepted_instances_are_pruned_and_defaulted_like_on_the_server() -> None:
    for schema, spec, causes, stored in recorded_classes():
        if not causes:
            assert check_spec(schema, spec)[1] == stored, (schema, spec)


def test_the_record_has_thousands_of_instances_and_many_of_each_verdict() -> None:
    verdicts = [bool(causes) for _, _, causes, _ in recorded_classes()]
    assert len(verdicts) >= 5000
    assert min(verdicts.count(True), verdicts.count(False)) >= 1000

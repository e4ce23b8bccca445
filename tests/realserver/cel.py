"""Evaluates CEL rules on the real server, records the outcomes, and writes the table of docs/cel.md: ``make
cel``.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import cel_rules
import cel_table
import msgspec

import kubeproto as kp
from kubeproto.crd import CustomResourceDefinition
from kubeproto.objects import Resource, decode

from . import start
from ._real_asking import DEFINITIONS, Asker, asking

GROUP: Final = "rules.kubeproto.test"
RESOURCE: Final = Resource(GROUP, "v1", "Rule", "rules", True, "rule")
# Strings, lists and maps are bounded, so that no rule costs too much.
MOST: Final = {"string": 64, "array": 4, "object": 4}
TOGETHER: Final = 30  # rules in one definition: their total cost is limited, too
COUNT: Final = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}


def ask(asker: Asker) -> list[str]:
    """Return the outcome of each row on the server: passed, failed, or the reason of a refused rule."""
    outcomes: list[str] = []
    for first in range(0, len(cel_rules.ROWS), TOGETHER):
        rows = dict(enumerate(cel_rules.ROWS[first : first + TOGETHER]))
        refused = _refused(asker, rows)
        definition = _definition({number: row for number, row in rows.items() if number not in refused})
        asker.define(definition)
        outcomes += [
            refused[index] if index in refused else _evaluate_row(asker, index, row)
            for index, row in rows.items()
        ]
        asker.undefine(definition)
    return outcomes


def _refused(asker: Asker, rows: dict[int, Any]) -> dict[int, str]:
    """Return the refused rules, and whether their cost is the reason."""
    refusals: dict[int, str] = {}
    try:
        asker.ask(DEFINITIONS.create(_definition(rows), dry_run=True))
    except kp.Invalid as error:
        for cause in error.status.details.causes:
            number = re.search(r"properties\[f(\d+)\]", cause.field)
            if number is not None:  # another error is about the total cost
                refusals[int(number[1])] = "costs too much" if "cost" in cause.message else "rule refused"
    return refusals


def _definition(rows: dict[int, Any]) -> CustomResourceDefinition:
    properties = {
        f"f{number}": _bound_schema(schema) | {"x-kubernetes-validations": [{"rule": rule}]}
        for number, (_, schema, rule, _, _) in rows.items()
    }
    names = {"plural": "rules", "singular": "rule", "kind": "Rule", "listKind": "RuleList"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    spec = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]}
    return CustomResourceDefinition(metadata=kp.ObjectMeta(name=f"rules.{GROUP}"), spec=spec)


def _bound_schema(schema: dict[str, Any]) -> dict[str, Any]:
    schema_with_bounds = dict(schema)
    if schema.get("type") in COUNT and "properties" not in schema and "format" not in schema:
        schema_with_bounds.setdefault(COUNT[schema["type"]], MOST[schema["type"]])
    for name in ("items", "additionalProperties"):
        if name in schema:
            schema_with_bounds[name] = _bound_schema(schema[name])
    if "properties" in schema:
        schema_with_bounds["properties"] = {
            name: _bound_schema(field_schema) for name, field_schema in schema["properties"].items()
        }
    return schema_with_bounds


def _evaluate_row(asker: Asker, number: int, row: Any) -> str:
    api = kp.Api(kp.Dynamic, resource=RESOURCE, namespace="default")
    value, name = row[3], f"row-{number}"
    try:
        if isinstance(value, cel_rules.Old):
            # The old value may violate the rule, so the rule must be about updates.
            stored = asker.ask(api.create(_object(name, number, value.old)))
            changed = _object(name, number, value.value)
            changed.metadata.resource_version = stored.metadata.resource_version
            asker.ask(api.replace(changed, dry_run=True))
        else:
            asker.ask(api.create(_object(name, number, value), dry_run=True))
    except kp.Invalid:
        return cel_rules.FAILED
    return cel_rules.PASSED


def _object(name: str, number: int, value: Any) -> kp.Dynamic:
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "Rule", "metadata": {"name": name}, f"f{number}": value}
    return decode(msgspec.json.encode(obj), kp.Dynamic)


def main() -> None:
    """Record how the rules end on the server, and write the table of the documentation."""
    with (
        tempfile.TemporaryDirectory() as folder,
        start(Path(folder)) as server,
        asking(server.connection) as asker,
    ):
        outcomes = ask(asker)
    recorded = {cel_table.key(row): end for row, end in zip(cel_rules.ROWS, outcomes, strict=True)}
    cel_table.VERDICTS.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    cel_table.write(cel_rules.ROWS)
    for row, end in zip(cel_rules.ROWS, outcomes, strict=True):
        if row[4] in (cel_rules.PASSED, cel_rules.FAILED) and row[4] != end:
            sys.stdout.write(f"{row[1:4]}: {row[4]} here, {end} there\n")
    sys.stdout.write(f"{len(outcomes)} rules\n")


if __name__ == "__main__":
    main()

"""The recorded verdicts of a real server on random instances of random classes, and our verdicts."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import random_shapes

import kubeproto as kp
from kubeproto.crd import apply_defaults, definition_of, prune, validate

VERDICTS: Final = Path(__file__).parent / "server_verdicts.jsonl.gz"
SEED: Final = "17"
UNREADABLE: Final = "cannot be read"

Json = dict[str, Any]
Causes = list[list[str]]


def kind_of(seed: str, number: int) -> tuple[type[kp.KubeObject], random_shapes.Instances]:
    """Return the random class of this number, and the generator of its instances."""
    rng = random.Random(f"{seed}/{number}")
    return random_shapes.KindGenerator(rng).kind(f"Shape{number}"), random_shapes.Instances(rng)


def schema_of_kind(kind: type[kp.KubeObject]) -> Json:
    """Return the schema in the definition of a kind as plain JSON."""
    schema: Json = json.loads(
        json.dumps(definition_of(kind).spec["versions"][0]["schema"]["openAPIV3Schema"])
    )
    return schema


def instances(make: random_shapes.Instances, schema: Json, count: int) -> list[Json]:
    """Generate `count` specs; two of three are invalid on purpose."""
    specs: list[Json] = []
    while len(specs) < count:
        spec = make.of(schema["properties"]["spec"])
        specs += [spec, make.broken(spec), make.broken(spec)]
    return specs[:count]


def check_spec(schema: Json, spec: Json) -> tuple[Causes, Any]:
    """Return the causes for which we refuse a spec, and the spec that would be stored."""
    obj = {"spec": copy.deepcopy(spec)}
    prune(schema, obj)
    apply_defaults(schema, obj)
    return causes(validate(schema, obj)), obj.get("spec")


def have_same_causes(local_causes: Causes, server_causes: Causes) -> bool:
    """Compare causes. The server names only a single field of a spec that it cannot decode."""
    if server_causes and server_causes[0][0] == UNREADABLE:
        return any(server_causes[0][1].startswith(f"{field}: ") for field, _ in local_causes)
    return local_causes == server_causes


def causes(violations: Any) -> Causes:
    """Return the sorted fields and messages of violations, or of the causes in a Status."""
    return sorted([violation.field, violation.message] for violation in violations)


def read_recorded_classes() -> Iterator[Json]:
    """Yield each class: its number, its schema, and its specs with the server's causes and result."""
    with gzip.open(VERDICTS, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def record(shapes: list[Json]) -> None:
    """Write the verdicts of a server."""
    with VERDICTS.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as lines:
        for shape in shapes:
            lines.write(json.dumps(shape).encode() + b"\n")

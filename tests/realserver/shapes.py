"""Sends instances of random classes to the real server, and records the verdicts: ``make verdicts``.

``make verdicts ARGS=SEED`` uses other classes, and only prints the differences.
"""

from __future__ import annotations

import collections
import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import server_verdicts

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.objects import decode

from . import start
from ._real_asking import DEFINITIONS, Asker, asking

SHAPES: Final = 30
INSTANCES: Final = 180  # of each


def ask(asker: Asker, seed: str, shapes: int, count: int) -> Iterator[dict[str, Any]]:
    """Return the verdicts on instances of this many classes."""
    created: dict[int, Any] = {}
    # All at once, since the server needs time for each.
    for number in itertools.count():
        kind, make = server_verdicts.kind_of(seed, number)
        if len(created) == shapes:
            break
        if _define(asker, kind):
            created[number] = kind, make
    try:
        for number, (kind, make) in created.items():
            asker.await_served(definition_of(kind))
            schema = server_verdicts.schema_of_kind(kind)
            api = kp.Api(kp.Dynamic, resource=kind.resource, namespace="default")
            specs = server_verdicts.instances(make, schema, count)
            yield {
                "number": number,
                "schema": schema,
                "tried": [[spec, *_ask_about(asker, api, kind, spec)] for spec in specs],
            }
    finally:
        for kind, _ in created.values():
            asker.ask(DEFINITIONS.delete(definition_of(kind).metadata.name))


def _define(asker: Asker, kind: type[kp.KubeObject]) -> bool:
    """Send the definition of a class, ignoring the cost of rules in unbounded lists."""
    try:
        asker.ask(DEFINITIONS.create(definition_of(kind)))
    except kp.Invalid as error:
        if not all("cost" in cause.message for cause in error.status.details.causes):
            raise
        return False
    return True


def _ask_about(asker: Asker, api: Any, kind: type[kp.KubeObject], spec: Any) -> tuple[Any, Any]:
    """Return the sorted causes of a refusal, and the spec that would have been stored."""
    resource = kind.resource
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}, "spec": spec}
    try:
        stored = asker.ask(api.create(decode(msgspec.json.encode(obj), kp.Dynamic), dry_run=True))
    except kp.Invalid as error:
        return server_verdicts.causes(error.status.details.causes), None
    except kp.BadRequest as error:  # a value that is no object is refused before any rule, without causes
        return [[server_verdicts.UNREADABLE, error.status.message.partition(": ")[2]]], None
    return [], stored.get("spec")


def differences(shape: dict[str, Any]) -> list[str]:
    """Return the differences between our verdicts and the server's on the instances of a class."""
    lines: list[str] = []
    for spec, causes, stored in shape["tried"]:
        local_causes, stored_here = server_verdicts.check_spec(shape["schema"], spec)
        if not server_verdicts.have_same_causes(local_causes, causes):
            extra = [cause for cause in local_causes if cause not in causes]
            missing = [cause for cause in causes if cause not in local_causes]
            lines.append(f"{shape['number']}: {spec}: only here {extra}, only there {missing}")
        elif not causes and stored_here != stored:
            lines.append(f"{shape['number']}: {spec}: stored as {stored_here} here, {stored} there")
    return lines


def main(seed: str) -> None:
    """Print the differences, or record the verdicts for the seed of `make test`."""
    verdicts: collections.Counter[bool] = collections.Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        start(Path(folder)) as server,
        asking(server.connection) as asker,
    ):
        shapes = list(ask(asker, seed, SHAPES, INSTANCES))
    for shape in shapes:
        verdicts.update(not causes for _, causes, _ in shape["tried"])
        for difference in differences(shape):
            sys.stdout.write(f"{difference}\n")
    if seed == server_verdicts.SEED:
        server_verdicts.record(shapes)
    sys.stdout.write(f"{verdicts[True]} taken, {verdicts[False]} refused\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else server_verdicts.SEED)

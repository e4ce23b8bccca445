"""Generate the simulator's builtin.json: ``make probe`` explores a real server, in about two minutes."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

from kubeproto.kinds import kind_table
from kubeproto.wire import BlockingTransport, RawRequest
from kubeproto_httpx import BlockingHttpxTransport
from tools.probing.explore import Ask, Explorer
from tools.probing.minimal import MINIMAL, minimal
from tools.probing.notes import Observations
from tools.probing.tables import tables_of

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = ROOT / "simulator/kubeproto_sim/kinds/builtin.json"
COLUMNS: Final = ROOT / "simulator/kubeproto_sim/columns.json"
AS_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
GENERATED: Final = "by `make probe`, from the responses of a real kube-apiserver; do not edit"


def object_sender(transport: BlockingTransport, target: str) -> Ask:
    """Return a function that sends an object as a dry run, and returns the status and the response."""

    def ask(obj: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        request = RawRequest(
            "POST",
            f"{target}?dryRun=All&fieldManager=probe",
            (("Content-Type", "application/json"), ("Accept", "application/json")),
            msgspec.json.encode(obj),
        )
        with transport.send(request, timeout=60.0) as response:
            body = b"".join(response)
        return response.status, msgspec.json.decode(body) if body[:1] == b"{" else {}

    return ask


def explore(transport: BlockingTransport) -> Observations:
    """Explore every kind that can be created."""
    observations, explored = Observations(), set[str]()
    for builtin in kind_table().resources:
        resource = builtin.resource
        full_name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        if full_name in MINIMAL:
            namespace_path = "/namespaces/default" if resource.namespaced else ""
            root = "apis" if resource.group else "api"
            target = f"/{root}/{resource.api_version}{namespace_path}/{resource.plural}"
            sys.stdout.write(f"{full_name}\n")
            send_object = object_sender(transport, target)
            Explorer(send_object, builtin.type, observations, explored).run(
                minimal(full_name, resource.api_version, resource.kind)
            )
    return observations


def columns_of(transport: BlockingTransport) -> dict[str, Any]:
    """Return the columns of every kind that can be listed, by full name."""
    columns: dict[str, Any] = {}
    for builtin in kind_table().resources:
        resource = builtin.resource
        full_name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        if "list" in resource.verbs and full_name not in columns:
            root = "apis" if resource.group else "api"
            target = f"/{root}/{resource.api_version}/{resource.plural}?limit=1"
            with transport.send(RawRequest("GET", target, (("Accept", AS_TABLE),)), timeout=60.0) as response:
                columns[full_name] = msgspec.json.decode(b"".join(response))["columnDefinitions"]
    return columns


def text_of(tables: dict[str, Any]) -> str:
    """Return the table as the text of the file: a line for each type."""
    parts = [f'{{"generated":{json.dumps(GENERATED)}']
    for part, types in tables.items():
        rows = ",\n".join(
            f"{json.dumps(type_)}:{json.dumps(fields, separators=(',', ':'), ensure_ascii=False)}"
            for type_, fields in types.items()
        )
        parts.append(f'"{part}":{{\n{rows}\n}}')
    return ",\n".join(parts) + "}\n"


def main() -> None:
    """Start a real server, explore it, and write the table."""
    sys.path.insert(0, str(ROOT / "tests"))
    # Imported by name: type checkers do not search this folder.
    start: Callable[[Path], AbstractContextManager[Any]] = import_module("realserver._real_server").start

    with (
        tempfile.TemporaryDirectory() as folder,
        start(Path(folder)) as server,
        BlockingHttpxTransport(server.connection) as transport,
    ):
        observations = explore(transport)
        columns = columns_of(transport)
    COLUMNS.write_text(text_of({"columns": columns}))
    TABLE.write_text(text_of(tables_of(observations)))


if __name__ == "__main__":
    main()

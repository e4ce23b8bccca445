"""Write the simulator's builtin.json again: ``make probe`` asks a real server, in about two minutes."""

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

from kubeproto.kinds import table
from kubeproto.wire import BlockingTransport, Head
from kubeproto_httpx import BlockingHttpxTransport
from tools.probing.explore import Ask, Explorer
from tools.probing.minimal import MINIMAL, minimal
from tools.probing.notes import Notes
from tools.probing.tables import tables_of

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = ROOT / "simulator/kubeproto_sim/kinds/builtin.json"
COLUMNS: Final = ROOT / "simulator/kubeproto_sim/columns.json"
AS_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
GENERATED: Final = "by `make probe`, from the responses of a real kube-apiserver; do not edit"


def asking(transport: BlockingTransport, target: str) -> Ask:
    """Sends an object to a server as a dry run: the status and the decoded answer."""

    def ask(obj: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        head = Head(
            "POST",
            f"{target}?dryRun=All&fieldManager=probe",
            (("Content-Type", "application/json"), ("Accept", "application/json")),
            msgspec.json.encode(obj),
        )
        with transport.send(head, timeout=60.0) as got:
            body = b"".join(got)
        return got.status, msgspec.json.decode(body) if body[:1] == b"{" else {}

    return ask


def explore(transport: BlockingTransport) -> Notes:
    """Explore every kind that can be created."""
    notes, explored = Notes(), set[str]()
    for facts in table().resources:
        resource = facts.resource
        full_name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        if full_name in MINIMAL:
            home = "/namespaces/default" if resource.namespaced else ""
            root = "apis" if resource.group else "api"
            target = f"/{root}/{resource.api_version}{home}/{resource.plural}"
            sys.stdout.write(f"{full_name}\n")
            asked = asking(transport, target)
            Explorer(asked, facts.type, notes, explored).run(
                minimal(full_name, resource.api_version, resource.kind)
            )
    return notes


def columns_of(transport: BlockingTransport) -> dict[str, Any]:
    """The columns of every kind that can be listed, by its full name."""
    found: dict[str, Any] = {}
    for facts in table().resources:
        resource = facts.resource
        full_name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        if "list" in resource.verbs and full_name not in found:
            root = "apis" if resource.group else "api"
            target = f"/{root}/{resource.api_version}/{resource.plural}?limit=1"
            with transport.send(Head("GET", target, (("Accept", AS_TABLE),)), timeout=60.0) as got:
                found[full_name] = msgspec.json.decode(b"".join(got))["columnDefinitions"]
    return found


def text_of(tables: dict[str, Any]) -> str:
    """The table as a file: one line a type."""
    parts = [f'{{"generated":{json.dumps(GENERATED)}']
    for part, types in tables.items():
        rows = ",\n".join(
            f"{json.dumps(type_)}:{json.dumps(held, separators=(',', ':'), ensure_ascii=False)}"
            for type_, held in types.items()
        )
        parts.append(f'"{part}":{{\n{rows}\n}}')
    return ",\n".join(parts) + "}\n"


def main() -> None:
    """Start a real server, explore it, and write the table."""
    sys.path.insert(0, str(ROOT / "tests"))
    # Its folder is on no path that a checker knows.
    start: Callable[[Path], AbstractContextManager[Any]] = import_module("realserver._real_server").start

    with (
        tempfile.TemporaryDirectory() as folder,
        start(Path(folder)) as server,
        BlockingHttpxTransport(server.connection) as transport,
    ):
        notes = explore(transport)
        columns = columns_of(transport)
    COLUMNS.write_text(text_of({"columns": columns}))
    TABLE.write_text(text_of(tables_of(notes)))


if __name__ == "__main__":
    main()

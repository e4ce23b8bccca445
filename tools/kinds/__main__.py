"""Write the built-in kinds anew: `make kinds`, or `python -m tools.kinds --server http://127.0.0.1:8001`."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kubeproto.kinds import ReleaseDifferences
from kubeproto.kinds._module_source import write
from tools.kinds import _facts, _releases, _table
from tools.kinds._modules import modules_of
from tools.kinds._server import from_folder, from_server

KINDS: Final = Path(__file__).resolve().parents[2] / "kubeproto" / "kinds"


def files_of(facts: _facts.Json, releases: Mapping[str, ReleaseDifferences]) -> dict[str, bytes]:
    """All generated files, by name."""
    table = _table.table_of(facts, releases)
    classes = modules_of(_releases.with_dropped_fields(table))
    modules = {f"{name}.py": write(module).encode() for name, module in classes.items()}
    return {**modules, "table.json": _table.dump(table)}


def generate(facts: _facts.Json, releases: Mapping[str, ReleaseDifferences], into: Path) -> list[str]:
    """Write the files that differ, drop modules of group-versions that are no more; the names of both."""
    files = files_of(facts, releases)
    changed = [
        name
        for name, text in sorted(files.items())
        if not (into / name).exists() or (into / name).read_bytes() != text
    ]
    for name in changed:
        (into / name).write_bytes(files[name])
    gone = [path for path in sorted(into.glob("*_v*.py")) if path.name not in files]
    for path in gone:
        path.unlink()
    return [*changed, *(path.name for path in gone)]


def main() -> None:
    """Read the facts, from a server or a folder if told so, and write the modules."""
    parser = argparse.ArgumentParser(prog="python -m tools.kinds", description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--server", help="renew the facts from this API server; try `kubectl proxy`")
    source.add_argument("--documents", type=Path, help="renew them from a folder of documents")
    parser.add_argument("--kubernetes", help="the version of --documents")
    parser.add_argument("--facts", type=Path, default=_facts.FACTS, help="where the facts are kept")
    parser.add_argument("--into", type=Path, default=KINDS, help="the folder of the modules")
    said = parser.parse_args()
    if said.documents and not said.kubernetes:
        parser.error("--documents do not tell their version: say --kubernetes 1.36.3")
    if said.server or said.documents:
        found = from_server(said.server) if said.server else from_folder(said.documents, said.kubernetes)
        said.facts.write_text(_facts.dump(found))
    changed = generate(json.loads(said.facts.read_bytes()), _releases.read(), said.into)
    print("\n".join(changed) or "nothing to change")


if __name__ == "__main__":
    main()

"""Generate the built-in kinds: `make kinds`, or `python -m tools.kinds --server http://127.0.0.1:8001`."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kubeproto.kinds import ReleaseDifferences
from kubeproto.kinds._module_source import write
from tools.kinds import _api_description, _kind_table, _release_differences
from tools.kinds._description_sources import from_folder, from_server
from tools.kinds._kind_modules import modules_of

KINDS: Final = Path(__file__).resolve().parents[2] / "kubeproto" / "kinds"


def files_of(
    description: _api_description.Json, releases: Mapping[str, ReleaseDifferences]
) -> dict[str, bytes]:
    """Return the content of all generated files by name."""
    table = _kind_table.table_of(description, releases)
    classes = modules_of(_release_differences.with_dropped_fields(table))
    modules = {f"{name}.py": write(module).encode() for name, module in classes.items()}
    return {**modules, "table.json": _kind_table.dump(table)}


def generate(
    description: _api_description.Json, releases: Mapping[str, ReleaseDifferences], into: Path
) -> list[str]:
    """Write the files that differ, delete modules of missing group versions, and return the names of both."""
    files = files_of(description, releases)
    changed_names = [
        name
        for name, content in sorted(files.items())
        if not (into / name).exists() or (into / name).read_bytes() != content
    ]
    for name in changed_names:
        (into / name).write_bytes(files[name])
    obsolete_paths = [path for path in sorted(into.glob("*_v*.py")) if path.name not in files]
    for path in obsolete_paths:
        path.unlink()
    return [*changed_names, *(path.name for path in obsolete_paths)]


def main() -> None:
    """Read the description, from a server or a folder if an option names it, and write the modules."""
    parser = argparse.ArgumentParser(prog="python -m tools.kinds", description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--server", help="read the description from this API server; try `kubectl proxy`")
    source.add_argument("--documents", type=Path, help="read the description from a folder of documents")
    parser.add_argument("--kubernetes", help="the version of --documents")
    parser.add_argument(
        "--description", type=Path, default=_api_description.PATH, help="the file of the description"
    )
    parser.add_argument("--into", type=Path, default=KINDS, help="the folder of the modules")
    options = parser.parse_args()
    if options.documents and not options.kubernetes:
        parser.error("--documents requires the version of the documents, such as --kubernetes 1.36.3")
    if options.server:
        options.description.write_text(_api_description.dump(from_server(options.server)))
    elif options.documents:
        description = from_folder(options.documents, options.kubernetes)
        options.description.write_text(_api_description.dump(description))
    description = json.loads(options.description.read_bytes())
    changed_names = generate(description, _release_differences.read(), options.into)
    print("\n".join(changed_names) or "All files are up to date.")


if __name__ == "__main__":
    main()

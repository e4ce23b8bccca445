"""A name has one meaning: names that two packages export, and classes that share a name, have a reason."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from pathlib import Path
from typing import Final

from test_public_names import MODULES, ROOT

# States, events and actions of a machine are used qualified (`election.Failed`), and are unique in their
# module.
MACHINES: Final = {
    "kubeproto.config.credentials": ("_credentials_values",),
    "kubeproto.control.certificates": (),
    "kubeproto.control.election": ("_election_values", "_election_lease"),
    "kubeproto.control.finalizers": (),
    "kubeproto_sim.nodes.node_health": (),
    "kubeproto_sim.nodes.pod_lifecycle": ("_pod_values",),
    "kubeproto.watching.log_tail": ("_log_cursor",),
    "kubeproto.watching.pager": (),
    "kubeproto.watching.resync": ("_resync_values", "_resync_requests", "_resync_pace"),
    "kubeproto_h11.pool": (),
}

# Names of the same idea at two layers, and the reason why they are not confused.
PERMITTED: Final[dict[str, str]] = {
    "Index": "a node of CEL's syntax tree, and an index of a cache",
    "Timeout": "the error of a 504, and the annotation of what a caller may give as a timeout",
}

# Exported names with two meanings; predicates are used qualified.
PERMITTED_EXPORTS: Final[dict[str, str]] = {
    "finalizers": "the machine that puts a finalizer in, and the predicate `predicates.finalizers`",
}


def classes(path: Path) -> set[str]:
    """Return the classes and type aliases of a module, except private ones."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                names.add(name)
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


def of_a_machine(module: str) -> bool:
    home, _, leaf = module.rpartition(".")
    return module in MACHINES or any(
        leaf in values and machine.rpartition(".")[0] == home for machine, values in MACHINES.items()
    )


def modules() -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for home in (
        ROOT / "kubeproto",
        *ROOT.glob("transports/*"),
        *ROOT.glob("runtime/*"),
        *ROOT.glob("simulator/*"),
    ):
        for path in sorted(home.rglob("*.py")):
            generated = path.parent.name == "kinds" and "_v" in path.stem
            if not generated:
                paths[".".join(path.relative_to(home.parent).with_suffix("").parts)] = path
    return paths


def test_class_names_are_unique_except_with_a_reason() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module, path in modules().items():
        if not of_a_machine(module):
            for name in classes(path):
                homes[name].append(module)
    shared = {
        name: sorted(modules_of_name) for name, modules_of_name in homes.items() if len(modules_of_name) > 1
    }
    assert {name: modules_of_name for name, modules_of_name in shared.items() if name not in PERMITTED} == {}
    assert PERMITTED.keys() - shared.keys() == set()


def test_an_exported_name_has_one_meaning() -> None:
    meanings: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for name in MODULES.keys() - MACHINES.keys():
        if name.startswith("kubeproto.kinds."):
            continue
        module = importlib.import_module(name)
        for export in getattr(module, "__all__", ()):
            meanings[export].setdefault(id(getattr(module, export)), name)
    twice = {name: sorted(exporters.values()) for name, exporters in meanings.items() if len(exporters) > 1}
    assert {name: exporters for name, exporters in twice.items() if name not in PERMITTED_EXPORTS} == {}
    assert PERMITTED_EXPORTS.keys() - twice.keys() == set()


def test_a_name_of_a_machine_is_unique_in_its_module() -> None:
    for machine, values in MACHINES.items():
        home = machine.rpartition(".")[0]
        paths = modules()
        owners = [machine, *(f"{home}.{value}" for value in values)]
        states = [name for owner in owners for name in classes(paths[owner]) if owner in paths]
        exported = importlib.import_module(machine).__all__
        assert len(set(exported)) == len(exported)
        assert {name for name in states if name in exported and states.count(name) > 1} == set()

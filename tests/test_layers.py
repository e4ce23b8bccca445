"""The layers hold: permitted imports, purity of the core, and a violation of each contract."""

from __future__ import annotations

import ast
import configparser
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
CONTRACTS: Final = configparser.ConfigParser()
CONTRACTS.read(ROOT / ".importlinter")
IMPURE: Final = frozenset(CONTRACTS["importlinter:contract:pure"]["forbidden_modules"].split())

# The core needs msgspec. Only a single module imports the package of an extra, at its first use.
CORE_NEEDS: Final = frozenset(
    {"kubeproto", "msgspec", "annotationlib"}
)  # annotationlib belongs to Python 3.14
PURE: Final = ("kubeproto", "kubeproto_h11", "kubeproto_sim")
SOURCE_ROOTS: Final = ("", "runtime", "simulator", "transports")
# Only type checkers read typing_extensions; a contract forbids importing it.
EXTRAS: Final = {"yaml": 1, "pytest": 1, "typing_extensions": 1}

# Calls that read a clock, a file or a terminal without an import that a contract could see.
CLOCKS: Final = frozenset({"now", "today", "utcnow"})
TERMINALS: Final = frozenset({"open", "input", "print", "breakpoint"})

# A search of the text excludes most modules, which call none of them.
_SUSPECT: Final = re.compile(rf"\b(?:{'|'.join(sorted(TERMINALS | CLOCKS))})\s*\(")

# `import kubeproto` must cost little more than msgspec.
HEAVY: Final = frozenset(
    {"dataclasses", "decimal", "fractions", "inspect", "typing_extensions", "yaml", "zlib"}
)


def distributions(root: Path) -> dict[str, Path]:
    """Return the packages of the project by their import names."""
    homes = [root / "kubeproto", *(home for top in SOURCE_ROOTS[1:] for home in (root / top).glob("*"))]
    return {home.name: home for home in homes if (home / "__init__.py").exists()}


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield every module of the project: its dotted name and its path."""
    for home in distributions(root).values():
        for path in sorted(home.rglob("*.py")):
            parts = path.relative_to(home.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def tree(source: str) -> ast.Module:
    """Return the parsed source, which all rules use."""
    return ast.parse(source)


def imports(name: str, path: Path) -> tuple[tuple[str, int], ...]:
    """Return each imported name in full, `a.b.c` for `from a.b import c`, with its line."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return imports_of(package, path.read_text())


@cache
def imports_of(package: str, source: str) -> tuple[tuple[str, int], ...]:
    return tuple(_imports(package, source))


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield each statement of a block and its inner blocks, without expressions, which are most of a tree."""
    for node in body:
        yield node
        for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, inside, ()))


def _imports(package: str, source: str) -> Iterator[tuple[str, int]]:
    if "import" not in source:
        return
    for node in statements(tree(source).body):
        match node:
            case ast.Import():
                yield from ((alias.name, node.lineno) for alias in node.names)
            case ast.ImportFrom(level=level, module=module):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
            case _:
                pass


def private_imports_of_others(root: Path) -> list[str]:
    """Return imports of an `_x` module of another package; a part of the core counts as a package.

    Modules directly in `kubeproto/` (such as the error tree) belong to all of the core, and so does `_shared`
    of a part. Outside of the core a distribution counts as a package.
    """
    violations: list[str] = []
    packages = distributions(root)
    outside = [
        (f"{path.parent.name}.{path.stem}", path)
        for folder in ("examples", "benchmarks")
        for path in sorted((root / folder).rglob("*.py"))
    ]
    for name, path in [*modules(root), *outside]:
        for target, line in imports(name, path):
            parts = target.split(".")
            private = next((index for index, part in enumerate(parts) if part.startswith("_")), None)
            if private is None or parts[0] not in packages:
                continue
            owner = parts[: min(private, 2)] if parts[0] == "kubeproto" else parts[:1]
            if parts[0] == "kubeproto" and parts[private] == "_shared":
                owner = parts[:1]
            if name.split(".")[: len(owner)] != owner:
                violations.append(f"{path.relative_to(root)}:{line} imports {target}")
    return violations


def forbidden_package_imports(root: Path) -> list[str]:
    """Return imports between the packages of the project that the layers forbid.

    Every package may use the core, and every package except the core may use kubeproto_h11, which is pure
    too. Only transports use kubeproto_sockets. No package uses a transport, as transports are found by entry
    point. Tools for tests use the simulator. Only the command line uses all packages, and no package uses it.
    """
    violations: list[str] = []
    packages = distributions(root).keys()
    for name, path in modules(root):
        package = name.split(".")[0]
        allowed = {package, "kubeproto", "kubeproto_h11"} if package != "kubeproto" else {package}
        if package in ("kubeproto_asyncio", "kubeproto_httpx", "kubeproto_trio"):
            allowed |= {"kubeproto_sockets"}
        if package == "kubeproto_sockets":
            allowed -= {"kubeproto_h11"}
        if package == "kubeproto_serve" or name.startswith("kubeproto_runtime.testing"):
            allowed |= {"kubeproto_sim"}
        if package == "kubeproto_sim":
            allowed -= {"kubeproto_h11"}
        if package == "kubeproto_cli":
            allowed |= {"kubeproto_runtime", "kubeproto_serve", "kubeproto_sim"}
        violations += [
            f"{path.relative_to(root)}:{line} imports {target}"
            for target, line in imports(name, path)
            if target.split(".")[0] in packages - allowed
        ]
    return violations


def impurities(root: Path) -> list[str]:
    """Return I/O in the core, the HTTP/1.1 machine or the simulator."""
    violations: list[str] = []
    for name, path in modules(root):
        # A command line is a program around the core.
        if name.split(".")[0] not in PURE or path.stem == "__main__":
            continue
        reached = [
            (f"imports {target}", line)
            for target, line in imports(name, path)
            # urllib.parse is pure, its neighbours are not.
            if target.split(".")[0] in IMPURE - {"h11"}
            or target.startswith(("urllib.request", "urllib.robot"))
        ]
        source = path.read_text()
        for node in ast.walk(tree(source)) if _SUSPECT.search(source) else ():
            match node:
                case ast.Call(func=ast.Name(id=function)) if function in TERMINALS:
                    reached.append((f"calls {function}()", node.lineno))
                case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime" | "date"), attr=attr)) if (
                    attr in CLOCKS
                ):
                    reached.append((f"reads the clock by .{attr}()", node.lineno))
                case _:
                    pass
        violations += [f"{path.relative_to(root)}:{line} {action}" for action, line in reached]
    return violations


def third_party_imports_of_core(root: Path) -> list[str]:
    """Return third-party imports of the core: only msgspec is allowed, and each extra in a single module."""
    used: dict[str, list[str]] = {}
    for name, path in modules(root):
        if name.split(".")[0] == "kubeproto":
            for target, line in imports(name, path):
                top = target.split(".")[0]
                if top not in CORE_NEEDS and top not in sys.stdlib_module_names:
                    used.setdefault(top, []).append(f"{path.relative_to(root)}:{line} imports {target}")
    return [
        location_of_import
        for top, places in used.items()
        if len({location.split(":")[0] for location in places}) > EXTRAS.get(top, 0)
        for location_of_import in places
    ]


def test_the_core_reads_no_clock_opens_no_file_and_prints_nothing() -> None:
    assert impurities(ROOT) == []


def test_the_core_depends_only_on_msgspec() -> None:
    assert third_party_imports_of_core(ROOT) == []


def test_no_package_imports_private_modules_of_another_package() -> None:
    assert private_imports_of_others(ROOT) == []


def test_no_package_imports_a_transport_or_another_package_beside_the_core() -> None:
    assert forbidden_package_imports(ROOT) == []


def test_every_package_of_the_project_is_in_a_contract() -> None:
    assert set(CONTRACTS["importlinter"]["root_packages"].split()) == set(distributions(ROOT))


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for _, path in modules(ROOT)
        if (text := path.read_text().strip()) and not text.startswith(('"""', 'r"""'))
    ]
    assert silent == []


def loaded_modules(*names: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after these imports."""
    program = f"import {', '.join(('sys', 'json', *names))}; print(json.dumps(list(sys.modules)))"
    completed = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(completed.stdout))


def test_importing_kubeproto_loads_no_heavy_module_and_no_io() -> None:
    # msgspec loads some of them itself, and the interpreter loads `os` and `time`.
    assert (loaded_modules("kubeproto") - loaded_modules("msgspec")) & (IMPURE | HEAVY) == set()


def test_no_part_of_the_core_loads_a_module_that_does_io() -> None:
    parts = [f"kubeproto.{home.parent.name}" for home in sorted((ROOT / "kubeproto").glob("*/__init__.py"))]
    assert parts
    # The standard library may need files and random numbers itself; sockets and threads would be ours.
    loud = IMPURE - loaded_modules() - {"glob", "pathlib", "platform", "random", "secrets"}
    assert (loaded_modules(*parts) - loaded_modules("msgspec")) & loud == set()


# Each rule is broken once, in a project of empty packages.

PARTS: Final = [home.parent.name for home in sorted((ROOT / "kubeproto").glob("*/__init__.py"))]


@pytest.fixture
def empty_project(tmp_path: Path) -> Path:
    for part in ("", *PARTS):
        (tmp_path / "kubeproto" / part).mkdir(exist_ok=True)
        (tmp_path / "kubeproto" / part / "__init__.py").touch()
    for module in ("_api_errors", "_deferred", "_errors", "_pacing", "_patterns", "_reasons", "yaml"):
        (tmp_path / "kubeproto" / f"{module}.py").touch()
    for transport in ("h11", "httpx", "sockets", "trio"):
        package = f"transports/kubeproto_{transport}"
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "kubeproto" / "objects" / "_shared.py").touch()
    (tmp_path / "runtime" / "kubeproto_cli").mkdir(parents=True)
    (tmp_path / "runtime" / "kubeproto_cli" / "__init__.py").touch()
    for folder in ("", "client", "caches", "operator"):
        (tmp_path / "runtime" / "kubeproto_runtime" / folder).mkdir(parents=True)
        (tmp_path / "runtime" / "kubeproto_runtime" / folder / "__init__.py").touch()
    for folder in ("cel", "definitions"):
        (tmp_path / "kubeproto" / "crd" / folder).mkdir()
        (tmp_path / "kubeproto" / "crd" / folder / "__init__.py").touch()
    simulator = tmp_path / "simulator" / "kubeproto_sim"
    for folder in ("", "storage", "serving", "workloads", "workloads/jobs", "workloads/services"):
        (simulator / folder).mkdir(parents=True)
        (simulator / folder / "__init__.py").touch()
    (simulator / "workloads" / "services" / "_endpoints_controller.py").touch()
    (tmp_path / "simulator" / "kubeproto_serve").mkdir()
    (tmp_path / "simulator" / "kubeproto_serve" / "__init__.py").touch()
    (tmp_path / "kubeproto" / "crd" / "definitions" / "_definition_reading.py").touch()
    return tmp_path


def lint_imports(root: Path) -> str:
    """Return the report of import-linter on that project under the project's contracts."""
    contracts = (ROOT / ".importlinter").read_text()
    (root / ".importlinter").write_text(contracts)
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    roots = os.pathsep.join(str(root / folder) for folder in SOURCE_ROOTS)
    environment = {**os.environ, "PYTHONPATH": roots}
    completed = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    return " ".join(completed.stdout.split())


def test_a_project_of_empty_packages_keeps_every_rule(empty_project: Path) -> None:
    assert " 0 broken" in lint_imports(empty_project)
    assert impurities(empty_project) == third_party_imports_of_core(empty_project) == []
    assert private_imports_of_others(empty_project) == forbidden_package_imports(empty_project) == []


@pytest.mark.parametrize(
    ("contract", "path", "code"),
    [
        ("pure", "kubeproto/wire/_pool.py", "import socket"),
        ("pure", "kubeproto/control/_queue.py", "def f():\n    from random import random\n"),
        ("cheap", "kubeproto/objects/_object_meta.py", "from dataclasses import dataclass"),
        ("core-layers", "kubeproto/objects/_object_meta.py", "from ..requests import Api"),
        ("core-layers", "kubeproto/kinds/apps_v1.py", "import kubeproto.wire"),
        ("core-layers", "kubeproto/topmost/__init__.py", ""),
        ("shared", "runtime/kubeproto_runtime/client/_read.py", "from kubeproto.objects._shared import LONG"),
        ("runtime-layers", "runtime/kubeproto_runtime/client/_run.py", "from ..operator import Operator"),
        ("sim-layers", "simulator/kubeproto_sim/storage/_watch.py", "from ..serving import Server"),
        (
            "workloads-layers",
            "simulator/kubeproto_sim/workloads/jobs/_job_sync.py",
            "from ..services import _endpoints_controller",
        ),
        (
            "crd-layers",
            "kubeproto/crd/cel/_rule_outcomes.py",
            "from ..definitions import _definition_reading",
        ),
        ("kinds-on-demand", "kubeproto/control/_events.py", "from kubeproto.kinds import events_v1"),
    ],
)
def test_a_broken_contract_is_named(empty_project: Path, contract: str, path: str, code: str) -> None:
    (empty_project / path).parent.mkdir(exist_ok=True)
    (empty_project / path).write_text(code)
    sentence = CONTRACTS[f"importlinter:contract:{contract}"]["name"]
    assert f"{sentence} BROKEN" in lint_imports(empty_project)


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        (impurities, "kubeproto/control/_lease.py", "import datetime\ndatetime.now()"),
        (impurities, "kubeproto/config/_load.py", "open('config')"),
        (impurities, "kubeproto/wire/_pool.py", "from urllib.request import urlopen"),
        (impurities, "transports/kubeproto_h11/_machine.py", "import socket"),
        (impurities, "simulator/kubeproto_sim/_cluster.py", "import time"),
        (
            private_imports_of_others,
            "simulator/kubeproto_sim/_run.py",
            "from kubeproto.objects._names import x",
        ),
        (forbidden_package_imports, "simulator/kubeproto_sim/_run.py", "import kubeproto_h11"),
        (forbidden_package_imports, "kubeproto/wire/_run.py", "import kubeproto_sim"),
        (forbidden_package_imports, "runtime/kubeproto_runtime/_run.py", "from kubeproto_sim import Cluster"),
        (third_party_imports_of_core, "kubeproto/objects/_time.py", "import dateutil"),
        (private_imports_of_others, "kubeproto/requests/_api.py", "from ..objects._meta import ObjectMeta"),
        (private_imports_of_others, "kubeproto/requests/_api.py", "from ..objects import _meta"),
        (private_imports_of_others, "runtime/kubeproto_runtime/_run.py", "import kubeproto._errors"),
        (
            private_imports_of_others,
            "runtime/kubeproto_runtime/_run.py",
            "from kubeproto.objects._shared import LONG",
        ),
        (private_imports_of_others, "examples/book.py", "from kubeproto.wire._transport import RawRequest"),
        (forbidden_package_imports, "kubeproto/wire/_transport.py", "import kubeproto_trio"),
        (forbidden_package_imports, "transports/kubeproto_httpx/_opening.py", "import kubeproto_trio"),
        (forbidden_package_imports, "transports/kubeproto_h11/_machine.py", "import kubeproto_trio"),
        (forbidden_package_imports, "transports/kubeproto_trio/_opening.py", "import kubeproto_runtime"),
        (forbidden_package_imports, "transports/kubeproto_h11/_machine.py", "import kubeproto_sockets"),
        (forbidden_package_imports, "transports/kubeproto_sockets/_tls.py", "import kubeproto_h11"),
        (
            forbidden_package_imports,
            "runtime/kubeproto_runtime/_run.py",
            "from kubeproto_httpx import HttpxTransport",
        ),
        (forbidden_package_imports, "runtime/kubeproto_runtime/_run.py", "from kubeproto_cli import main"),
        (forbidden_package_imports, "runtime/kubeproto_cli/_watch.py", "import kubeproto_trio"),
    ],
)
def test_a_broken_rule_is_reported(
    empty_project: Path, rule: Callable[[Path], list[str]], path: str, code: str
) -> None:
    (empty_project / path).parent.mkdir(exist_ok=True)
    (empty_project / path).write_text(code)
    [finding] = rule(empty_project)
    assert finding.startswith(f"{path}:")


def test_yaml_may_be_imported_in_a_single_module_only(empty_project: Path) -> None:
    (empty_project / "kubeproto/objects/_manifest.py").write_text("import yaml")
    assert third_party_imports_of_core(empty_project) == []
    (empty_project / "kubeproto/config/_kubeconfig.py").write_text("import yaml")
    assert len(third_party_imports_of_core(empty_project)) == 2


def test_a_package_may_use_the_packages_of_lower_layers(empty_project: Path) -> None:
    (empty_project / "kubeproto/objects/_object_meta.py").write_text(
        "from .._errors import KubeprotoError\nfrom . import _x"
    )
    (empty_project / "transports/kubeproto_trio/_opening.py").write_text(
        "from kubeproto_h11 import Connection\nfrom kubeproto_sockets import TlsStack"
    )
    (empty_project / "runtime/kubeproto_runtime/_run.py").write_text(
        "from kubeproto.wire import RawRequest\nfrom kubeproto_h11 import ServerConnection\nfrom . import _x"
    )
    assert private_imports_of_others(empty_project) == forbidden_package_imports(empty_project) == []

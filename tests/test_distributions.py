"""The two distributions of this repository belong together."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parent.parent


def project(path: str) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / path).read_text())["project"]
    return table


CORE: Final = project("pyproject.toml")
SIMULATOR: Final = project("simulator/pyproject.toml")


def test_the_simulator_has_the_version_of_kubeproto_and_requires_it() -> None:
    assert SIMULATOR["version"] == CORE["version"]
    assert SIMULATOR["dependencies"] == [f"kubeproto=={CORE['version']}"]


def test_three_extras_bring_the_simulator_in_the_same_version() -> None:
    extras = {
        (extra, str(requirement.specifier))
        for extra, texts in CORE["optional-dependencies"].items()
        for requirement in map(Requirement, texts)
        if requirement.name == SIMULATOR["name"]
    }
    version = f"=={CORE['version']}"
    assert extras == {("sim", version), ("serve", version), ("testing", version)}


def test_the_locks_do_not_contain_the_local_distributions() -> None:
    for lock in ("dev.lock", "docs.lock"):
        names = [line.partition("==")[0] for line in (ROOT / lock).read_text().splitlines()]
        assert names
        assert not {"kubeproto", "kubeproto-sim"} & {*names}


def test_without_the_simulator_the_test_tools_name_the_extra_to_install() -> None:
    script = "import sys; sys.modules['kubeproto_sim'] = None; import kubeproto_runtime.testing"
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert completed.returncode == 1
    assert completed.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: kubeproto_runtime.testing needs the simulator: pip install 'kubeproto[testing]'"
    )


def test_a_production_program_does_not_import_the_simulator() -> None:
    script = (
        "import sys, kubeproto_runtime, kubeproto_cli._run, kubeproto_cli._manifests, kubeproto_cli._record;"
        "import kubeproto_runtime.webhooks, kubeproto_runtime.manifests;"
        "print([name for name in sys.modules if name.startswith(('kubeproto_sim', 'kubeproto_serve'))])"
    )
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout == "[]\n"

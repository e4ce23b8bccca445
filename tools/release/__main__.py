"""`make dist`: build wheels and sdists, check their metadata, and use them in clean environments.

Each installed Python installs the wheels with different extras, and runs the programs that need only these
extras; one Python installs the sdists. pip gets both distributions as files, so that they are not requested
from an index. Nothing is published.
"""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata

from ..gate import PYTHONS, find_python

ROOT: Final = Path(__file__).resolve().parents[2]

# Pages whose programs are run: with the core alone, and with the runtime and a transport.
PAGES: Final = {"core": ROOT / "docs/guides/machines.md", "all": ROOT / "README.md"}

# The installed extras, and the programs that run with them.
EXTRAS: Final = {
    "": "modules",
    "asyncio": "modules",
    "trio": "modules",
    "httpx": "modules",
    "asyncio,sim": "core",
    "runtime,asyncio,cli": "production",
    "testing,asyncio": "all",
    "testing,trio": "all",
    "testing,httpx": "all",
    "sim": "core",
    "serve": "command",
    "cli,runtime,asyncio,testing": "project",
    "yaml": "modules",
    "cel": "modules",
    "otel": "modules",
    "webhooks": "modules",
}

# Without the simulator, each public module of the core is imported.
MODULES: Final = """
import importlib, pkgutil, kubeproto
for module in pkgutil.walk_packages(kubeproto.__path__, "kubeproto."):
    if "._" not in module.name:
        importlib.import_module(module.name)
"""

WITH_SIMULATOR: Final = frozenset(("sim", "serve", "testing"))


def main() -> int:
    wheel, sdist = build(ROOT)
    sim_wheel, sim_sdist = build(ROOT / "simulator")
    check(wheel, sdist, ROOT)
    check(sim_wheel, sim_sdist, ROOT / "simulator")
    environment_count = 0
    for version in PYTHONS:
        label = "{}.{}".format(*version)
        if (python := find_python(label)) is None:
            print(f"Python {label}: not at hand")
            continue
        for extra, program_set in EXTRAS.items():
            requirements = [f"kubeproto[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)]
            if WITH_SIMULATOR & {*extra.split(",")}:
                requirements.append(str(sim_wheel))
            run_in_new_environment(python, requirements, program_set)
            print(f"Python {label}: the wheel with [{extra}] works ({program_set})", flush=True)
            environment_count += 1
    run_in_new_environment(
        sys.executable, [f"kubeproto[testing,asyncio] @ {sdist.as_uri()}", str(sim_sdist)], "all"
    )
    print("the sdists build, and work (all)")
    print(f"{wheel.name}, {sim_wheel.name} and their sdists are good: {environment_count + 1} environments")
    return 0


def build(project: Path) -> tuple[Path, Path]:
    """Build the wheel and the sdist of a project into its `dist/`."""
    dist = project / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run([sys.executable, "-m", "hatchling", "build"], project)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    return wheel, sdist


def check(wheel: Path, sdist: Path, project_folder: Path) -> None:
    """Check the metadata and the contents of the distributions."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(path)
    metadata = Metadata.from_email(text, validate=True)
    project = tomllib.loads((project_folder / "pyproject.toml").read_text())["project"]
    assert str(metadata.version) == project["version"], f"the wheel says {metadata.version}"
    assert email.message_from_bytes(text)["Description-Content-Type"] == "text/markdown"
    relative_links = re.findall(r"\]\((?!https?://|#)([^)]+)\)", metadata.description or "")
    assert not relative_links, f"on an index these links lead nowhere: {', '.join(relative_links)}"
    assert "source" in {label.lower() for label in metadata.project_urls or {}}, "the wheel has no address"
    top_level_names = {name.partition("/")[0] for name in names}
    stray = {name for name in top_level_names if not name.startswith("kubeproto")}
    assert not stray, f"the wheel would install {', '.join(sorted(stray))}"
    untyped = [name for name in top_level_names if "." not in name and f"{name}/py.typed" not in names]
    assert not untyped, f"no py.typed in {', '.join(untyped)}"
    with tarfile.open(sdist) as tar:
        sdist_files = [name.partition("/")[2] for name in tar.getnames()]
    packages = [f"{name}/__init__.py" for name in top_level_names if "." not in name]
    assert ("kubeproto_sim/__init__.py" in packages) == (project_folder != ROOT), (
        "the simulator is in the wrong wheel"
    )
    modules = [path for path in packages if project_folder != ROOT or path == "kubeproto/__init__.py"]
    required = ("LICENSE", "README.md", "pyproject.toml", *modules)
    missing = [name for name in required if name not in sdist_files]
    assert not missing, f"the sdist lacks {', '.join(missing)}"


def run_in_new_environment(python: str, requirements: list[str], program_set: str) -> None:
    """Install requirements into a new environment, and run a set of programs there."""
    with tempfile.TemporaryDirectory() as folder:
        run([python, "-m", "venv", folder], ROOT)
        new_python = f"{folder}/bin/python"
        run(
            [new_python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
            ROOT,
        )
        if program_set == "production":
            check_production(Path(folder))
            return
        if program_set == "command":
            run([f"{folder}/bin/kubeproto", "serve", "--help"], Path(folder))
            return
        if program_set == "project":
            try_new_project(Path(folder))
            return
        program = Path(folder) / "program.py"
        program.write_text(MODULES if program_set == "modules" else programs(program_set))
        run([new_python, "-I", "-W", "error", str(program)], Path(folder))


def check_production(environment: Path) -> None:
    """Check that a production environment lacks the simulator, and reports its absence."""
    for program, remedy in (
        ("from kubeproto_cli import main; main(['serve'])", "kubeproto[cli,serve]"),
        ("from kubeproto_cli import main; main(['run', 'x.py:f', '--simulated'])", "kubeproto[cli,serve]"),
        ("import kubeproto_runtime.testing", "kubeproto[testing]"),
    ):
        command = [f"{environment}/bin/python", "-I", "-c", program]
        completed = subprocess.run(command, cwd=environment, capture_output=True, text=True, check=False)
        assert remedy in completed.stderr, f"{program} does not name {remedy}:\n{completed.stderr}"


def try_new_project(environment: Path) -> None:
    """Create a project as its README describes, and run its tests: the templates are package data."""
    binaries = environment / "bin"
    run(
        [f"{binaries}/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"],
        ROOT,
    )
    run([f"{binaries}/kubeproto", "new", "book-shop"], environment)
    run([f"{binaries}/python", "-m", "pytest", "-q"], environment / "book-shop")


def programs(program_set: str) -> str:
    """Return the Python blocks of a page as one program."""
    text = PAGES[program_set].read_text(encoding="utf-8")
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def run(command: list[str], folder: Path) -> None:
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if completed.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{(completed.stdout + completed.stderr).rstrip()}")


if __name__ == "__main__":
    raise SystemExit(main())

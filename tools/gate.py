"""The gate: format, lint, types, layers and the tests on every installed Python, then one verdict.

Run by `make check`. A step prints one line, and the output of its tool on failure; the tests on this Python
print everything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BIN: Final = Path(sys.executable).parent  # not resolved: the link in the environment, not its target

PYTHONS: Final = ((3, 11), (3, 12), (3, 13), (3, 14))  # the promise of pyproject.toml
HERE: Final = sys.version_info[:2]

SOURCES: Final = (
    "kubeproto", "transports", "runtime", "simulator", "tests", "benchmarks", "tools", "examples"
)  # fmt: skip

PYTEST: Final = ("-m", "pytest", "--thorough", "-n", "auto", "--dist", "worksteal")

# A type checker uses one core, so two lanes of steps run in parallel. All runs of mypy are in the same lane,
# because they share a cache. The storm has fixed seeds; `make storm` draws new seeds. Its three processes
# have too few runs to judge memory, which a test with many short runs does.
STORM: Final = ("env", "PYTHONHASHSEED=0", "PYTHONPATH=tests", f"{BIN}/python", "-m", "storm")
LANES: Final = (
    (
        ("format", [f"{BIN}/ruff", "format", "--check", "--quiet", "."]),
        ("lint", [f"{BIN}/ruff", "check", "--quiet", "."]),
        ("types, by mypy", [f"{BIN}/mypy", *SOURCES]),
        ("types of the contract's conftest", [f"{BIN}/mypy", "tests/transports/contract/conftest.py"]),
        ("types of the command line's conftest", [f"{BIN}/mypy", "tests/cli/conftest.py"]),
        ("types of the programs' conftest", [f"{BIN}/mypy", "tests/programs/conftest.py"]),
    ),
    (
        ("types, by pyright", [f"{BIN}/pyright", "--pythonpath", sys.executable]),
        ("layers", [f"{BIN}/lint-imports", "--no-logo"]),
        ("storm", [*STORM, "--seeds", "1000:1040", "--processes", "3", "--anew", "--state", ".cache/gate"]),
    ),
)


def main() -> int:
    with ThreadPoolExecutor(len(LANES)) as lanes:
        failed = [name for names in lanes.map(failed_steps, LANES) for name in names]
    skips = 0
    tested: list[str] = []
    absent: list[str] = []
    for python in PYTHONS:
        label = "{}.{}".format(*python)
        if python == HERE:
            continue
        if (base := find_python(label)) is None:
            absent.append(label)
            continue
        passed, skipped = test_elsewhere(label, base)
        skips += skipped
        tested.append(label)
        if not passed:
            failed.append(f"tests on Python {label}")
    passed, skipped = test_here()
    skips += skipped
    here = "{}.{}".format(*HERE)
    if not passed:
        failed.append(f"tests on Python {here}")
    print()
    line("pythons", f"tested on {', '.join([here, *tested])}; not at hand: {', '.join(absent) or 'none'}")
    line("conformance", conformance())
    line("skips", str(skips))
    line("gate", f"FAILED: {'; '.join(failed)}" if failed else "passed")
    return 1 if failed else 0


def failed_steps(lane: tuple[tuple[str, list[str]], ...]) -> list[str]:
    """Run the steps of a lane in order, and return the names of the failed steps."""
    return [name for name, command in lane if not step(name, command)]


def step(name: str, command: list[str]) -> bool:
    started = time.monotonic()
    completed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment()
    )
    passed = completed.returncode == 0
    verdict = f"{'ok' if passed else 'FAILED'} ({time.monotonic() - started:.1f} s)"
    if not passed:  # in one call, since another lane may print at the same time
        verdict = f"{verdict}\n{(completed.stdout + completed.stderr).rstrip()}"
    line(name, verdict)
    return passed


def test_here() -> tuple[bool, int]:
    """Run the tests on this Python with their output; return the verdict and the number of skips."""
    line("tests", "on Python {}.{}.{}:".format(*sys.version_info))
    output: list[str] = []
    command = [sys.executable, *PYTEST]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment()) as pytest:
        assert pytest.stdout is not None
        for text in pytest.stdout:
            print(text, end="", flush=True)
            output.append(text)
    return pytest.returncode == 0, count_skips("".join(output))


def test_elsewhere(label: str, base: str) -> tuple[bool, int]:
    """Run the tests on another Python in its own environment; print only the last line on success."""
    name = f"tests, Python {label}"
    setup = subprocess.run(
        ["make", "--silent", "ready", f"PYTHON={base}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if setup.returncode != 0:
        line(name, "FAILED: its environment could not be set up")
        print((setup.stdout + setup.stderr).rstrip(), flush=True)
        return False, 0
    # pytest remembers the last failures, which differ on another Python. Tests that start other programs show
    # nothing new about this Python.
    command = [f".venv-{label}/bin/python", *PYTEST, "-p", "no:cacheprovider", "-m", "not one_python"]
    completed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment()
    )
    passed = completed.returncode == 0
    if passed:
        line(name, f"ok: {closing_line(completed.stdout)}")
    else:
        line(name, "FAILED")
        print((completed.stdout + completed.stderr).rstrip(), flush=True)
    return passed, count_skips(completed.stdout)


def find_python(label: str) -> str | None:
    """Return a Python of this version that starts, on the PATH or among those of pyenv.

    A name on the PATH proves nothing: pyenv has a name for each version, and only the selected one starts.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(pyenv.glob(f"versions/{label}.*/bin/python{label}"), reverse=True)
    for candidate in (f"python{label}", *map(str, installed)):
        try:
            completed = subprocess.run(
                [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            continue
        if completed.stdout.strip() == label:
            return candidate
    return None


def conformance() -> str:
    """Return the state of the conformance list; tests/test_conformance_map.py checks it."""
    path = ROOT / "tests" / "conformance.toml"
    rows: dict[str, dict[str, object]] = tomllib.loads(path.read_text())["rows"]
    forms = Counter(form for row in rows.values() for form in row)
    later = Counter(str(row["later"]) for row in rows.values() if "later" in row)
    by_part = ", ".join(f"{part} {count}" for part, count in later.most_common())
    return f"{forms['test']} proven, {forms['later']} to come ({by_part}), {forms['not']} do not apply"


def count_skips(output: str) -> int:
    """Return the number of skips that tests/conftest.py printed."""
    return sum(int(count) for count in re.findall(r"^skips: (\d+)$", output, re.MULTILINE))


def closing_line(output: str) -> str:
    return output.rstrip().rpartition("\n")[2].strip("= ")


def environment() -> dict[str, str]:
    # Otherwise pyright checks for a newer version: the gate must run without a network.
    return {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}


def line(name: str, words: str) -> None:
    print(f"{name:<19} {words}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

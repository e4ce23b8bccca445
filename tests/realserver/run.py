"""Runs commands that need the real control plane: ``python tests/realserver/run.py COMMAND [ARGUMENT...]``.

The commands are real, churn, record, facts, verdicts, cel, access, admission, workloads, cases and releases;
`make help` explains them. The control plane is built first, of the release in the environment variable
`KUBERNETES` (``1.33``), or of the newest. `KUBEPROTO_REAL` then passes the program to the tests, and the
plugin `realserver.fixtures` starts it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
# Examples and tests define the objects, and import modules beside them.
PATHS: Final = (
    "tests",
    "tests/access",
    "tests/admission",
    "tests/crd",
    "tests/kinds",
    "tests/manifests",
    "tests/objects",
    "tests/pods",
    "tests/runtime",
    "tests/sim",
    "tests/webhooks",
    "tests/workloads",
    "examples",
    "examples/books",
    "examples/echo",
    "examples/foos",
    "examples/hello",
    "examples/nodes",
    "examples/transports",
)
PYTEST: Final = ("-m", "pytest", "-p", "realserver.fixtures", "-p", "no:cacheprovider")
# Most tests wait for a server. Each worker starts its own, of 300 MB each.
SIDE_BY_SIDE: Final = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
RUNS: Final = {
    "real": (*PYTEST, *SIDE_BY_SIDE, "tests/conformance", "tests/programs", "tests/realserver"),
    "churn": (*PYTEST, "-s", "tests/realserver/test_real_churn.py"),
    "record": ("-m", "realserver.record"),
    "facts": ("-m", "realserver.go_facts"),
    "verdicts": ("-m", "realserver.shapes"),
    "cel": ("-m", "realserver.cel"),
    "access": ("-m", "realserver.access"),
    "admission": ("-m", "realserver.admission"),
    "workloads": ("-m", "realserver.workloads"),
    "cases": ("-m", "realserver.real_cases"),
    "releases": ("-m", "realserver.kinds"),
}
CHURN: Final = 5000  # custom resources


def main(target: str, arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    from realserver._real_build import Unbuildable, asked_release, build

    try:
        program = build(asked_release())
    except Unbuildable as error:
        sys.exit(str(error))
    paths = os.pathsep.join(str(ROOT / path) for path in PATHS)
    environment = {**os.environ, "KUBEPROTO_REAL": str(program), "PYTHONPATH": paths}
    if target == "churn":
        environment["KUBEPROTO_CHURN"] = str(CHURN)
    command = [*RUNS[target], *arguments]
    # With named files only these run, in one process.
    if any(argument.startswith("tests/") for argument in arguments):
        command = [
            part
            for part in command
            if part in arguments or not (part.startswith("tests/") or part in SIDE_BY_SIDE)
        ]
    return subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in RUNS:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))

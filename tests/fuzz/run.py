"""Fuzz each parser for a while, guided by coverage: ``python tests/fuzz/run.py SECONDS [NAME...]``.

atheris is installed into its own environment, so that only developers who fuzz need it. Findings stay in
`.cache/fuzz-found`; a finding is added to the corpus together with its fix.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENVIRONMENT = ROOT / ".cache/fuzz"
FINDINGS = ROOT / ".cache/fuzz-found"
ATHERIS = "atheris==3.0.0"
# The imports of the targets: the names under which they are installed and imported.
IMPORTED_PACKAGES = {"msgspec": "msgspec", "pyyaml": "yaml", "h11": "h11", "wsproto": "wsproto"}
NAMES = sorted(path.name for path in (HERE / "corpus").iterdir())


def main(seconds: str, names: list[str]) -> int:
    python = install()
    failed: list[str] = []
    for name in names or NAMES:
        (FINDINGS / name).mkdir(parents=True, exist_ok=True)
        command = [
            str(python), str(HERE / "run.py"), "--inside", name,
            f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", "-max_len=16384",
            f"-dict={HERE / 'words.dict'}", f"-artifact_prefix={FINDINGS}/{name}-",
            str(FINDINGS / name), str(HERE / "corpus" / name),
        ]  # fmt: skip
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        last = [line for line in process.stderr.splitlines() if re.match(r"#\d+\s", line)][-1:]
        sys.stdout.write(f"{name}: {'ok' if process.returncode == 0 else 'FAILED'} {''.join(last)}\n")
        sys.stdout.flush()
        if process.returncode:
            failed.append(name)
            sys.stdout.write((process.stdout + process.stderr)[-4_000:] + "\n")
    return len(failed)


def install() -> Path:
    python = ENVIRONMENT / "bin/python"
    ready = ENVIRONMENT / ".ready"
    lock = (ROOT / "dev.lock").read_text()
    requirements = [ATHERIS, *re.findall(rf"(?mi)^(?:{'|'.join(IMPORTED_PACKAGES)})==[^ ;\\]+", lock)]
    if not ready.exists() or ready.read_text() != repr(requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *requirements], check=True)
        ready.write_text(repr(requirements))
    return python


def fuzz(name: str, arguments: list[str]) -> None:
    """Start atheris inside that environment. It does not return."""
    atheris: Any = importlib.import_module("atheris")

    sys.path[:0] = [str(ROOT), str(ROOT / "transports"), str(HERE)]
    with atheris.instrument_imports(include=["kubeproto", "kubeproto_h11", "structured", "drawing"]):
        import targets

    atheris.Setup([sys.argv[0], *arguments], targets.TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        fuzz(sys.argv[2], sys.argv[3:])
    else:
        raise SystemExit(main(sys.argv[1] if sys.argv[1:] else "60", sys.argv[2:]))

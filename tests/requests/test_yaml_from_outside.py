"""Each reader refuses kilobytes of YAML whose aliases expand to gigabytes, and stays small.

The test measures the memory of the whole process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

LONG: Final = f"kind: &a {'x' * 100_000}\nitems: [{', '.join(['*a'] * 8_000)}]\n"
MANY: Final = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
    + [
        f"{anchor}: &{anchor} [{', '.join([f'*{inner_anchor}'] * 9)}]"
        for inner_anchor, anchor in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)
FIELDS: Final = ", ".join(f"{'k' * 200}{number}: v" for number in range(500))
KEYS: Final = f"a: &a {{{FIELDS}}}\nb: [{', '.join(['*a'] * 2_000)}]\n"
TEXTS: Final = {"a long text": LONG, "lists of lists": MANY, "many keys": KEYS}

FRONT: Final = (
    "import sys\nsys.path[:0] = {path!r}\nfrom pathlib import Path\ntext = Path({file!r}).read_bytes()\n"
)
READERS: Final = {
    "a manifest": """
import kubeproto as kp
try:
    kp.parse_manifest(text)
    error_text =  ""
except kp.InvalidManifest as error:
    error_text =  str(error)
""",
    "a kubeconfig": """
from kubeproto.config import ConfigError, Kubeconfig
try:
    Kubeconfig.parse(text, "config")
    error_text =  ""
except ConfigError as error:
    error_text =  str(error)
""",
    "definitions": """
import io
from kubeproto.kinds.__main__ import main
sys.stderr = io.StringIO()
main([{file!r}])
error_text = sys.stderr.getvalue()
""",
    "a request to the simulated server": """
import kubeproto as kp
from kubeproto_sim import Cluster
path = "/api/v1/namespaces/default/configmaps"
request = kp.RawRequest("POST", path, (("Content-Type", "application/yaml"),), text)
with Cluster().blocking_transport().send(request) as incoming:
    error_text =  f"{{incoming.status}}: {{b''.join(incoming)}}"
""",
}

END: Final = """
print("its aliases are refused" if "aliases" in error_text else error_text, flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs procfs")
@pytest.mark.parametrize("description", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_does_not_expand_aliases(reader: str, description: str, tmp_path: Path) -> None:
    assert len(TEXTS[description]) < 256 << 10
    file = tmp_path / "bomb.yaml"
    file.write_text(TEXTS[description])
    code = (FRONT + READERS[reader] + END).format(path=[*sys.path], file=str(file))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "its aliases are refused\n"
        lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
        child.stdin.write("\n")
    peak = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
    # The interpreter with its imports takes a third of it; the expanded text would take gigabytes.
    assert peak < 192 << 20

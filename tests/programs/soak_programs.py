"""The long run of the example operators: each is killed 100 times at moments that seeds choose.

`make soak` runs it; ``--kills 10`` makes it shorter.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from killing import Operator, kill_and_check
from program_rig import Site
from test_echo_program import PROGRAM as ECHO, make_echo
from test_hello_program import PROGRAM as HELLO, make_hello

import kubeproto_sim as sim
from kubeproto_serve import serving

OPERATORS = (Operator(HELLO, "hello", make_hello), Operator(ECHO, "echo", make_echo))
ROUND = 10  # kills between two checks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    kills: int = parser.parse_args().kills
    cluster = sim.Cluster(populated=True, controllers=True)
    cluster.keeps_log = False
    with tempfile.TemporaryDirectory() as folder, serving(cluster) as server:
        site = Site(Path(folder), server.kubeconfig, real=False, compact=cluster.compact)
        for operator in OPERATORS:
            site.kubectl("apply -f -", site.printed(operator.program, "--definition"))
            started = time.monotonic()
            for first in range(0, kills, ROUND):
                with site.in_new_namespace() as inner_site:
                    kill_and_check(inner_site, operator, range(first, min(first + ROUND, kills)))
            took = f"{time.monotonic() - started:.0f} s"
            print(f"{operator.program}: {kills} kills, nothing missing and nothing left ({took})", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

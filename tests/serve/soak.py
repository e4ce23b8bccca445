"""The long run of the served simulator: kills under load, and many watches that are idle or slow.

`make soak` kills a server 200 times and then holds 1,100 watches open for two minutes; ARGS="--kills 20" or
ARGS="--seconds 30" make it shorter. It fails if an acknowledged write was lost or only half stored, or if
memory grew by more than a fifth after the first tenth of the run. The history of the written resource is
filled first: a server holds a number of events of each resource, watched or not.
"""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from state_rig import MAPS, Server, kill_under_load

IDLE = 1000
SLOW = 100
GROWTH = 1.2  # relative to the memory after the first tenth of the run
PAD = "x" * 2000
HISTORY = 11_000  # events; a server holds 10,000, and some more before it drops the oldest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120.0)
    options, _ = parser.parse_known_args()  # the other options belong to the other soaks
    with tempfile.TemporaryDirectory() as folder:
        if options.kills:
            kill(Path(folder) / "kills", options.kills)
        return watch(Path(folder) / "watches", options.seconds) if options.seconds else 0


def kill(state: Path, times: int) -> None:
    """Kill servers on the same folder in turn, at moments that a seed determines."""
    start, acknowledged = time.monotonic(), 0
    for seed in range(times):
        acknowledged += kill_under_load(state, seed)
        if (seed + 1) % 20 == 0:
            took = f"{time.monotonic() - start:.0f} s"
            _print_line(f"{seed + 1} kills, {acknowledged} acknowledged writes, none lost ({took})")


def watch(state: Path, seconds: float) -> int:
    """Write for some time while watches are open, most of them idle. Fail if memory grows."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    server = Server(state)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for number in range(HISTORY):
        _write(connection, number)
    watches = [_open(server.port, "/api/v1/secrets?watch=1") for _ in range(IDLE)]
    watches += [_open(server.port, f"{MAPS}?watch=1", buffer=4096) for _ in range(SLOW)]  # nobody reads these
    levels = list[int]()
    start, number = time.monotonic(), HISTORY
    try:
        while (elapsed := time.monotonic() - start) < seconds:
            _write(connection, number)
            number += 1
            if elapsed > seconds / 10 * (len(levels) + 1):
                levels.append(_memory(server.process))
        levels.append(_memory(server.process))
    finally:
        connection.close()
        server.kill()
        for stream in watches:
            stream.close()
    growth = levels[-1] / levels[0]
    kibibytes = [level // 1024 for level in levels]
    _print_line(f"{number - HISTORY} writes, {IDLE} idle and {SLOW} slow watches; MB: {kibibytes}")
    _print_line(f"memory at the end is {growth:.2f} of that after the first tenth (limit {GROWTH})")
    return int(growth > GROWTH)


def _write(connection: http.client.HTTPConnection, number: int) -> None:
    body = json.dumps({"metadata": {"name": "soak"}, "data": {"number": str(number), "pad": PAD}})
    connection.request("PUT" if number else "POST", f"{MAPS}/soak" if number else MAPS, body)
    response = connection.getresponse()
    response.read()
    assert response.status in (200, 201), response.status


def _open(port: int, target: str, buffer: int | None = None) -> socket.socket:
    connection = socket.socket()
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.connect(("127.0.0.1", port))
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    if not buffer:
        connection.recv(4096)
    return connection


def _memory(process: subprocess.Popen[str]) -> int:
    """The resident memory of a process, in KiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def _print_line(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main())

"""A server with `--state` under load, killed at a random moment, and the checks of its state afterwards."""

from __future__ import annotations

import http.client
import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

MAPS: Final = "/api/v1/namespaces/default/configmaps"
WRITERS: Final = 3


class Server:
    """A `kubeproto serve` in its own process."""

    def __init__(self, state: Path, *options: str) -> None:
        command = [sys.executable, "-m", "kubeproto_cli", "serve", "--port", "0", "--state", str(state)]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first.startswith("# serving at http://"), first
        self.port = int(first.split(";")[0].rpartition(":")[2])

    def kill(self) -> None:
        """Kill the server without a warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def get(self, target: str) -> Any:
        connection = self.connect()
        connection.request("GET", target)
        content = json.loads(connection.getresponse().read())
        connection.close()
        return content


class Writer(threading.Thread):
    """Write config maps of its own, and record the acknowledged writes and the allowed states of each map.

    A write that was sent and not acknowledged may have happened or not: both are allowed.
    """

    def __init__(self, server: Server, number: int, seed: int, written: threading.Semaphore) -> None:
        super().__init__()
        self.allowed: dict[str, set[str | None]] = {}
        self.acknowledged = 0
        self.newest = 0
        self._server = server
        self._number = number
        self._rng = random.Random(seed)
        self._written = written

    def run(self) -> None:
        connection = self._server.connect()
        try:
            while True:
                self._write(connection)
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _write(self, connection: http.client.HTTPConnection) -> None:
        name = f"w{self._number}-{self._rng.randrange(20)}"
        previous = self.allowed.get(name, {None})
        [old] = previous
        value = None if old is not None and self._rng.random() < 0.3 else f"{self._rng.random()}"
        self.allowed[name] = {old, value}
        body = json.dumps({"metadata": {"name": name}, "data": {"value": value, "pad": "x" * 3000}})
        if value is None:
            connection.request("DELETE", f"{MAPS}/{name}")
        elif old is None:
            connection.request("POST", MAPS, body)
        else:
            connection.request("PUT", f"{MAPS}/{name}", body)
        response = connection.getresponse()
        content = json.loads(response.read())
        assert response.status in (200, 201), content
        self.allowed[name] = {value}
        self.acknowledged += 1
        self._written.release()
        self.newest = max(self.newest, int(content.get("metadata", {}).get("resourceVersion", 0)))


def kill_under_load(state: Path, seed: int) -> int:
    """Kill a server while it writes, start it again, and check it. Return the number of acknowledged
    writes.
    """
    rng = random.Random(seed)
    server = Server(state)
    for item in server.get(MAPS)["items"]:
        connection = server.connect()
        connection.request("DELETE", f"{MAPS}/{item['metadata']['name']}")
        connection.getresponse().read()
        connection.close()
    written = threading.Semaphore(0)
    writers = [Writer(server, number, rng.getrandbits(32), written) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    remaining_writes = rng.randrange(20, 300)
    while remaining_writes and all(writer.is_alive() for writer in writers):
        # Without a wait this thread would take the CPU time of the writers.
        remaining_writes -= written.acquire(timeout=1.0)
    server.kill()
    for writer in writers:
        writer.join()
    check(state, writers)
    return sum(writer.acknowledged for writer in writers)


def check(state: Path, writers: list[Writer]) -> None:
    """Check that every acknowledged write is stored completely, and that the version has not decreased."""
    server = Server(state)
    try:
        response_list = server.get(MAPS)
    finally:
        server.kill()
    stored = {item["metadata"]["name"]: item for item in response_list["items"]}
    for writer in writers:
        for name, allowed in writer.allowed.items():
            obj = stored.get(name)
            assert (obj and obj["data"]["value"]) in allowed, (name, allowed)
            assert obj is None or len(obj["data"]["pad"]) == 3000
    version = int(response_list["metadata"]["resourceVersion"])
    assert version >= max(writer.newest for writer in writers)
    assert all(int(obj["metadata"]["resourceVersion"]) <= version for obj in stored.values())

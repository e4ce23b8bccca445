"""Sends the cases of `tests/sim/server_cases.py` to the real server; as a program it records them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import server_cases as cases

from kubeproto.wire import RawRequest, inflate, warnings
from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start


@contextmanager
def sending(server: RealServer) -> Generator[cases.Send]:
    """Return a function that sends requests to the server."""
    with BlockingHttpxTransport(server.connection) as transport:

        def send(
            method: str, target: str, body: bytes, media: str, accept: str
        ) -> tuple[int, list[str], Any]:
            headers = (("Accept", accept), ("Content-Type", media), ("User-Agent", "suite/1.0"))
            with transport.send(RawRequest(method, target, headers, body), timeout=30) as response:
                text = inflate(response.headers, b"".join(response))
            return response.status, list(warnings(response.headers)), cases.decoded(text)

        yield send


def main() -> None:
    """Record the responses for `make test`."""
    with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as server, sending(server) as send:
        responses = {name: cases.outcomes(send, name) for name in cases.CASES}
    cases.RECORDED.write_text(json.dumps(responses, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{sum(map(len, responses.values()))} responses\n")


if __name__ == "__main__":
    main()

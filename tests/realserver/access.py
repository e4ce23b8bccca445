"""Asks the real server who may do what, and records what it says: ``make access``."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from access_cases import RECORDED, SEED, Ask, Cases, Send, verdicts

from kubeproto.wire import Head, inflate
from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start

COUNT: Final = 700
_SETTLE: Final = 2.0  # seconds until an authorizer has surely seen the last binding


@contextmanager
def sending(server: RealServer) -> Generator[Send]:
    """A function that sends a request to the server as its user."""
    with ExitStack() as stack:
        transports = {
            user: stack.enter_context(BlockingHttpxTransport(server.connection_for(user)))
            for user in ("admin", "nobody")
        }

        def send(ask: Ask) -> tuple[int, Any]:
            body = b"" if ask.body is None else json.dumps(ask.body).encode()
            media = "application/merge-patch+json" if ask.method == "PATCH" else "application/json"
            headers = (("Accept", "application/json"), ("Content-Type", media), *ask.headers)
            with transports[ask.by].send(Head(ask.method, ask.target, headers, body), timeout=30) as got:
                data = inflate(got.headers, b"".join(got))
            try:
                return got.status, json.loads(data)
            except ValueError:
                return got.status, None

        yield send


def ask_all(cases: Cases, send: Send) -> list[Any]:
    """What the server says of the requests, once its objects are there and its authorizer knows them."""
    for ask in cases.objects:
        status, body = send(ask)
        assert status == 201, body
    time.sleep(_SETTLE)
    return verdicts(cases, send)


def main() -> None:
    """Record the verdicts for `make test`."""
    with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as server, sending(server) as send:
        found = ask_all(Cases(SEED, COUNT), send)
    lines = ",\n".join(json.dumps(one) for one in found)
    RECORDED.write_text(f"[\n{lines}\n]\n")
    sys.stdout.write(f"{len(found)} verdicts\n")


if __name__ == "__main__":
    main()

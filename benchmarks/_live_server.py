"""A server for measurements of watches, in a process of its own, which writes one chunk for each event.

Run as `python -m benchmarks._live_server`, it reads its options as a JSON line (kind, events, seed, tls),
prints its address as another, and responds to every request with the same watch until it is killed.
"""

import json
import select
import socket
import ssl
import subprocess
import sys
import threading
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks._data import books, pods, watch_lines
from benchmarks._measure import MissingRequirement

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
_DISTINCT: Final = 2_000  # objects, which repeat for longer watches: the memory of the server is not measured
_PATIENCE: Final = 60.0  # seconds until it listens
_ROOT: Final = Path(__file__).resolve().parent.parent


class Address(msgspec.Struct, frozen=True):
    """The address of the server, and the certificate to trust with TLS."""

    url: str
    ca: str = ""


@contextmanager
def live_server(kind: str, events: int, seed: int, *, tls: bool, gzip: bool = False) -> Generator[Address]:
    """Start a server of a watch with this many events, none of them a bookmark."""
    command = [sys.executable, "-m", "benchmarks._live_server"]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if process.stdin is None or process.stdout is None:
                raise ValueError("the server is started with pipes on both ends")
            options = {"kind": kind, "events": events, "seed": seed, "tls": tls, "gzip": gzip}
            process.stdin.write(json.dumps(options).encode() + b"\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], _PATIENCE)[0]:
                raise MissingRequirement(f"the server did not start within {_PATIENCE:g} s")
            yield msgspec.json.decode(process.stdout.readline(), type=Address)
        finally:
            process.kill()


def main() -> None:
    options: dict[str, Any] = json.loads(sys.stdin.readline())
    make = pods if options["kind"] == "pods" else books
    lines = watch_lines(make(min(options["events"], _DISTINCT), options["seed"]), bookmarks=0)
    some = lines.splitlines(keepends=True)
    full, more = divmod(options["events"], len(some))
    parts = [*some * full, *some[:more]]
    stream = _chunks(_compressed(parts) if options["gzip"] else parts)
    head = _HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") if options["gzip"] else _HEAD
    context, ca = _secured() if options["tls"] else (None, "")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        scheme = "https" if context else "http"
        address = Address(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}", ca)
        print(msgspec.json.encode(address).decode(), flush=True)
        while True:
            accepted, _ = listening.accept()
            threading.Thread(target=_serve, args=(accepted, context, head, stream), daemon=True).start()


def _serve(accepted: socket.socket, context: ssl.SSLContext | None, head: bytes, stream: list[bytes]) -> None:
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(OSError), context.wrap_socket(accepted, server_side=True) if context else accepted as line:
        while _read_request(line):
            line.sendall(head)
            for chunk in stream:
                # `sendall` reads the clock for each call; a blocking send usually takes everything.
                if (size := line.send(chunk)) < len(chunk):
                    line.sendall(chunk[size:])
            line.sendall(b"0\r\n\r\n")


def _chunks(parts: list[bytes]) -> list[bytes]:
    encoded: dict[bytes, bytes] = {}  # repeated parts share their chunks
    return [encoded.setdefault(part, b"%x\r\n%b\r\n" % (len(part), part)) for part in parts if part]


def _compressed(parts: list[bytes]) -> list[bytes]:
    """Return each part as a flushed piece of a gzip stream, as Go's servers compress."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    compressed = [packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH) for part in parts]
    return [*compressed, packer.flush()]


def _read_request(line: socket.socket) -> bool:
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        if not (received := line.recv(65536)):
            return False
        request += received
    return True


def _secured() -> tuple[ssl.SSLContext, str]:
    import trustme

    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate: Any = authority.issue_cert("127.0.0.1")
    certificate.configure_cert(context)
    return context, authority.cert_pem.bytes().decode()


if __name__ == "__main__":
    main()

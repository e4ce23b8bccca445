"""A kubelet for the real control plane: a small program, built once, and its Node.

It belongs to no release of Kubernetes: an API server finds it by the address in the status of its Node.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import trustme

from kubeproto.wire import RawRequest
from kubeproto_httpx import BlockingHttpxTransport

from ._real_build import CACHE, ENVIRONMENT, FLAGS, HERE, Unbuildable, find_go
from ._real_server import RealServer

FOLDER: Final = HERE / "kubelet"
NODE: Final = "kubelet"
POD: Final = "served"
LINES: Final = ("first", "second", "third")
_SOURCES: Final = ("go.mod", "go.sum", "main.go")
_WITHIN: Final = 60.0


def build_kubelet() -> Path:
    """Return the program; the first build takes a minute or more."""
    content = b"".join((FOLDER / name).read_bytes() for name in _SOURCES)
    built = CACHE / f"kubelet-{hashlib.sha256(content).hexdigest()[:16]}"
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    fresh = built.with_suffix(f".{os.getpid()}")
    completed = subprocess.run(
        [find_go(), "build", *FLAGS, "-ldflags", "-s -w", "-o", str(fresh), "."],
        cwd=FOLDER, env={**os.environ, **ENVIRONMENT}, check=False,
    )  # fmt: skip
    if completed.returncode:
        raise Unbuildable("the kubelet could not be built; Go says above why")
    fresh.rename(built)
    return built


def write_log(folder: Path, lines: Iterable[str], *, begin: int = 0) -> None:
    """Add lines to the log of each container, several of one second and some of one time."""
    with (folder / "log").open("a") as file:
        for number, line in enumerate(lines, begin):
            minute, seconds = divmod(number // 10, 60)
            file.write(f"2026-07-01T00:{minute:02}:{seconds:02}.{number % 10 // 2}Z {line}\n")


@contextmanager
def a_node(server: RealServer, folder: Path, port: int) -> Generator[None]:
    """Yield a Node with a kubelet, and a pod whose ports all lead to a port of this machine."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    (folder / "kubelet.crt").write_bytes(certificate.cert_chain_pems[0].bytes())
    (folder / "kubelet.key").write_bytes(certificate.private_key_pem.bytes())
    write_log(folder, LINES)
    program = [
        str(build_kubelet()), f"-certificate={folder / 'kubelet.crt'}", f"-key={folder / 'kubelet.key'}",
        f"-logs={folder / 'log'}", f"-port={port}",
    ]  # fmt: skip
    with (
        (folder / "kubelet.log").open("wb") as log,
        subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
        BlockingHttpxTransport(server.connection) as transport,
    ):
        assert process.stdout is not None  # both were requested
        assert process.stdin is not None
        try:
            key, _, number = process.stdout.readline().decode().partition(" ")
            assert key == "ready", (folder / "kubelet.log").read_text()
            _create(transport, int(number))
            yield
            for target in (f"namespaces/default/pods/{POD}?gracePeriodSeconds=0", f"nodes/{NODE}"):
                _send(transport, "DELETE", target, None)
        finally:
            process.stdin.close()


def _create(transport: BlockingHttpxTransport, port: int) -> None:
    _send(transport, "POST", "nodes", {"metadata": {"name": NODE}})
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    _send(transport, "PATCH", f"nodes/{NODE}/status", {"status": status})
    spec = {"nodeName": NODE, "containers": [{"name": "app", "image": "any"}]}
    _send(transport, "POST", "namespaces/default/pods", {"metadata": {"name": POD}, "spec": spec})
    started = {"running": {"startedAt": "2026-07-01T00:00:00Z"}}
    container = {
        "name": "app",
        "image": "any",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "state": started,
    }
    running = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [container],
    }
    _send(transport, "PATCH", f"namespaces/default/pods/{POD}/status", {"status": running})


def _send(transport: BlockingHttpxTransport, method: str, target: str, body: Any) -> None:
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    data = b"" if body is None else json.dumps(body).encode()
    request = RawRequest(method, f"/api/v1/{target}", (("Content-Type", media),), data)
    with transport.send(request, timeout=_WITHIN) as incoming:
        response_body = b"".join(incoming)
    assert incoming.status < 300, response_body

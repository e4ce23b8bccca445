"""Sends authorization requests to the real server, and records the verdicts: ``make access``."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from access_cases import RECORDED, SEED, AccessRequest, Cases, Json, Send, verdicts

from kubeproto.wire import RawRequest, inflate
from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start

COUNT: Final = 700
_KNOWN_WITHIN: Final = 60.0  # seconds
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_NAMESPACE: Final = "default"
_SENTINEL: Final = "sentinel"
_numbers: Final = itertools.count(1)


@contextmanager
def sending(server: RealServer) -> Generator[Send]:
    """Return a function that sends a request as its user."""
    with ExitStack() as stack:
        transports = {
            user: stack.enter_context(BlockingHttpxTransport(server.connection_for(user)))
            for user in ("admin", "nobody")
        }

        def send(request: AccessRequest) -> tuple[int, Any]:
            body = b"" if request.body is None else json.dumps(request.body).encode()
            media = "application/merge-patch+json" if request.method == "PATCH" else "application/json"
            headers = (("Accept", "application/json"), ("Content-Type", media), *request.headers)
            with transports[request.by].send(
                RawRequest(request.method, request.target, headers, body), timeout=30
            ) as incoming:
                data = inflate(incoming.headers, b"".join(incoming))
            try:
                return incoming.status, json.loads(data)
            except ValueError:
                return incoming.status, None

        yield send


def send_all(cases: Cases, send: Send) -> list[Any]:
    """Return the verdicts on the requests, once the server's authorizer knows all objects."""
    for request in cases.objects:
        status, body = send(request)
        assert status == 201, body
    until_rights_are_known(send)
    return verdicts(cases, send)


def until_rights_are_known(send: Send) -> None:
    """Wait until the server applies a role and a binding that were created last.

    One role is aggregated, since a controller fills in its rules.
    """
    local = f"{_RBAC}/namespaces/{_NAMESPACE}"
    # New names each time: the controller may recreate an aggregated role that was just deleted.
    sentinel = f"{_SENTINEL}-{next(_numbers)}"
    part, all_name = f"{sentinel}-part", f"{sentinel}-whole"
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": sentinel}
    selectors = {"clusterRoleSelectors": [{"matchLabels": {sentinel: "part"}}]}
    created: tuple[tuple[str, str, Json], ...] = (
        (f"{local}/roles", part, {"rules": [_rule(sentinel, "local")]}),
        (f"{local}/rolebindings", part, {"subjects": [subject], "roleRef": _reference("Role", part)}),
        (f"{_RBAC}/clusterroles", part, {"rules": [_rule(sentinel, "whole")]}),
        (f"{_RBAC}/clusterroles", all_name, {"rules": [], "aggregationRule": selectors}),
        (f"{_RBAC}/clusterrolebindings", all_name,
         {"subjects": [subject], "roleRef": _reference("ClusterRole", all_name)}),
    )  # fmt: skip
    for target, name, fields in created:
        metadata = {"name": name, "labels": {sentinel: name.removeprefix(f"{sentinel}-")}}
        status, body = send(AccessRequest("POST", target, {"metadata": metadata, **fields}))
        assert status == 201, body
    end = time.monotonic() + _KNOWN_WITHIN
    while not (_may(send, sentinel, "local") and _may(send, sentinel, "whole")):
        assert time.monotonic() < end, "the server does not grant what the last roles say"
    for target, name, _ in created:
        send(AccessRequest("DELETE", f"{target}/{name}"))


def _rule(sentinel: str, resource: str) -> Json:
    return {"apiGroups": [sentinel], "resources": [resource], "verbs": ["get"]}


def _reference(kind: str, name: str) -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def _may(send: Send, sentinel: str, resource: str) -> bool:
    attributes = {"namespace": _NAMESPACE, "verb": "get", "group": sentinel, "resource": resource}
    review = {"spec": {"user": sentinel, "resourceAttributes": attributes}}
    _, body = send(AccessRequest("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review))
    return bool(body["status"]["allowed"])


def main() -> None:
    """Record the verdicts for `make test`."""
    with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as server, sending(server) as send:
        verdicts = send_all(Cases(SEED, COUNT), send)
    lines = ",\n".join(json.dumps(verdict) for verdict in verdicts)
    RECORDED.write_text(f"[\n{lines}\n]\n")
    sys.stdout.write(f"{len(verdicts)} verdicts\n")


if __name__ == "__main__":
    main()

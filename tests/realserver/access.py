"""Asks the real server who may do what, and records what it says: ``make access``."""

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

from access_cases import RECORDED, SEED, Ask, Cases, Json, Send, verdicts

from kubeproto.wire import Head, inflate
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
    until_rights_are_known(send)
    return verdicts(cases, send)


def until_rights_are_known(send: Send) -> None:
    """Wait until the server grants what roles and bindings say that were made after all others.

    One is aggregated, since a controller fills in the rules of such a role.
    """
    local = f"{_RBAC}/namespaces/{_NAMESPACE}"
    # New names each time: the controller may make an aggregated role again that was deleted meanwhile.
    mark = f"{_SENTINEL}-{next(_numbers)}"
    part, whole = f"{mark}-part", f"{mark}-whole"
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": mark}
    selectors = {"clusterRoleSelectors": [{"matchLabels": {mark: "part"}}]}
    made: tuple[tuple[str, str, Json], ...] = (
        (f"{local}/roles", part, {"rules": [_rule(mark, "local")]}),
        (f"{local}/rolebindings", part, {"subjects": [subject], "roleRef": _reference("Role", part)}),
        (f"{_RBAC}/clusterroles", part, {"rules": [_rule(mark, "whole")]}),
        (f"{_RBAC}/clusterroles", whole, {"rules": [], "aggregationRule": selectors}),
        (f"{_RBAC}/clusterrolebindings", whole,
         {"subjects": [subject], "roleRef": _reference("ClusterRole", whole)}),
    )  # fmt: skip
    for target, name, more in made:
        metadata = {"name": name, "labels": {mark: name.removeprefix(f"{mark}-")}}
        status, body = send(Ask("POST", target, {"metadata": metadata, **more}))
        assert status == 201, body
    end = time.monotonic() + _KNOWN_WITHIN
    while not (_may(send, mark, "local") and _may(send, mark, "whole")):
        assert time.monotonic() < end, "the server does not grant what the last roles say"
    for target, name, _ in made:
        send(Ask("DELETE", f"{target}/{name}"))


def _rule(mark: str, resource: str) -> Json:
    return {"apiGroups": [mark], "resources": [resource], "verbs": ["get"]}


def _reference(kind: str, name: str) -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def _may(send: Send, mark: str, resource: str) -> bool:
    attributes = {"namespace": _NAMESPACE, "verb": "get", "group": mark, "resource": resource}
    review = {"spec": {"user": mark, "resourceAttributes": attributes}}
    _, body = send(Ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review))
    return bool(body["status"]["allowed"])


def main() -> None:
    """Record the verdicts for `make test`."""
    with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as server, sending(server) as send:
        found = ask_all(Cases(SEED, COUNT), send)
    lines = ",\n".join(json.dumps(one) for one in found)
    RECORDED.write_text(f"[\n{lines}\n]\n")
    sys.stdout.write(f"{len(found)} verdicts\n")


if __name__ == "__main__":
    main()

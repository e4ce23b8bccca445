"""Lets the real server call a conversion webhook on this machine: a part of ``make admission``."""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from admission_cases import HOOKS, Json
from conversion_cases import (
    CASES,
    DEFINITION,
    DEFINITIONS,
    GROUP,
    NAMESPACE,
    RECORDED,
    Case,
    Step,
    answer_conversion,
    definition,
    run_case,
)
from webhook_server import WebhookServer, serving_webhooks

from kubeproto.wire import RawRequest, inflate, warnings
from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start

_WIDGETS: Final = f"/apis/{GROUP}/v2/namespaces/{NAMESPACE}/widgets"
_WITHIN: Final = 60.0


class RealConversionCaller:
    """The real server with a conversion webhook in this process."""

    def __init__(self, transport: BlockingHttpxTransport, webhooks: WebhookServer) -> None:
        self._transport = transport
        self._webhooks = webhooks
        self._initial_version = "0"
        self._round = 0
        self._send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})

    def configure(self, case: Case) -> None:
        self.clear()
        self._round += 1
        self._webhooks.behaviours = {self._path: answer_conversion}
        port = self._webhooks.server_port if case.reachable else 1
        bundle = base64.b64encode(self._webhooks.authority.cert_pem.bytes()).decode()
        client = {"url": f"https://127.0.0.1:{port}/{self._path}", "caBundle": bundle}
        status, _, created = self._send("POST", DEFINITIONS, definition(case, client))
        assert status == 201, created
        self._until(lambda: self._send("GET", _WIDGETS)[0] == 200)
        if case.hooks:
            hook = {
                "name": "v1.x.io", "rules": list(case.hooks), "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": client | {"url": f"https://127.0.0.1:{port}/v1"},
            }  # fmt: skip
            target = f"{HOOKS}/validatingwebhookconfigurations"
            status, _, created = self._send(
                "POST", target, {"metadata": {"name": "conversion"}, "webhooks": [hook]}
            )
            assert status == 201, created
        other = "v2" if case.storage == "v1" else "v1"
        if case.reachable:
            self._until(lambda: self._path in self._called(other))
        else:
            self._until(lambda: "127.0.0.1:1/" in str(self._tried(other)))
        if case.hooks:
            self._until(lambda: "v1" in self._called(case.storage))
        self._initial_version = self._send("GET", _WIDGETS)[2]["metadata"]["resourceVersion"]

    @property
    def _path(self) -> str:
        """Return the path of this case's webhook, which distinguishes old and new definitions."""
        return f"convert-{self._round}"

    def _tried(self, version: str) -> Any:
        """Return the outcome of a creation in a version, which changes nothing."""
        target = _WIDGETS.replace("/v2/", f"/{version}/")
        body = {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "Widget",
            "metadata": {"name": "tried"},
            "spec": {},
        }
        return self._send("POST", f"{target}?dryRun=All", body)

    def _called(self, version: str) -> list[str]:
        """Return the paths of the webhooks that such a creation calls, and the converted versions."""
        self._webhooks.calls.clear()
        self._tried(version)
        return [
            name
            for path, request in self._webhooks.calls
            for name in (path, f"{path} {request.get('desiredAPIVersion')}")
        ]

    def clear(self) -> None:
        """Delete the objects of a case."""
        self._webhooks.behaviours = {self._path: answer_conversion}
        self._send("DELETE", f"{HOOKS}/validatingwebhookconfigurations/conversion")
        self._send("DELETE", _WIDGETS)
        self._send("DELETE", DEFINITION)
        self._until(lambda: self._send("GET", DEFINITION)[0] == 404)

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _WITHIN
        while not condition():
            assert time.monotonic() < end, "the server does not serve the definition"
            time.sleep(0.05)

    def perform(self, step: Step) -> tuple[int, list[str], Any, list[Json]]:
        self._webhooks.calls.clear()
        self._webhooks.behaviours = {self._path: step.convert or answer_conversion}
        target = step.target.replace("{before}", self._initial_version)
        method = "GET" if step.method == "WATCH" else step.method
        status, warned, body = self._send(
            method, target, step.body, step.media, step.accept, stream=step.method == "WATCH"
        )
        calls = [review for _, review in self._webhooks.calls]
        self._webhooks.behaviours = {self._path: answer_conversion}
        if "customresourcedefinitions" in target and method != "GET":
            stored = f"{self._path} {GROUP}/{body['status']['storedVersions'][-1]}"
            self._until(lambda: stored in self._called("v1"))
        return status, warned, body, calls

    def _send(
        self, method: str, target: str, body: Any = None, media: str = "application/json",
        accept: str = "application/json", *, stream: bool = False,
    ) -> Any:  # fmt: skip
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", accept), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        with self._transport.send(RawRequest(method, target, headers, data), timeout=90) as incoming:
            text = inflate(incoming.headers, b"".join(incoming))
        try:
            parsed = [json.loads(line) for line in text.splitlines()] if stream else json.loads(text)
        except ValueError:
            parsed = text.decode()
        return incoming.status, list(warnings(incoming.headers)), parsed


@contextmanager
def run_conversion_caller(server: RealServer) -> Generator[RealConversionCaller]:
    """The server with its conversion webhook."""
    with serving_webhooks() as webhooks, BlockingHttpxTransport(server.connection) as transport:
        yield RealConversionCaller(transport, webhooks)


def record() -> None:
    """Record the outcomes for `make test`; without a watch cache, whose own conversions come at any time."""
    with (
        tempfile.TemporaryDirectory() as folder,
        start(Path(folder), watch_cache=False) as server,
        run_conversion_caller(server) as caller,
    ):
        outcomes = {case.name: run_case(caller, case) for case in CASES}
    RECORDED.write_text(json.dumps(outcomes, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{sum(map(len, outcomes.values()))} answers with conversions\n")

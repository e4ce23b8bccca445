"""Lets the real server call webhooks on this machine, and records what comes of it: ``make admission``."""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from admission_cases import CASES, HOOKS, NAMESPACE, POLICIES, RECORDED, Behaviour, Case, Json, Step, outcome
from webhook_server import WebhookServer, serving_webhooks

from kubeproto.wire import Head, inflate, warnings
from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start
from .conversion import record as record_conversions

_SETTLE: Final = 2.0  # seconds until a server has surely seen new configurations of webhooks
_COMPILED_WITHIN: Final = 60.0
_POLICIES: Final = f"{HOOKS}/validatingadmissionpolicies"
_BINDINGS: Final = f"{HOOKS}/validatingadmissionpolicybindings"
_SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"


class RealTaker:
    """The real server, whose webhooks are answered here."""

    def __init__(self, transport: BlockingHttpxTransport, webhooks: WebhookServer) -> None:
        self._transport = transport
        self._webhooks = webhooks
        self._objects: tuple[tuple[str, Json], ...] = ()
        self._sentinels = 0
        self._send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})

    def configure(self, case: Case) -> None:
        refusing = {path for step in case.steps for path, one in step.webhooks.items() if _refuses(one)}
        for phase, hooks in (("mutating", case.mutating), ("validating", case.validating)):
            target = f"{HOOKS}/{phase}webhookconfigurations"
            self._send("DELETE", f"{target}/cases")
            shown = [self._shown(one) for one in hooks]
            self._send("POST", target, {"metadata": {"name": "cases"}, "webhooks": shown})
        assert len(refusing) <= 1
        for target, body in self._objects:
            self._send("DELETE", f"{target}/{body['metadata']['name']}")
        self._objects = case.objects
        for target, body in case.objects:
            status, _, made = self._send("POST", target, body)
            assert status == 201, made
        if case.objects:
            self._until_policies_are_compiled()
        time.sleep(_SETTLE)

    def _until_policies_are_compiled(self) -> None:
        """Wait for a policy that was made after all others, which the server compiles in one go."""
        self._sentinels += 1
        said = f"sentinel {self._sentinels}"
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name != 'sentinel'", "message": said}],
        }
        metadata = {"name": "sentinel"}
        binding = {"policyName": "sentinel", "validationActions": ["Deny"]}
        for target, wanted in ((_POLICIES, spec), (_BINDINGS, binding)):
            self._send("DELETE", f"{target}/sentinel")
            status, _, made = self._send("POST", target, {"metadata": metadata, "spec": wanted})
            assert status == 201, made
        end = time.monotonic() + _COMPILED_WITHIN
        while said not in str(self._send("POST", f"{_SECRETS}?dryRun=All", {"metadata": metadata})):
            assert time.monotonic() < end, "the server does not apply a new policy"

    def take(self, step: Step) -> tuple[int, list[str], Any, list[tuple[str, Json]]]:
        self._webhooks.calls.clear()
        self._webhooks.behaviours = dict(step.webhooks)
        refused = [path for path, one in step.webhooks.items() if _refuses(one)]
        if refused:
            self._point(refused[0], 1)
        status, warned, body = self._send(step.method, step.target, step.body, step.media)
        calls = list(self._webhooks.calls)
        if refused:
            self._point(refused[0], self._webhooks.server_port)
        return status, warned, body, calls

    def _point(self, path: str, port: int) -> None:
        """Let a webhook stand behind another port: nobody listens behind port 1."""
        target = f"{HOOKS}/validatingwebhookconfigurations/cases"
        _, _, found = self._send("GET", target)
        for one in found["webhooks"]:
            if one["name"] == f"{path}.x.io":
                one["clientConfig"]["url"] = f"https://127.0.0.1:{port}/{path}"
        self._send("PUT", target, found)
        time.sleep(_SETTLE)

    def _shown(self, hook: Json) -> Json:
        shown = {name: value for name, value in hook.items() if name != "path"}
        bundle = base64.b64encode(self._webhooks.authority.cert_pem.bytes()).decode()
        url = f"https://127.0.0.1:{self._webhooks.server_port}/{hook['path']}"
        return shown | {"clientConfig": {"url": url, "caBundle": bundle}}

    def _send(self, method: str, target: str, body: Any = None, media: str = "application/json") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", "application/json"), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        with self._transport.send(Head(method, target, headers, data), timeout=30) as got:
            text = inflate(got.headers, b"".join(got))
        return got.status, list(warnings(got.headers)), json.loads(text)


def _refuses(behave: Behaviour) -> bool:
    return behave({"object": None}) == "refused"


@contextmanager
def taking(server: RealServer) -> Generator[RealTaker]:
    """The server with its webhooks."""
    with serving_webhooks() as webhooks, BlockingHttpxTransport(server.connection) as transport:
        yield RealTaker(transport, webhooks)


def main() -> None:
    """Record the outcomes for `make test`."""
    with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as server, taking(server) as taker:
        found = {case.name: outcome(taker, case) for case in (*CASES, *POLICIES)}
    RECORDED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{sum(map(len, found.values()))} answers\n")
    record_conversions()


if __name__ == "__main__":
    main()

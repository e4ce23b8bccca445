"""The simulated server for the cases of conversion: its webhook is a Python function."""

from __future__ import annotations

import json
from typing import Any

from admission_cases import HOOKS, Behaviour, Json
from conversion_cases import (
    DEFINITION,
    DEFINITIONS,
    GROUP,
    NAMESPACE,
    Case,
    Step,
    answer_conversion,
    definition,
)

import kubeproto_sim as sim
from kubeproto.wire import RawRequest, warnings

ADMIN = sim.User("admin", "1", ("system:masters",))
WEBHOOK = "https://127.0.0.1:9443/convert"
WIDGETS = f"/apis/{GROUP}/v2/namespaces/{NAMESPACE}/widgets"


class SimulatedConversionCaller:
    """The simulated server with a conversion webhook in process."""

    def __init__(self, modes: sim.Modes | None = None) -> None:
        self.cluster = sim.Cluster(populated=True, modes=modes or sim.Modes(watch_cache=False))
        self.behaviour: Behaviour = answer_conversion
        self._initial_version = "0"
        self._send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})

    def configure(self, case: Case) -> None:
        self.behaviour = answer_conversion
        self._send("DELETE", f"{HOOKS}/validatingwebhookconfigurations/conversion")
        self._send("DELETE", DEFINITION)
        self.cluster.advance(5)
        client = {"url": WEBHOOK}
        if case.reachable:
            self.cluster.webhooks.handle_bytes(WEBHOOK, self._answer)
        else:
            client = {"url": "https://127.0.0.1:1/convert"}
        status, _, created = self._send("POST", DEFINITIONS, definition(case, client))
        assert status == 201, created
        if case.hooks:
            hook = {
                "name": "v1.x.io", "rules": list(case.hooks), "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:9443/v1"},
            }  # fmt: skip
            self.cluster.webhooks.handle_bytes("https://127.0.0.1:9443/v1", self._answer)
            target = f"{HOOKS}/validatingwebhookconfigurations"
            status, _, created = self._send(
                "POST", target, {"metadata": {"name": "conversion"}, "webhooks": [hook]}
            )
            assert status == 201, created
        self.cluster.advance(5)
        self._initial_version = self._send("GET", WIDGETS)[2]["metadata"]["resourceVersion"]

    def perform(self, step: Step) -> tuple[int, list[str], Any, list[Json]]:
        self.behaviour = step.convert or answer_conversion
        if self.behaviour({"desiredAPIVersion": "", "objects": []}) in ("timeout", "silence"):
            self.cluster.webhooks.fail(WEBHOOK, "timeout")
        self.cluster.webhooks.calls.clear()
        method = "GET" if step.method == "WATCH" else step.method
        target = step.target.replace("{before}", self._initial_version)
        status, warning_texts, body = self._send(
            method, target, step.body, step.media, step.accept, stream=step.method == "WATCH"
        )
        calls = [
            json.loads(call.body)["request"] for call in self.cluster.webhooks.calls if ":1/" not in call.url
        ]
        self.behaviour = answer_conversion
        self.cluster.settle()
        return status, warning_texts, body, calls

    def _answer(self, body: bytes) -> bytes:
        review = json.loads(body)
        request = review["request"]
        response = self.behaviour(request) if review["kind"] == "ConversionReview" else {"allowed": True}
        if isinstance(response, tuple):
            if response[0] != 200:
                raise sim.WebhookError(*response)
            return response[1]
        assert isinstance(response, dict)
        envelope = {"kind": review["kind"], "apiVersion": review["apiVersion"]}
        return json.dumps(envelope | {"response": {"uid": request["uid"], **response}}).encode()

    def _send(
        self, method: str, target: str, body: Any = None, media: str = "application/json",
        accept: str = "application/json", *, stream: bool = False,
    ) -> Any:  # fmt: skip
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", accept), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        answer = self.cluster.respond(RawRequest(method, target, headers, data), ADMIN)
        text = answer.body
        if not isinstance(text, bytes):
            self.cluster.advance(2)
            text = text.take()
        decoded = [json.loads(line) for line in text.splitlines()] if stream else json.loads(text)
        return answer.status, list(warnings(answer.headers)), decoded

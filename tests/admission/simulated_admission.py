"""The simulated server for the cases of admission: its webhooks are Python functions."""

from __future__ import annotations

import json
from typing import Any

from admission_cases import HOOKS, NAMESPACE, Behaviour, Case, Json, Step

import kubeproto_sim as sim
from kubeproto.wire import RawRequest, warnings

ADMIN = sim.User("admin", "1", ("system:masters",))
PORT = "127.0.0.1:9443"


class SimulatedWebhookCaller:
    """The simulated server with webhooks in process."""

    def __init__(self) -> None:
        self.cluster = sim.Cluster(populated=True)
        self.calls: list[tuple[str, Json]] = []
        self.behaviours: dict[str, Behaviour] = {}
        self._objects: tuple[tuple[str, Json], ...] = ()
        self.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.cluster.settle()

    def configure(self, case: Case) -> None:
        for phase, hooks in (("mutating", case.mutating), ("validating", case.validating)):
            target = f"{HOOKS}/{phase}webhookconfigurations"
            self.send("DELETE", f"{target}/cases")
            webhooks = [
                {name: value for name, value in hook.items() if name != "path"}
                | {"clientConfig": {"url": f"https://{PORT}/{hook['path']}"}}
                for hook in hooks
            ]
            status, _, body = self.send("POST", target, {"metadata": {"name": "cases"}, "webhooks": webhooks})
            assert status == 201, body
            for hook in hooks:
                self.cluster.webhooks.handle_bytes(
                    f"https://{PORT}/{hook['path']}", self._handler(hook["path"])
                )

        for target, body in self._objects:
            self.send("DELETE", f"{target}/{body['metadata']['name']}")
        self._objects = case.objects
        for target, body in case.objects:
            status, _, created = self.send("POST", target, body)
            assert status == 201, created
        self.cluster.settle()

    def perform(self, step: Step) -> tuple[int, list[str], Any, list[tuple[str, Json]]]:
        self.calls.clear()
        self.behaviours = dict(step.webhooks)
        faults: dict[str, sim.WebhookFault] = {"timeout": "timeout", "refused": "refused"}
        for path, behave in step.webhooks.items():
            answer = behave({"object": None})
            if isinstance(answer, str):
                self.cluster.webhooks.fail(f"https://{PORT}/{path}", faults[answer])
        self.cluster.webhooks.calls.clear()
        status, warning_texts, body = self.send(step.method, step.target, step.body, step.media)
        calls = [
            (call.url.rpartition("/")[2], json.loads(call.body)["request"])
            for call in self.cluster.webhooks.calls
            if self._arrives(call.url.rpartition("/")[2])
        ]
        self.cluster.settle()
        return status, warning_texts, body, calls

    def _arrives(self, path: str) -> bool:
        behave = self.behaviours.get(path)
        return behave is None or behave({"object": None}) != "refused"

    def _handler(self, path: str) -> Any:
        def answer(body: bytes) -> bytes:
            request = json.loads(body)["request"]
            behave = self.behaviours.get(path)
            webhook_answer = {"allowed": True} if behave is None else behave(request)
            if isinstance(webhook_answer, tuple):
                if webhook_answer[0] != 200:
                    raise sim.WebhookError(*webhook_answer)
                return webhook_answer[1]
            assert isinstance(webhook_answer, dict)
            response = {"uid": request["uid"], **webhook_answer}
            review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
            return json.dumps(review).encode()

        return answer

    def send(self, method: str, target: str, body: Any = None, media: str = "application/json") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", "application/json"), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        answer = self.cluster.respond(RawRequest(method, target, headers, data), ADMIN)
        assert isinstance(answer.body, bytes)
        return answer.status, list(warnings(answer.headers)), json.loads(answer.body)

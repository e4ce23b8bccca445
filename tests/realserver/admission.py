"""Lets the real server call webhooks on this machine, and records the outcomes: ``make admission``."""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from admission_cases import CASES, HOOKS, NAMESPACE, POLICIES, RECORDED, Behaviour, Case, Json, Step, run_case
from subresource_cases import BODIES
from webhook_server import WebhookServer, serving_webhooks

from kubeproto.wire import RawRequest, inflate, warnings
from kubeproto_httpx import BlockingHttpxTransport

from . import RealServer, start
from .conversion import record as record_conversions

_KNOWN_WITHIN: Final = 60.0  # seconds
_PARAMETERS: Final = "/api/v1/namespaces/default/configmaps"
_POLICIES: Final = f"{HOOKS}/validatingadmissionpolicies"
_BINDINGS: Final = f"{HOOKS}/validatingadmissionpolicybindings"
_SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
_MADE_BY_CONTROLLERS: Final = (
    f"/api/v1/namespaces/{NAMESPACE}/configmaps/kube-root-ca.crt",
    f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default",
)


class RealWebhookCaller:
    """The real server with webhooks in this process.

    A server applies a configuration some time after it has accepted it. So each configuration ends in a
    sentinel, and a case begins when the server calls that webhook, or refuses by that policy.
    """

    def __init__(self, transport: BlockingHttpxTransport, webhooks: WebhookServer) -> None:
        self._transport = transport
        self._webhooks = webhooks
        self._objects: tuple[tuple[str, Json], ...] = ()
        self._rounds = 0
        self._sentinel_before = "none"
        self._send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for target in _MADE_BY_CONTROLLERS:  # such writes would call webhooks as well
            self._until(partial(self._exists, target))

    def _exists(self, target: str) -> bool:
        return bool(self._send("GET", target)[0] == 200)

    def configure(self, case: Case) -> None:
        refusing = {
            path for step in case.steps for path, behaviour in step.webhooks.items() if _refuses(behaviour)
        }
        self._rounds += 1
        for phase, hooks in (("mutating", case.mutating), ("validating", case.validating)):
            target = f"{HOOKS}/{phase}webhookconfigurations"
            self._send("DELETE", f"{target}/cases")
            hook_objects = [self._with_address(behaviour) for behaviour in (*hooks, self._sentinel(phase))]
            self._send("POST", target, {"metadata": {"name": "cases"}, "webhooks": hook_objects})
        assert len(refusing) <= 1
        for target, body in self._objects:
            self._send("DELETE", f"{target}/{body['metadata']['name']}")
        self._objects = case.objects
        for target, body in case.objects:
            status, _, created = self._send("POST", target, body)
            assert status == 201, created
        if case.objects:
            self._until_policies_are_known()
        self._until_called("mutating", "validating")

    def _sentinel(self, phase: str) -> Json:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
        return {
            "name": "sentinel.x.io",
            "path": f"sentinel-{phase}-{self._rounds}",
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
        }

    def _until_called(self, *phases: str) -> None:
        awaited = {f"sentinel-{phase}-{self._rounds}" for phase in phases}

        def called() -> bool:
            self._webhooks.calls.clear()
            self._try_secret("called")
            return awaited <= {path for path, _ in self._webhooks.calls}

        self._until(called)

    def _until_policies_are_known(self) -> None:
        """Wait for two refreshes, the second of which began when the server knew everything.

        A refresh reads bindings and then their policies one by one, so the first may have read a policy
        before it existed.
        """
        self._until_known(f"sentinel-{self._rounds}-first")
        self._until_known(f"sentinel-{self._rounds}-second")

    def _until_known(self, name: str) -> None:
        """Wait until the server knows a policy, a binding and a parameter of this name.

        The previous ones are deleted afterwards: without a policy with such parameters, a server stops
        following them.
        """
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
        refused = f"object.metadata.name == '{name}' && params.data.said == 'sentinel'"
        message = f"{name} is known"
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "validations": [{"expression": f"!({refused})", "message": message}],
        }
        reference = {"name": name, "namespace": "default", "parameterNotFoundAction": "Deny"}
        binding = {"policyName": name, "paramRef": reference, "validationActions": ["Deny"]}
        for target, fields in (
            (_PARAMETERS, {"data": {"said": "sentinel"}}),
            (_POLICIES, {"spec": spec}),
            (_BINDINGS, {"spec": binding}),
        ):
            status, _, created = self._send("POST", target, {"metadata": {"name": name}, **fields})
            assert status == 201, created
        self._until(lambda: message in str(self._try_secret(name)))
        for target in (_BINDINGS, _POLICIES, _PARAMETERS):
            self._send("DELETE", f"{target}/{self._sentinel_before}")
        self._sentinel_before = name

    def _try_secret(self, name: str) -> Any:
        """Return the outcome of a creation that only sentinels see, and that changes nothing."""
        return self._send("POST", f"{_SECRETS}?dryRun=All", {"metadata": {"name": name}})

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _KNOWN_WITHIN
        while not condition():
            assert time.monotonic() < end, "the server does not act on a new configuration"

    def perform(self, step: Step) -> tuple[int, list[str], Any, list[tuple[str, Json]]]:
        self._webhooks.behaviours = dict(step.webhooks)
        refused = [path for path, behaviour in step.webhooks.items() if _refuses(behaviour)]
        if refused:
            self._point(refused[0], 1)
        self._webhooks.calls.clear()
        status, warned, body = self._send(step.method, step.target, step.body, step.media)
        calls = _without_repetitions(self._webhooks.calls)
        if refused:
            self._point(refused[0], self._webhooks.server_port)
        return status, warned, body, calls

    def _point(self, path: str, port: int) -> None:
        """Point a webhook to another port: nobody listens on port 1."""
        target = f"{HOOKS}/validatingwebhookconfigurations/cases"
        _, _, configuration = self._send("GET", target)
        self._rounds += 1
        for hook in configuration["webhooks"]:
            if hook["name"] == f"{path}.x.io":
                hook["clientConfig"]["url"] = f"https://127.0.0.1:{port}/{path}"
        configuration["webhooks"][-1] = self._with_address(self._sentinel("validating"))
        self._send("PUT", target, configuration)
        self._until_called("validating")

    def _with_address(self, hook: Json) -> Json:
        fields = {name: value for name, value in hook.items() if name != "path"}
        bundle = base64.b64encode(self._webhooks.authority.cert_pem.bytes()).decode()
        url = f"https://127.0.0.1:{self._webhooks.server_port}/{hook['path']}"
        return fields | {"clientConfig": {"url": url, "caBundle": bundle}}

    def _send(self, method: str, target: str, body: Any = None, media: str = "application/json") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", "application/json"), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        with self._transport.send(RawRequest(method, target, headers, data), timeout=30) as incoming:
            text = inflate(incoming.headers, b"".join(incoming))
        return incoming.status, list(warnings(incoming.headers)), json.loads(text)


def _refuses(behave: Behaviour) -> bool:
    return behave({"object": None}) == "refused"


def _without_repetitions(calls: Sequence[tuple[str, Json]]) -> list[tuple[str, Json]]:
    """Return the calls without repeated reviews of validating webhooks, which differ in the uid only.

    A server takes the object of a deletion from its watch cache. If the cache lags behind the last write, the
    server reads the object from etcd and calls the validating webhooks again.
    """
    distinct: list[tuple[str, Json]] = []
    reviews: list[tuple[str, Json]] = []
    for path, request in calls:
        review = (path, request | {"uid": ""})
        if not path.startswith("v") or review not in reviews:
            distinct.append((path, request))
        reviews.append(review)
    return distinct


@contextmanager
def run_webhook_caller(server: RealServer) -> Generator[RealWebhookCaller]:
    """The server with its webhooks."""
    with serving_webhooks() as webhooks, BlockingHttpxTransport(server.connection) as transport:
        yield RealWebhookCaller(transport, webhooks)


def main() -> None:
    """Record the outcomes for `make test`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        start(Path(folder)) as server,
        run_webhook_caller(server) as caller,
    ):
        outcomes = {case.name: run_case(caller, case) for case in (*CASES, *POLICIES, BODIES)}
    RECORDED.write_text(json.dumps(outcomes, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{sum(map(len, outcomes.values()))} answers\n")
    record_conversions()


if __name__ == "__main__":
    main()

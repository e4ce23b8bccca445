"""Webhooks of a simulated cluster: their order, changes, refusals and failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

import kubeproto_sim as sim
from kubeproto.crd import AdmissionRequest, AdmissionVerdict, allow, change, deny
from kubeproto.wire import RawRequest

HOOKS: Final = "/apis/admissionregistration.k8s.io/v1"
MAPS: Final = "/api/v1/namespaces/default/configmaps"
PODS: Final = "/api/v1/namespaces/default/pods"
Json = dict[str, Any]
Handler = Callable[[AdmissionRequest], AdmissionVerdict]


def configure(cluster: sim.Cluster, phase: str, *names: str, **more: Any) -> None:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    cluster.put({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{phase.title()}WebhookConfiguration",
        "metadata": {"name": phase},
        "webhooks": [
            {
                "name": f"{name}.x.io", "rules": [rule], "sideEffects": "None", "timeoutSeconds": 3,
                "admissionReviewVersions": ["v1"], "matchPolicy": "Equivalent", "failurePolicy": "Fail",
                "clientConfig": {"service": {"namespace": "default", "name": "hooks", "path": f"/{name}"}},
                **more,
            }
            for name in names
        ],
    })  # fmt: skip


def send(
    target: sim.Cluster | sim.Faults, method: str, path: str, body: Any = None, **options: Any
) -> tuple[sim.ServerResponse, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    answer = target.respond(
        RawRequest(method, path, (("Content-Type", "application/json"),), data), **options
    )
    assert isinstance(answer.body, bytes)
    return answer, json.loads(answer.body)


def config(name: str, **data: str) -> Json:
    return {"metadata": {"name": name}, "data": data}


def test_webhooks_in_python_change_and_deny_objects() -> None:
    cluster = sim.Cluster()
    configure(cluster, "mutating", "mutate")
    configure(cluster, "validating", "validate")

    def mutate(request: AdmissionRequest) -> AdmissionVerdict:
        if request.object is None:
            return allow()
        return change({**request.object, "data": {"added": "1", **request.object["data"]}})

    def validate(request: AdmissionRequest) -> AdmissionVerdict:
        return (
            deny("no b here") if request.object and "b" in request.object["data"] else allow(warnings=["ok"])
        )

    cluster.webhooks.handle("default/hooks/mutate", mutate)
    cluster.webhooks.handle("default/hooks/validate", validate)
    answer, created = send(cluster, "POST", MAPS, config("one", a="1"))
    assert (answer.status, created["data"]) == (201, {"a": "1", "added": "1"})
    assert ("Warning", '299 - "ok"') in answer.headers
    answer, error_body = send(cluster, "POST", MAPS, config("two", b="1"))
    assert (answer.status, error_body["message"]) == (
        403, 'admission webhook "validate.x.io" denied the request: no b here',
    )  # fmt: skip
    assert cluster.get("v1/ConfigMap", "two") is None


def test_a_failing_webhook_takes_its_time_and_refuses_the_write() -> None:
    cluster = sim.Cluster()
    configure(cluster, "validating", "validate")
    cluster.webhooks.handle("default/hooks/validate", lambda _: allow())
    cluster.webhooks.fail("default/hooks/validate", "timeout")
    answer, error_body = send(cluster, "POST", MAPS, config("one"))
    assert (answer.status, answer.delay, error_body["reason"]) == (500, 3.0, "InternalError")
    assert "context deadline exceeded" in error_body["message"]
    answer, _ = send(cluster, "POST", MAPS, config("one"))
    assert (answer.status, answer.delay) == (201, 0.0)
    configure(cluster, "validating", "validate", failurePolicy="Ignore")
    cluster.webhooks.fail("default/hooks/validate", "timeout")
    answer, _ = send(cluster, "POST", MAPS, config("two"))
    assert (answer.status, answer.delay) == (201, 3.0)


def test_a_webhook_without_a_handler_is_unreachable() -> None:
    cluster = sim.Cluster()
    configure(cluster, "validating", "validate")
    _, error_body = send(cluster, "POST", MAPS, config("one"))
    assert 'service "hooks" not found' in error_body["message"]
    cluster.remove("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "validating")
    assert send(cluster, "POST", MAPS, config("one"))[0].status == 201


def test_a_broken_webhook_does_not_block_the_deletion_of_its_configuration() -> None:
    cluster = sim.Cluster()
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    configure(cluster, "validating", "validate", rules=[rule])
    assert send(cluster, "POST", MAPS, config("one"))[0].status == 500
    assert send(cluster, "DELETE", f"{HOOKS}/validatingwebhookconfigurations/validating")[0].status == 200


def test_a_dry_run_calls_no_webhook_with_side_effects() -> None:
    cluster = sim.Cluster()
    configure(cluster, "validating", "validate", sideEffects="NoneOnDryRun")
    cluster.webhooks.handle("default/hooks/validate", lambda _: allow())
    assert send(cluster, "POST", f"{MAPS}?dryRun=All", config("one"))[0].status == 201
    # A server accepts no other value now, but objects of older servers may have one.
    cluster.edit(
        "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "validating",
        lambda obj: obj["webhooks"][0].update(sideEffects="Some"),
    )  # fmt: skip
    answer, error_body = send(cluster, "POST", f"{MAPS}?dryRun=All", config("one"))
    assert (answer.status, error_body["message"]) == (
        400, 'admission webhook "validate.x.io" does not support dry run',
    )  # fmt: skip


def test_a_denied_object_can_be_written_later() -> None:
    cluster = sim.Cluster()
    configure(cluster, "validating", "validate")
    verdicts: Iterator[AdmissionVerdict] = iter([deny("not yet"), allow()])
    cluster.webhooks.handle("default/hooks/validate", lambda _: next(verdicts))
    initial_version = cluster.version
    assert send(cluster, "POST", MAPS, config("one"))[0].status == 403
    assert cluster.version == initial_version
    assert send(cluster, "POST", MAPS, config("one"))[0].status == 201


RULES: Final = (
    # the resources of a rule, the written resource, and whether the rule matches
    (["pods"], "pods", "", True), (["pods"], "pods", "status", False), (["pods/status"], "pods", "status",
    True),
    (["pods/*"], "pods", "status", True), (["pods/*"], "pods", "", True), (["*"], "configmaps", "", True),
    (["*"], "pods", "status", False), (["*/*"], "pods", "status", True), (["*/*"], "pods", "", True),
    (["*/scale"], "pods", "status", False), (["configmaps", "pods"], "pods", "", True),
)  # fmt: skip


@pytest.mark.parametrize(("resources", "plural", "subresource", "fits"), RULES)
def test_a_rule_matches_resources_and_subresources(
    resources: list[str], plural: str, subresource: str, fits: bool
) -> None:
    cluster = sim.Cluster()
    name, path = (
        ("b", f"/api/v1/namespaces/default/{plural}") if not subresource else ("a", f"{PODS}/a/status")
    )
    pod: Json = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip
    cluster.put(pod)
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": resources}
    configure(cluster, "validating", "validate", rules=[rule])
    cluster.webhooks.handle("default/hooks/validate", lambda _: deny("it fits"))
    body = config(name) if plural == "configmaps" else {**pod, "metadata": {"name": name}}
    answer, _ = send(cluster, "PUT" if subresource else "POST", path, body)
    assert (answer.status == 403) == fits
    assert fits or answer.status in (200, 201)


class ReplyingSender:
    """Performs the pending calls of webhooks like a server on a port, and sends the request again."""

    def __init__(self, handler: Callable[[Json], Json]) -> None:
        self.handler = handler
        self.sent_urls: list[str] = []

    def answer(self, target: sim.Cluster | sim.Faults, method: str, path: str, body: Any) -> Any:
        replies: dict[str, sim.WebhookReply] = {}
        while True:
            try:
                return send(target, method, path, body, replies=replies)
            except sim.PendingCalls as pending:
                for call in pending.calls:
                    self.sent_urls.append(call.url)
                    request = json.loads(call.body)["request"]
                    response = {"uid": request["uid"], **self.handler(request)}
                    review = {
                        "kind": "AdmissionReview",
                        "apiVersion": "admission.k8s.io/v1",
                        "response": response,
                    }
                    replies[call.key] = sim.WebhookReply(
                        200, json.dumps(review).encode(), request_body=call.body
                    )


def test_a_request_with_pending_calls_calls_each_webhook_once_and_writes_once() -> None:
    cluster = sim.Cluster()
    configure(cluster, "mutating", "m1", "m2")
    configure(cluster, "validating", "v1", "v2")
    initial_version, sender = cluster.version, ReplyingSender(lambda _: {"allowed": True})
    answer, _ = sender.answer(cluster, "POST", MAPS, config("one"))
    assert (answer.status, cluster.version) == (201, initial_version + 1)
    assert [url.rpartition("/")[2] for url in sender.sent_urls] == ["m1", "m2", "v1", "v2"]
    assert [str(exchange).rpartition(" ")[2] for exchange in cluster.log] == ["201"]


def test_a_fault_applies_once_to_a_request_with_pending_calls() -> None:
    cluster = sim.Cluster()
    configure(cluster, "validating", "v1")
    faults = sim.Faults(cluster, script=[sim.Delay(5.0)])
    answer, _ = ReplyingSender(lambda _: {"allowed": True}).answer(faults, "POST", MAPS, config("one"))
    assert (answer.status, answer.delay, len(faults.lines), faults.script) == (201, 5.0, 1, [])


def test_a_webhook_fault_applies_once_to_a_request_with_pending_calls() -> None:
    cluster = sim.Cluster()
    configure(cluster, "validating", "v1", "v2")
    cluster.webhooks.fail("default/hooks/v1", "error")
    sender = ReplyingSender(lambda _: {"allowed": True})
    answer, _ = sender.answer(cluster, "POST", MAPS, config("one"))
    assert answer.status == 500
    assert [url.rpartition("/")[2] for url in sender.sent_urls] == ["v2"]
    assert [call.url.rpartition("/")[2] for call in cluster.webhooks.calls] == ["v1", "v2"]


@given(st.lists(st.sampled_from(["allow", "deny", "change"]), min_size=1, max_size=4), st.booleans())
def test_a_write_has_the_same_outcome_in_process_and_by_replies(verdicts: list[str], ignores: bool) -> None:
    names = [f"h{number}" for number in range(len(verdicts))]

    def handler(name: str) -> Handler:
        def handle(request: AdmissionRequest) -> AdmissionVerdict:
            match verdicts[names.index(name)]:
                case "deny":
                    return deny(f"{name} says no")
                case "change" if request.object is not None:
                    return change({**request.object, "data": {**request.object["data"], name: "1"}})
                case _:
                    return allow()

        return handle

    outcomes: list[Any] = []
    for in_process in (True, False):
        cluster = sim.Cluster(seed=3)
        configure(cluster, "mutating", *names, failurePolicy="Ignore" if ignores else "Fail")
        answering = sim.WebhookHandlers()
        for name in names:
            (cluster.webhooks if in_process else answering).handle(f"default/hooks/{name}", handler(name))
        replies: dict[str, sim.WebhookReply] = {}
        while True:
            try:
                _, body = send(cluster, "POST", MAPS, config("one", a="1"), replies=replies)
                break
            except sim.PendingCalls as pending:
                for call in pending.calls:
                    replies[call.key] = sim.WebhookReply(
                        200, answering.reply_to(call, {}).body, request_body=call.body
                    )
        outcomes.append((body.get("data"), body.get("message")))
    assert outcomes[0] == outcomes[1]

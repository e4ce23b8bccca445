"""Conversion webhooks in process and by replies: reads, lists, watches, faults, and cached conversions."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from conversion_cases import GROUP, Case, convert_widget, definition

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

WEBHOOK: Final = "https://hooks.example/convert"
WIDGETS: Final = "namespaces/default/widgets"


def make_cluster(*, in_process: bool = True, modes: sim.Modes | None = None) -> sim.Cluster:
    cluster = sim.Cluster(crds=[definition(Case("", ()), {"url": WEBHOOK})], modes=modes or sim.Modes())
    if in_process:
        cluster.webhooks.handle_conversion(WEBHOOK, convert_widget)
    return cluster


def widget(name: str, version: str = "v2", **spec: Any) -> dict[str, Any]:
    body = {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}}
    return body | {"spec": spec or {"width": 1, "height": 2}}


def request(method: str, target: str, body: Any = None, media: str = "application/json") -> RawRequest:
    data = b"" if body is None else json.dumps(body).encode()
    return RawRequest(method, f"/apis/{GROUP}/{target}", (("Content-Type", media),), data)


def get_json(cluster: sim.Cluster, request: RawRequest) -> Any:
    answer = cluster.respond(request)
    assert isinstance(answer.body, bytes)
    return json.loads(answer.body)


def count_calls(cluster: sim.Cluster) -> int:
    """Return the number of calls of the webhook since the last count."""
    count = len(cluster.webhooks.calls)
    cluster.webhooks.calls.clear()
    return count


def events(watch: sim.ServerResponse) -> list[tuple[str, Any]]:
    body = watch.body
    assert not isinstance(body, bytes)
    lines = [json.loads(line) for line in body.take().splitlines()]
    return [(line["type"], line["object"].get("spec", {}).get("size", line["object"])) for line in lines]


def test_a_list_caches_conversions_and_a_read_does_not() -> None:
    cluster = make_cluster()
    for name in ("a", "b"):
        cluster.put(widget(name))
    count_calls(cluster)
    for expected in (2, 0):
        response = get_json(cluster, request("GET", f"v1/{WIDGETS}"))
        assert [item["spec"] for item in response["items"]] == [{"size": "1x2"}] * 2
        assert count_calls(cluster) == expected
    for _ in range(2):
        assert get_json(cluster, request("GET", f"v1/{WIDGETS}/a"))["spec"] == {"size": "1x2"}
        assert count_calls(cluster) == 1
    cluster.put(widget("a", width=5))
    response = get_json(cluster, request("GET", f"v1/{WIDGETS}"))
    assert [item["spec"]["size"] for item in response["items"]] == ["5x0", "1x2"]
    assert count_calls(cluster) == 1


def test_a_list_without_a_watch_cache_converts_each_time() -> None:
    cluster = make_cluster(modes=sim.Modes(watch_cache=False))
    cluster.put(widget("a"))
    for _ in range(2):
        get_json(cluster, request("GET", f"v1/{WIDGETS}"))
    assert count_calls(cluster) == 2


def test_an_open_watch_sends_each_change_in_its_version() -> None:
    cluster = make_cluster()
    cluster.put(widget("a"))
    watch = cluster.respond(request("GET", f"v1/{WIDGETS}?watch=1"))
    assert events(watch) == [("ADDED", "1x2")]
    cluster.put(widget("a", width=5))
    cluster.put(widget("b", "v1", size="7x8"))
    cluster.remove(f"{GROUP}/v2/Widget", "a")
    assert events(watch) == [("MODIFIED", "5x0"), ("ADDED", "7x8"), ("DELETED", "5x0")]
    count_calls(cluster)
    other = cluster.respond(request("GET", f"v1/{WIDGETS}?watch=1"))
    assert events(other) == [("ADDED", "7x8")]
    assert count_calls(cluster) == 0


def test_a_watch_ends_at_an_object_that_cannot_be_converted() -> None:
    cluster = make_cluster()
    watch = cluster.respond(request("GET", f"v1/{WIDGETS}?watch=1"))
    cluster.webhooks.fail(WEBHOOK, "error", times=2)
    cluster.put(widget("a"))
    assert events(watch) == []
    assert not isinstance(watch.body, bytes)
    assert watch.body.ended
    second_watch = cluster.respond(request("GET", f"v1/{WIDGETS}?watch=1"))
    [(change, status)] = events(second_watch)
    assert (change, status["code"], status["reason"]) == ("ERROR", 500, "InternalError")
    assert events(cluster.respond(request("GET", f"v1/{WIDGETS}?watch=1"))) == [("ADDED", "1x2")]


@pytest.mark.parametrize(
    ("fault", "expected_message", "expected_delay"),
    [
        ("error", 'an error on the server ("unknown") has prevented the request from succeeding', 0),
        ("refused", "dial tcp hooks.example: connect: connection refused", 0),
        ("timeout", "net/http: request canceled (Client.Timeout exceeded while awaiting headers)", 30),
        ("garbage", "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got", 0),
    ],
)
def test_a_webhook_fault_fails_the_request_after_its_delay(
    fault: Any, expected_message: str, expected_delay: float
) -> None:
    cluster = make_cluster()
    cluster.put(widget("a"))
    cluster.webhooks.fail(WEBHOOK, fault)
    answer = cluster.respond(request("GET", f"v1/{WIDGETS}/a"))
    assert (answer.status, answer.delay) == (500, expected_delay)
    assert isinstance(answer.body, bytes)
    assert expected_message in json.loads(answer.body)["message"]
    assert get_json(cluster, request("GET", f"v1/{WIDGETS}/a"))["spec"] == {"size": "1x2"}


def test_a_request_whose_timeout_is_shorter_than_the_webhook_times_out() -> None:
    cluster = make_cluster()
    cluster.put(widget("a"))
    cluster.webhooks.fail(WEBHOOK, "timeout")
    answer = cluster.respond(request("GET", f"v1/{WIDGETS}/a?timeout=3s"))
    assert (answer.status, answer.delay) == (504, 3)


def test_a_write_takes_effect_even_if_its_response_cannot_be_converted() -> None:
    cluster = make_cluster()

    def only_up(obj: dict[str, Any], version: str) -> dict[str, Any]:
        if version.endswith("v1"):
            raise ValueError("there is no way back")
        return convert_widget(obj, version)

    cluster.webhooks.handle_conversion(WEBHOOK, only_up)
    response = get_json(cluster, request("POST", f"v1/{WIDGETS}", widget("a", "v1", size="3x4")))
    assert (response["code"], response["message"].rpartition(": ")[2]) == (500, "there is no way back")
    assert get_json(cluster, request("GET", f"v2/{WIDGETS}/a"))["spec"] == {"width": 3, "height": 4}


def test_a_changed_definition_uses_its_new_webhook_and_ends_watches() -> None:
    cluster = make_cluster()
    cluster.put(widget("a"))
    watch = cluster.respond(request("GET", f"v1/{WIDGETS}?watch=1"))
    get_json(cluster, request("GET", f"v1/{WIDGETS}"))
    cluster.define(definition(Case("", ()), {"url": "https://other.example/convert"}))
    assert not isinstance(watch.body, bytes)
    watch.body.take()
    assert watch.body.ended
    response = get_json(cluster, request("GET", f"v1/{WIDGETS}/a"))
    assert "other.example" in response["message"]


def test_a_fork_and_a_restored_cluster_convert() -> None:
    cluster = make_cluster()
    cluster.put(widget("a"))
    twin = cluster.fork()
    assert get_json(twin, request("GET", f"v1/{WIDGETS}/a"))["spec"] == {"size": "1x2"}
    snapshot = cluster.snapshot()
    cluster.restore(snapshot)
    assert get_json(cluster, request("GET", f"v1/{WIDGETS}/a"))["spec"] == {"size": "1x2"}


# By replies, like a driver that can send requests.


def make_reply(call: sim.WebhookCall) -> sim.WebhookReply:
    """Return the reply of the webhook to a call."""
    handlers = sim.WebhookHandlers()
    handlers.handle_conversion(WEBHOOK, convert_widget)
    return sim.WebhookReply(200, handlers.reply_to(call, {}).body, request_body=call.body)


def respond_with_replies(
    cluster: sim.Cluster, request: RawRequest, between: Any = None
) -> tuple[sim.ServerResponse, list[int]]:
    """Respond to a request, and return the response and the number of calls in each round."""
    replies: dict[str, sim.WebhookReply] = {}
    rounds: list[int] = []
    while True:
        try:
            return cluster.respond(request, None, replies), rounds
        except sim.PendingCalls as pending:
            rounds.append(len(pending.calls))
            replies |= {call.key: make_reply(call) for call in pending.calls}
            if between is not None:
                between()


def test_a_list_needs_a_single_round_of_calls_for_any_number_of_objects() -> None:
    cluster = make_cluster(in_process=False)
    for number in range(20):
        cluster.put(widget(f"w{number:02}", width=number, height=0))
    answer, rounds = respond_with_replies(cluster, request("GET", f"v1/{WIDGETS}"))
    assert isinstance(answer.body, bytes)
    sizes = [item["spec"]["size"] for item in json.loads(answer.body)["items"]]
    assert sizes == [f"{number}x0" for number in range(20)]
    assert rounds == [20]
    assert respond_with_replies(cluster, request("GET", f"v1/{WIDGETS}"))[1] == []


def test_a_write_with_pending_calls_keeps_its_final_uid() -> None:
    cluster = make_cluster(in_process=False)
    others = iter(range(9))

    def another_request() -> None:
        cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{next(others)}"}})

    body = widget("a", "v1", size="3x4")
    answer, rounds = respond_with_replies(cluster, request("POST", f"v1/{WIDGETS}", body), another_request)
    assert isinstance(answer.body, bytes)
    created = json.loads(answer.body)
    assert (answer.status, created["spec"], rounds) == (201, {"size": "3x4"}, [1, 1])
    stored = cluster.get(f"{GROUP}/v2/Widget", "a")
    assert stored is not None
    assert (stored["metadata"]["uid"], stored["spec"]) == (
        created["metadata"]["uid"],
        {"width": 3, "height": 4},
    )


@pytest.mark.parametrize("cached", [True, False])
def test_an_open_watch_waits_for_the_replies_to_its_calls(cached: bool) -> None:
    cluster = make_cluster(in_process=False, modes=sim.Modes(watch_cache=cached))
    watch, _ = respond_with_replies(cluster, request("GET", f"v1/{WIDGETS}?watch=1"))
    woken: list[str] = []
    cluster.on_due = lambda: woken.append("due")
    cluster.put(widget("a"))
    cluster.put(widget("b", width=7))
    woken.clear()
    assert events(watch) == []
    assert woken
    calls = cluster.background_calls()
    assert (len(calls), cluster.background_calls()) == (2, ())
    assert events(watch) == []
    cluster.take_reply(calls[1], make_reply(calls[1]))
    assert events(watch) == []  # in order
    cluster.take_reply(calls[0], make_reply(calls[0]))
    assert events(watch) == [("ADDED", "1x2"), ("ADDED", "7x0")]
    assert cluster.background_calls() == ()


def test_a_fault_applies_once_to_a_conversion_with_pending_calls() -> None:
    cluster = make_cluster(in_process=False)
    cluster.put(widget("a"))
    cluster.put(widget("b"))
    cluster.webhooks.fail(WEBHOOK, "error")
    answer, _ = respond_with_replies(cluster, request("GET", f"v1/{WIDGETS}"))
    assert answer.status == 500
    answer, _ = respond_with_replies(cluster, request("GET", f"v1/{WIDGETS}"))
    assert answer.status == 200

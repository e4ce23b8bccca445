"""Single faults, as a client meets them."""

from __future__ import annotations

from typing import Any

import pytest
from raw_client import BOOKS, Book, RawClient, events

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.wire import RawRequest

BOOK: dict[str, Any] = {
    "apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "a", "namespace": "default"},
    "spec": {"title": "t"},
}  # fmt: skip
GET = RawRequest("GET", BOOKS)


def cluster() -> sim.Cluster:
    faulty_cluster = sim.Cluster(crds=[Book])
    faulty_cluster.put(BOOK)
    return faulty_cluster


def read(faults: sim.Faults, request: RawRequest, *, idle: float = 75.0) -> tuple[int, bytes]:
    """Return the status and the complete body of a response."""
    with faults.blocking_transport().send(request, idle=idle) as incoming:
        return incoming.status, b"".join(incoming)


def watch_head(to: sim.Cluster) -> RawRequest:
    return RawRequest("GET", f"{BOOKS}?watch=true&resourceVersion={to.version}&timeoutSeconds=300")


def test_a_scripted_fault_affects_only_the_first_matching_request() -> None:
    faults = sim.Faults(cluster(), script=[sim.ErrorEvent(503), sim.Html()])
    assert read(faults, GET)[0] == 502
    assert read(faults, GET)[0] == 200
    status, body = read(faults, watch_head(faults.cluster))
    assert (status, events(body)[0][1]["code"]) == (200, 503)
    assert [line.split(None, 1)[1] for line in faults.transcript.splitlines()] == [
        f"GET {BOOKS} !! Html(code=502)",
        f"GET {BOOKS} -> 200",
        f"{watch_head(faults.cluster).method} {watch_head(faults.cluster).target} !! ErrorEvent(code=503)",
    ]


def test_a_body_is_truncated_at_any_byte_with_or_without_an_error() -> None:
    body = read(sim.Faults(cluster()), GET)[1]
    for length in (0, 1, 17, len(body) - 1):
        faults = sim.Faults(cluster(), script=[sim.Cut(length)])
        pieces: list[bytes] = []
        with (
            faults.blocking_transport().send(GET) as incoming,
            pytest.raises(kp.TransportError, match="reset"),
        ):
            pieces.extend(incoming)
        assert b"".join(pieces) == body[:length]
        assert read(sim.Faults(cluster(), script=[sim.Cut(length, clean=True)]), GET)[1] == body[:length]


def test_a_half_open_stream_is_silent_until_the_client_times_out() -> None:
    faults = sim.Faults(cluster(), script=[sim.HalfOpen()])
    start = faults.cluster.now
    with pytest.raises(kp.DeadlineExceeded):
        read(faults, watch_head(faults.cluster), idle=75)
    assert faults.cluster.now - start == 75


@pytest.mark.parametrize("fault", [sim.LoseResponse(), sim.Fail(after=True)])
def test_a_write_may_take_effect_although_its_response_is_lost(fault: sim.Fault) -> None:
    faults = sim.Faults(sim.Cluster(crds=[Book]), script=[fault])
    raw_client = RawClient(faults.cluster)
    request = RawRequest("POST", BOOKS, (("Content-Type", "application/json"),), kp_json(BOOK))
    if isinstance(fault, sim.LoseResponse):
        with pytest.raises(kp.TransportError):
            read(faults, request)
    else:
        assert read(faults, request)[0] == 500
    assert raw_client.send("GET", f"{BOOKS}/a").status == 200


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (sim.Fail(), 500),
        (sim.ForceConflict(), 409),
        (sim.Throttle(plain=False), 429),
        (sim.ExpireCredentials(), 401),
    ],
)
def test_a_refused_write_has_no_effect(fault: sim.Fault, status: int) -> None:
    faults = sim.Faults(sim.Cluster(crds=[Book]), script=[fault])
    version = faults.cluster.version
    request = RawRequest("POST", BOOKS, (("Content-Type", "application/json"),), kp_json(BOOK))
    assert read(faults, request)[0] == status
    assert faults.cluster.version == version


def test_two_faults_of_the_same_request_both_apply() -> None:
    page = read(sim.Faults(cluster(), script=[sim.Html()]), GET)[1]
    faults = sim.Faults(cluster(), script=[sim.Both(sim.Cut(30), sim.Both(sim.Delay(4.0), sim.Html()))])
    answer = faults.respond(GET)
    assert (answer.status, answer.delay) == (502, 4.0)
    assert not isinstance(answer.body, bytes)
    assert answer.body.take() == page[:30]
    with pytest.raises(kp.TransportError, match="reset"):
        answer.body.take()


def test_two_faults_wait_for_a_request_that_matches_both() -> None:
    faults = sim.Faults(cluster(), script=[sim.Both(sim.Delay(), sim.ErrorEvent(503))])
    assert read(faults, GET)[0] == 200
    status, body = read(faults, watch_head(faults.cluster))
    assert (status, events(body)[0][1]["code"]) == (200, 503)


def test_a_refused_connection_is_a_connect_error() -> None:
    with pytest.raises(kp.ConnectError):
        read(sim.Faults(cluster(), script=[sim.RefuseConnection()]), GET)


def test_sv_28_a_busy_server_answers_in_plain_text_with_the_seconds_in_a_header() -> None:
    answer = sim.Faults(cluster(), script=[sim.Throttle(seconds=2)]).respond(GET)
    assert answer.body == b"Too many requests, please try again later.\n"
    assert dict(answer.headers)["Retry-After"] == "2"
    assert dict(answer.headers)["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("form", "status", "reason"),
    [("in-stream", 200, "Expired"), ("http-expired", 410, "Expired"), ("http-gone", 410, "Gone")],
)
def test_a_version_expires_in_each_form(form: Any, status: int, reason: str) -> None:
    faults = sim.Faults(cluster(), script=[sim.Expire(form)])
    response, body = read(faults, watch_head(faults.cluster))
    assert response == status
    assert reason.encode() in body


def test_a_lagging_replica_returns_an_older_state() -> None:
    faults = sim.Faults(cluster(), script=[sim.Lag(1)])
    faults.cluster.put(BOOK | {"spec": {"title": "u"}})
    request = RawRequest("GET", f"{BOOKS}?resourceVersion=0")
    assert b'"title":"t"' in read(faults, request)[1]
    assert b'"title":"u"' in read(faults, request)[1]


def test_a_response_is_delayed_and_may_exceed_the_timeout() -> None:
    faults = sim.Faults(cluster(), script=[sim.Delay(5), sim.Delay(5)])
    start = faults.cluster.now
    assert read(faults, GET)[0] == 200
    assert faults.cluster.now - start == 5
    with pytest.raises(kp.DeadlineExceeded):
        read(faults, GET, idle=3)
    assert faults.cluster.now - start == 8


def test_random_faults_depend_on_the_seed_and_stop_when_disabled() -> None:
    def lines(seed: int) -> list[str]:
        faults = sim.Faults(cluster(), seed=seed, share=0.5)
        for _ in range(40):
            try:
                faults.respond(GET)
            except kp.TransportError:
                continue
        faults.calm()
        faults.respond(GET)
        return list(faults.lines)

    assert lines(1) == lines(1)
    assert lines(1) != lines(2)
    assert 8 < sum("!!" in line for line in lines(1)) < 32
    assert lines(1)[-1].endswith("-> 200")


def test_a_transcript_retains_only_the_latest_requests() -> None:
    faults = sim.Faults(cluster())
    faults.cluster.keeps_log = False
    for number in range(20_010):
        faults.respond(RawRequest("GET", f"/{number}"))
    assert len(faults.lines) == 20_000
    assert faults.lines[0].endswith("GET /10 -> 404")
    assert faults.lines[-1].endswith("GET /20009 -> 404")


def kp_json(value: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(value)


def test_a_reader_of_a_truncated_body_is_woken_as_by_any_other() -> None:
    faults = sim.Faults(cluster(), script=[sim.Cut(after=100_000)])
    body = faults.respond(watch_head(faults.cluster)).body
    assert not isinstance(body, bytes)
    woken: list[str] = []
    body.wake = lambda: woken.append("woken")
    faults.cluster.put(BOOK | {"spec": {"title": "another"}})
    assert woken == ["woken"]
    faults.cluster.end_watches()
    assert woken == ["woken"] * 2
    assert body.ended

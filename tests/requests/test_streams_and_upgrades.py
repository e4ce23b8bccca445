"""Requests with endless responses: watches, followed logs and WebSockets."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, strategies as st
from request_kinds import CONFIG_MAPS, PODS

import kubeproto as kp

UNAUTHORIZED = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}'


def split_at_sizes(data: bytes, sizes: list[int]) -> list[bytes]:
    parts: list[bytes] = []
    for size in sizes:
        parts.append(data[:size])
        data = data[size:]
    return [*parts, data]


@given(lines=st.lists(st.binary(max_size=9)), sizes=st.lists(st.integers(0, 6)))
def test_chunk_boundaries_do_not_change_the_lines_of_a_followed_log(
    lines: list[bytes], sizes: list[int]
) -> None:
    log = b"\n".join(lines)
    decoder = PODS.follow_log("p").open(200, ())
    received_lines = [
        line for chunk in split_at_sizes(log, sizes) for line in decoder.feed(chunk)
    ] + decoder.finish()
    content = log.split(b"\n")
    assert received_lines == (content if content[-1] else content[:-1])


def test_an_endless_line_is_returned_in_parts_and_not_buffered() -> None:
    decoder = PODS.follow_log("p").open(200, ())
    parts = [chunk for _ in range(40) for chunk in decoder.feed(b"x" * 100_000)] + decoder.finish()
    assert b"".join(parts) == b"x" * 4_000_000
    assert max(map(len, parts)) <= 1 << 20


def test_rq_25_a_refused_log_is_an_error_and_an_accepted_log_is_its_lines() -> None:
    error_decoder = PODS.follow_log("p").open(401, ())
    assert [error_decoder.feed(chunk) for chunk in split_at_sizes(UNAUTHORIZED, [5, 20])] == [[], [], []]
    with pytest.raises(kp.Unauthorized, match=r"^GET /api/v1/namespaces/w/pods/p/log: 401 Unauthorized"):
        error_decoder.finish()
    log_decoder = PODS.follow_log("p").open(200, ())
    assert log_decoder.feed(b"one\r\ntwo") == [b"one\r"]
    assert log_decoder.finish() == [b"two"]


def test_an_endless_error_body_is_not_buffered() -> None:
    error_decoder = PODS.follow_log("p").open(500, ())
    tracemalloc.start()
    for _ in range(80):
        error_decoder.feed(b"x" * 100_000)
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory < 2_000_000
    with pytest.raises(kp.ApiError) as raised:
        error_decoder.finish()
    assert len(str(raised.value)) < 3000


def test_rq_24_a_refused_watch_is_an_error_and_an_accepted_watch_is_its_events() -> None:
    error_decoder = CONFIG_MAPS.watch().open(403, ())
    forbidden = UNAUTHORIZED.replace(b"Unauthorized", b"Forbidden").replace(b"401", b"403")
    (failed,) = error_decoder.feed(forbidden) + error_decoder.finish()
    assert isinstance(failed, kp.WatchFailed)
    assert failed.status.reason == "Forbidden"
    log_decoder = CONFIG_MAPS.watch().open(200, ())
    (event,) = log_decoder.feed(
        b'{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}}\n'
    )
    assert isinstance(event, kp.Added)
    assert log_decoder.finish() == []


def test_an_exec_offers_protocols_and_checks_the_choice_of_the_server() -> None:
    request = PODS.exec("p", ["ls"])
    assert request.protocols == ("v5.channel.k8s.io", "v4.channel.k8s.io")
    assert request.accepted((("Sec-WebSocket-Protocol", "v4.channel.k8s.io"),)) == "v4.channel.k8s.io"
    for headers in ((), (("Sec-WebSocket-Protocol", "base64.channel.k8s.io"),)):
        with pytest.raises(kp.RemoteProtocolError, match="GET /api/v1/namespaces/w/pods/p/exec"):
            request.accepted(headers)


def test_a_response_without_upgrade_or_error_is_a_protocol_error() -> None:
    request = PODS.port_forward("p", [80])
    assert isinstance(request.refused(401, (), UNAUTHORIZED), kp.Unauthorized)
    for status in (200, 204, 302):
        with pytest.raises(kp.RemoteProtocolError, match=f"the response is {status}, not 101"):
            request.refused(status, (), b"")

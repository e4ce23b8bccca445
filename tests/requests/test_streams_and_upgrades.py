"""Requests whose answer does not end by itself: watches, logs that are followed, and WebSockets."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, strategies as st
from request_kinds import CONFIG_MAPS, PODS

import kubeproto as kp

UNAUTHORIZED = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}'


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces: list[bytes] = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@given(lines=st.lists(st.binary(max_size=9)), sizes=st.lists(st.integers(0, 6)))
def test_a_followed_log_is_its_lines_however_it_is_cut(lines: list[bytes], sizes: list[int]) -> None:
    log = b"\n".join(lines)
    decoder = PODS.follow_log("p").open(200, ())
    seen = [line for chunk in cut(log, sizes) for line in decoder.feed(chunk)] + decoder.finish()
    content = log.split(b"\n")
    assert seen == (content if content[-1] else content[:-1])


def test_a_line_without_end_comes_in_pieces_and_is_not_kept() -> None:
    decoder = PODS.follow_log("p").open(200, ())
    pieces = [chunk for _ in range(40) for chunk in decoder.feed(b"x" * 100_000)] + decoder.finish()
    assert b"".join(pieces) == b"x" * 4_000_000
    assert max(map(len, pieces)) <= 1 << 20


def test_rq_25_a_refused_log_is_an_error_and_a_good_one_its_bytes() -> None:
    refused = PODS.follow_log("p").open(401, ())
    assert [refused.feed(chunk) for chunk in cut(UNAUTHORIZED, [5, 20])] == [[], [], []]
    with pytest.raises(kp.Unauthorized, match=r"^GET /api/v1/namespaces/w/pods/p/log: 401 Unauthorized"):
        refused.finish()
    good = PODS.follow_log("p").open(200, ())
    assert good.feed(b"one\r\ntwo") == [b"one\r"]
    assert good.finish() == [b"two"]


def test_an_endless_refusal_is_not_kept() -> None:
    refused = PODS.follow_log("p").open(500, ())
    tracemalloc.start()
    for _ in range(80):
        refused.feed(b"x" * 100_000)
    previous_lines, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert previous_lines < 2_000_000
    with pytest.raises(kp.ApiError) as caught:
        refused.finish()
    assert len(str(caught.value)) < 3000


def test_rq_24_a_refused_watch_is_a_status_and_a_good_one_its_events() -> None:
    refused = CONFIG_MAPS.watch().open(403, ())
    forbidden = UNAUTHORIZED.replace(b"Unauthorized", b"Forbidden").replace(b"401", b"403")
    (failed,) = refused.feed(forbidden) + refused.finish()
    assert isinstance(failed, kp.WatchFailed)
    assert failed.status.reason == "Forbidden"
    good = CONFIG_MAPS.watch().open(200, ())
    (event,) = good.feed(
        b'{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}}\n'
    )
    assert isinstance(event, kp.Added)
    assert good.finish() == []


def test_an_exec_offers_its_protocols_and_checks_the_choice() -> None:
    request = PODS.exec("p", ["ls"])
    assert request.protocols == ("v5.channel.k8s.io", "v4.channel.k8s.io")
    assert request.accepted((("Sec-WebSocket-Protocol", "v4.channel.k8s.io"),)) == "v4.channel.k8s.io"
    for headers in ((), (("Sec-WebSocket-Protocol", "base64.channel.k8s.io"),)):
        with pytest.raises(kp.RemoteProtocolError, match="GET /api/v1/namespaces/w/pods/p/exec"):
            request.accepted(headers)


def test_a_response_that_neither_upgrades_nor_refuses_makes_no_sense() -> None:
    request = PODS.port_forward("p", [80])
    assert isinstance(request.refused(401, (), UNAUTHORIZED), kp.Unauthorized)
    for status in (200, 204, 302):
        with pytest.raises(kp.RemoteProtocolError, match=f"the response is {status}, not 101"):
            request.refused(status, (), b"")

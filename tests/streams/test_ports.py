"""The channels of port-forward: two a port, each opened by the port's number."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproto import LocalProtocolError, RemoteProtocolError
from kubeproto.streams import Arrived, PortChannels, PortEvent, Unreached

PORTS = (8080, 53)
OPENINGS = (b"\0\x90\x1f", b"\1\x90\x1f", b"\2\x35\0", b"\3\x35\0")


def opened() -> PortChannels:
    channels = PortChannels(PORTS)
    assert [channels.feed(message) for message in OPENINGS] == [None] * 4
    return channels


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (b"\0hello", Arrived(8080, b"hello")),
        (b"\2dns", Arrived(53, b"dns")),
        (b"\0", None),
        (b"\1nobody listens", Unreached(8080, "nobody listens")),
        (b"\3\xff", Unreached(53, "\ufffd")),
        (b"\3", None),
    ],
)
def test_what_a_message_says(message: bytes, event: PortEvent | None) -> None:
    assert opened().feed(message) == event


def test_the_number_of_the_port_may_come_in_pieces_and_with_what_follows() -> None:
    channels = PortChannels(PORTS)
    assert channels.feed(b"\0\x90") is None
    assert channels.feed(b"\0") is None
    assert channels.feed(b"\0\x1fhello") == Arrived(8080, b"hello")


@pytest.mark.parametrize("message", [b"\0\x91\x1f", b"\0\x90\x20", b"\1\x35\0", b"\2\x90", b"\3no such pod"])
def test_another_number_than_the_one_asked_for_is_an_error(message: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="with another port"):
        PortChannels(PORTS).feed(message)


@pytest.mark.parametrize("message", [b"", b"\4", b"\xff\0"])
def test_a_channel_that_was_not_asked_for_is_an_error(message: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="names no channel"):
        opened().feed(message)


@given(data=st.binary(max_size=100_000))
def test_what_is_sent_arrives_whole_on_the_channel_of_its_port(data: bytes) -> None:
    messages = PortChannels(PORTS).send(53, data)
    assert all(message[:1] == b"\2" and 1 < len(message) <= 1 + 32 * 1024 for message in messages)
    assert b"".join(message[1:] for message in messages) == data


def test_a_port_that_was_not_asked_for_cannot_be_written_to() -> None:
    with pytest.raises(LocalProtocolError, match="port 80 was not asked for"):
        PortChannels(PORTS).send(80, b"x")


def test_another_protocol_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="SPDY"):
        PortChannels(PORTS, "SPDY/3.1+portforward.k8s.io")


@given(st.lists(st.binary(max_size=6)))
def test_whatever_a_server_says_gives_events_or_an_error_of_ours(messages: list[bytes]) -> None:
    channels = PortChannels(PORTS)
    try:
        for message in messages:
            channels.feed(message)
    except RemoteProtocolError:
        pass


@given(
    data=st.binary(min_size=1, max_size=40),
    cuts=st.sets(st.integers(1, 39)),
)
def test_how_the_bytes_of_a_port_are_cut_makes_no_difference(data: bytes, cuts: set[int]) -> None:
    stream = b"\x90\x1f" + data
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    channels = PortChannels(PORTS)
    events = [channels.feed(b"\0" + stream[a:b]) for a, b in pairwise(places)]
    assert b"".join(event.data for event in events if isinstance(event, Arrived)) == data

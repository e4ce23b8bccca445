"""The channels of port-forward: two for each port, each prefixed with its number."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kubeproto import LocalProtocolError, RemoteProtocolError
from kubeproto.streams import PortChannels, PortData, PortError

PORTS = (8080, 53)
OPENINGS = (b"\0\x90\x1f", b"\1\x90\x1f", b"\2\x35\0", b"\3\x35\0")


def opened() -> PortChannels:
    channels = PortChannels(PORTS)
    assert [channels.feed(message) for message in OPENINGS] == [None] * 4
    return channels


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (b"\0hello", PortData(8080, b"hello")),
        (b"\2dns", PortData(53, b"dns")),
        (b"\0", None),
        (b"\1nobody listens", PortError(8080, "nobody listens")),
        (b"\3\xff", PortError(53, "\ufffd")),
        (b"\3", None),
    ],
)
def test_a_message_has_an_event(message: bytes, event: PortData | PortError | None) -> None:
    assert opened().feed(message) == event


def test_the_port_number_may_be_split_and_precede_data() -> None:
    channels = PortChannels(PORTS)
    assert channels.feed(b"\0\x90") is None
    assert channels.feed(b"\0") is None
    assert channels.feed(b"\0\x1fhello") == PortData(8080, b"hello")


@pytest.mark.parametrize("message", [b"\0\x91\x1f", b"\0\x90\x20", b"\1\x35\0", b"\2\x90", b"\3no such pod"])
def test_the_number_of_another_port_is_an_error(message: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="for a port other than"):
        PortChannels(PORTS).feed(message)


@pytest.mark.parametrize("message", [b"", b"\4", b"\xff\0"])
def test_a_channel_that_was_not_requested_is_an_error(message: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="without a channel"):
        opened().feed(message)


@given(data=st.binary(max_size=100_000))
def test_data_is_sent_completely_on_the_channel_of_its_port(data: bytes) -> None:
    messages = PortChannels(PORTS).send(53, data)
    assert all(message[:1] == b"\2" and 1 < len(message) <= 1 + 32 * 1024 for message in messages)
    assert b"".join(message[1:] for message in messages) == data


def test_a_port_that_was_not_requested_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="port 80 was not requested"):
        PortChannels(PORTS).send(80, b"x")


def test_another_protocol_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="SPDY"):
        PortChannels(PORTS, "SPDY/3.1+portforward.k8s.io")


@given(st.lists(st.binary(max_size=6)))
def test_any_messages_give_events_or_a_protocol_error(messages: list[bytes]) -> None:
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
def test_the_boundaries_of_messages_do_not_matter(data: bytes, cuts: set[int]) -> None:
    stream = b"\x90\x1f" + data
    bounds = [0, *sorted(offset for offset in cuts if offset < len(stream)), len(stream)]
    channels = PortChannels(PORTS)
    events = [channels.feed(b"\0" + stream[start:end]) for start, end in pairwise(bounds)]
    assert b"".join(event.data for event in events if isinstance(event, PortData)) == data

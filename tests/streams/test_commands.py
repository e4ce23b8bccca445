"""The channels of exec and attach: every allowed message of both sides, and invalid messages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kubeproto import LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto.objects import Status
from kubeproto.streams import CommandChannels, CommandEvent, Exited, Stderr, Stdout

V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"

# Statuses as a kubelet writes them.
SUCCESS = b'{"metadata":{},"status":"Success"}'
THREE = (
    b'{"metadata":{},"status":"Failure","message":"command terminated with exit code 3","reason":'
    b'"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}'
)
BROKEN = (
    b'{"metadata":{},"status":"Failure","message":"no such container","reason":"InternalError","code":500}'
)


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (b"\1hello\n", Stdout(b"hello\n")),
        (b"\1", None),  # the server opens each stream with one of these
        (b"\2oops", Stderr(b"oops")),
        (b"\2", None),
        (b"\3", None),
        (b"\0stdin is written by the client", None),
        (b"\4", None),
        (b"\5from a later version", None),
        (b"\xff\1", None),  # stdout has ended
        (b"\xff", None),
    ],
)
def test_a_message_has_an_event(message: bytes, event: CommandEvent | None) -> None:
    assert CommandChannels(V5).feed(message) == event


@pytest.mark.parametrize("protocol", [V4, V5])
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (SUCCESS, 0),
        (THREE, 3),
        (BROKEN, None),
        (THREE.replace(b'"3"', b'"many"'), None),
        (THREE.replace(b'"ExitCode"', b'"Other"'), None),
        (b'{"status":"Failure"}', None),
    ],
)
def test_sv_24_the_final_status_contains_the_exit_code_if_there_is_a_code(
    protocol: str, status: bytes, code: int | None
) -> None:
    channels = CommandChannels(protocol)
    event = channels.feed(b"\3" + status)
    assert isinstance(event, Exited)
    assert event.code == code
    assert channels.exited is event
    channels.close()


def test_the_status_has_all_fields_of_the_server() -> None:
    event = CommandChannels(V5).feed(b"\3" + BROKEN)
    assert isinstance(event, Exited)
    expected = Status(status="Failure", message="no such container", reason="InternalError", code=500)
    assert event.status == expected


@given(cuts=st.sets(st.integers(1, len(THREE) - 1)))
def test_a_status_may_be_split_into_messages(cuts: set[int]) -> None:
    channels = CommandChannels(V5)
    bounds = [0, *sorted(cuts), len(THREE)]
    events = [channels.feed(b"\3" + THREE[start:end]) for start, end in pairwise(bounds)]
    assert events[:-1] == [None] * len(cuts)
    assert isinstance(events[-1], Exited)
    assert events[-1].code == 3


def test_a_close_without_a_status_is_an_error() -> None:
    with pytest.raises(TransportError, match="without sending the command's exit status"):
        CommandChannels(V5).close()


@pytest.mark.parametrize(
    "content", [b"exit status 1", b"[]", b'{"status":"Maybe"}', b"\xff", b"[" * 5000, THREE[:-1]]
)
def test_an_invalid_status_is_an_error_when_the_server_closes(content: bytes) -> None:
    channels = CommandChannels(V5)
    assert channels.feed(b"\3" + content) is None
    with pytest.raises(RemoteProtocolError, match="not a Status"):
        channels.close()


def test_a_second_status_is_an_error() -> None:
    channels = CommandChannels(V5)
    channels.feed(b"\3" + SUCCESS)
    with pytest.raises(RemoteProtocolError, match="too long"):
        channels.feed(b"\3" + SUCCESS)


def test_an_endless_status_is_an_error() -> None:
    channels = CommandChannels(V5)
    for _ in range(32):
        assert channels.feed(b"\3" + b" " * 32768) is None
    with pytest.raises(RemoteProtocolError, match="too long"):
        channels.feed(b"\3 ")


def test_a_message_without_a_channel_is_an_error() -> None:
    with pytest.raises(RemoteProtocolError, match="without a channel"):
        CommandChannels(V5).feed(b"")


@given(data=st.binary(max_size=200_000))
def test_stdin_arrives_completely_in_messages_of_at_most_32_kib(data: bytes) -> None:
    messages = CommandChannels(V4).stdin(data)
    assert all(message[:1] == b"\0" and 1 < len(message) <= 1 + 32 * 1024 for message in messages)
    assert b"".join(message[1:] for message in messages) == data


def test_stdin_ends_once_and_nothing_follows() -> None:
    channels = CommandChannels(V5)
    assert channels.stdin(b"x") == [b"\0x"]
    assert channels.end_stdin() == b"\xff\0"
    with pytest.raises(LocalProtocolError, match="after its end"):
        channels.stdin(b"y")
    with pytest.raises(LocalProtocolError, match="already ended"):
        channels.end_stdin()


def test_v4_cannot_end_stdin() -> None:
    channels = CommandChannels(V4)
    with pytest.raises(LocalProtocolError, match="cannot end stdin"):
        channels.end_stdin()
    assert channels.stdin(b"more") == [b"\0more"]


def test_a_terminal_is_resized() -> None:
    assert CommandChannels(V5).resize(80, 24) == b'\4{"Width":80,"Height":24}'


@pytest.mark.parametrize(("width", "height"), [(0, 24), (80, 65536), (-1, 1), (True, 24)])
def test_an_invalid_size_of_a_terminal_is_refused(width: int, height: int) -> None:
    with pytest.raises(LocalProtocolError, match="size of a terminal"):
        CommandChannels(V5).resize(width, height)


@pytest.mark.parametrize("protocol", ["", "channel.k8s.io", "v5.channel.k8s.io "])
def test_an_unknown_protocol_is_refused(protocol: str) -> None:
    with pytest.raises(LocalProtocolError, match="is not a supported channel protocol"):
        CommandChannels(protocol)


@given(messages=st.lists(st.binary(max_size=50) | st.binary(max_size=50).map(lambda data: b"\3" + data)))
def test_any_messages_give_events_or_a_protocol_error(messages: list[bytes]) -> None:
    channels = CommandChannels(V5)
    try:
        for message in messages:
            channels.feed(message)
        channels.close()
    except (RemoteProtocolError, TransportError):
        pass

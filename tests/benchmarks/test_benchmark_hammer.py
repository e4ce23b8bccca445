"""The load generator detects the end of a response at every cut."""

from __future__ import annotations

import pytest

from benchmarks._hammer import PartialResponse

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SIZED = HEAD + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize("response", [SIZED, CHUNKED, HEAD + b"Content-Length: 0\r\n\r\n"])
def test_a_response_is_complete_with_its_last_byte_wherever_it_is_split(response: bytes) -> None:
    for split in range(1, len(response)):
        partial = PartialResponse()
        assert not partial.feed(response[:split])
        assert partial.feed(response[split:])
    one_by_one = PartialResponse()
    complete = [one_by_one.feed(response[index : index + 1]) for index in range(len(response))]
    assert complete == [False] * (len(response) - 1) + [True]


def test_a_refusal_and_a_closed_connection_are_not_figures() -> None:
    with pytest.raises(ValueError, match="refused"):
        PartialResponse().feed(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(ConnectionError):
        PartialResponse().feed(b"")

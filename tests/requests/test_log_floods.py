"""The cost of decoding a log is proportional to its size for chunks of any size."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.kinds.core_v1 import Pod
from kubeproto.wire import Decoder

MAX_LINE = 1 << 20


def open_log_decoder() -> Decoder[bytes]:
    """Return the decoder of the response to a request for a log."""
    return kp.Api(Pod, namespace="default").follow_log("a").open(200, ())


def decode_lines(*chunks: bytes) -> list[bytes]:
    decoder = open_log_decoder()
    lines: list[bytes] = []
    for chunk in chunks:
        lines += decoder.feed(chunk)
    return lines + decoder.finish()


@given(st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"\n\nd", b""])), st.data())
def test_chunk_boundaries_do_not_change_lines(pieces: list[bytes], data: st.DataObject) -> None:
    text = b"".join(pieces)
    boundaries = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    positions = [0, *boundaries, len(text)]
    content = text.split(b"\n")
    expected = content if content[-1] else content[:-1]
    assert decode_lines(*[text[a:b] for a, b in pairwise(positions)]) == expected


def test_a_long_line_is_split_independently_of_chunks() -> None:
    text = b"x" * (2 * MAX_LINE + 5) + b"\nend"
    expected = [b"x" * MAX_LINE, b"x" * MAX_LINE, b"x" * 5, b"end"]
    assert decode_lines(text) == expected
    assert (
        decode_lines(*[text[position : position + 999] for position in range(0, len(text), 999)]) == expected
    )


def test_buffered_bytes_are_not_copied_for_each_chunk() -> None:
    decoder: Any = open_log_decoder()
    buffer = decoder._buffer
    for _ in range(1000):
        assert decoder.feed(b"ab") == []
        assert decoder._buffer is buffer
    assert decoder.finish() == [b"ab" * 1000]

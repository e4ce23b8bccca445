"""A log that comes in crumbs costs what it weighs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.kinds.core_v1 import Pod
from kubeproto.wire import Decoder

LONGEST = 1 << 20


def followed() -> Decoder[bytes]:
    """What reads the response to a request for a log."""
    return kp.Api(Pod, namespace="default").follow_log("a").open(200, ())


def lines_of(*chunks: bytes) -> list[bytes]:
    decoder = followed()
    lines: list[bytes] = []
    for chunk in chunks:
        lines += decoder.feed(chunk)
    return lines + decoder.finish()


@given(st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"\n\nd", b""])), st.data())
def test_lines_are_the_same_however_they_are_cut(pieces: list[bytes], data: st.DataObject) -> None:
    text = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    places = [0, *cuts, len(text)]
    content = text.split(b"\n")
    expected = content if content[-1] else content[:-1]
    assert lines_of(*[text[a:b] for a, b in pairwise(places)]) == expected


def test_a_long_line_comes_in_pieces_however_it_is_cut() -> None:
    text = b"x" * (2 * LONGEST + 5) + b"\nend"
    expected = [b"x" * LONGEST, b"x" * LONGEST, b"x" * 5, b"end"]
    assert lines_of(text) == expected
    assert lines_of(*[text[at : at + 999] for at in range(0, len(text), 999)]) == expected


def test_what_was_kept_is_not_copied_for_each_chunk() -> None:
    decoder: Any = followed()
    buffer = decoder._buffer
    for _ in range(1000):
        assert decoder.feed(b"ab") == []
        assert decoder._buffer is buffer
    assert decoder.finish() == [b"ab" * 1000]

"""Inflate gzip in pieces of any size and members of any number, refuse foreign data and bombs."""

from __future__ import annotations

import contextlib
import gzip
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given, strategies as st

from kubeproto import RemoteProtocolError
from kubeproto.wire import Headers, IdentityInflater, Inflater, inflate, open_inflater

GZIP: Headers = (("Content-Encoding", "gzip"),)


def inflate_all(chunks: list[bytes]) -> bytes:
    """Return the inflated body of these pieces."""
    inflater = Inflater()
    inflated = b"".join([inflater.feed(chunk) for chunk in chunks])
    inflater.finish()
    return inflated


def split_at(data: bytes, offsets: list[int]) -> list[bytes]:
    """Return the data in pieces, split at these offsets."""
    ends = sorted({position % (len(data) + 1) for position in offsets} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 5_000), max_size=12))
def test_a_body_of_many_members_may_be_split_anywhere(parts: list[bytes], offsets: list[int]) -> None:
    body = b"".join(gzip.compress(part) for part in parts)
    assert inflate_all(split_at(body, offsets)) == b"".join(parts)


def test_sp_10_members_may_end_anywhere_even_inside_a_character() -> None:
    line = '{"type":"ADDED","object":{"metadata":{"name":"größe-日本"}}}\n'.encode()
    for offset in range(len(line) + 1):
        body = gzip.compress(line[:offset]) + gzip.compress(line[offset:])
        assert inflate_all([body]) == line
        assert inflate_all([body[i : i + 1] for i in range(len(body))]) == line


def test_a_header_with_a_name_and_a_trailer_may_be_split_anywhere() -> None:
    error = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xffa name\x00" + gzip.compress(b"one")[10:]
    body = error + gzip.compress(b"two")
    for offset in range(len(body)):
        assert inflate_all([body[:offset], body[offset:]]) == b"onetwo"


def test_bytes_flushed_inside_a_member_are_returned_immediately() -> None:
    deflate = zlib.compressobj(wbits=31)
    inflater = Inflater()
    for event in (b'{"a":1}\n', b'{"b":2}\n'):
        assert inflater.feed(deflate.compress(event) + deflate.flush(zlib.Z_SYNC_FLUSH)) == event
    assert inflater.feed(deflate.flush()) == b""
    inflater.finish()


def test_each_member_is_returned_as_its_chunk_arrives() -> None:
    inflater = Inflater()
    for event in (b"one\n", b"two\n"):
        assert inflater.feed(gzip.compress(event)) == event
        inflater.finish()


def test_an_end_inside_a_member_differs_from_an_end_between_members() -> None:
    body = gzip.compress(b"one") + gzip.compress(b"two")
    border = len(gzip.compress(b"one"))
    for offset in range(1, len(body)):
        inflater = Inflater()
        inflater.feed(body[:offset])
        if offset == border:
            inflater.finish()
        else:
            with pytest.raises(RemoteProtocolError, match="ends inside a gzip member"):
                inflater.finish()


def test_an_empty_body_is_complete() -> None:
    assert inflate(GZIP, b"") == b""


@pytest.mark.parametrize(
    "garbage", [b"\x00" * 512, b"{}\n", gzip.compress(b"x", mtime=0)[1:], b"\x1f\x8b\x07" + b"\x00" * 20]
)
def test_garbage_and_padding_after_a_member_are_refused(garbage: bytes) -> None:
    inflater = Inflater()
    assert inflater.feed(gzip.compress(b"one")) == b"one"
    with pytest.raises(RemoteProtocolError, match="not the gzip that it claims to be"):
        inflater.feed(garbage)
    with pytest.raises(RemoteProtocolError, match="inside"):
        inflater.finish()


def test_a_member_whose_checksum_or_length_is_wrong_is_refused() -> None:
    body = gzip.compress(b"one")
    for offset in (-8, -1):
        broken = bytearray(body)
        broken[offset] ^= 1
        with pytest.raises(RemoteProtocolError):
            inflate(GZIP, bytes(broken))


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_inflate_or_are_refused(data: bytes, headed: bool) -> None:
    body = gzip.compress(b"")[:10] + data if headed else data
    with contextlib.suppress(RemoteProtocolError):
        assert isinstance(inflate(GZIP, body), bytes)


@given(st.binary(min_size=1, max_size=100), st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_gives_the_same_or_an_error(data: bytes, position: int, change: int) -> None:
    body = bytearray(gzip.compress(data))
    body[position % len(body)] ^= change
    with contextlib.suppress(RemoteProtocolError):
        assert inflate(GZIP, bytes(body)) == data


def bomb(size: int) -> bytes:
    """A gzip body of zeros, about a thousandth of its size."""
    deflate = zlib.compressobj(9, wbits=31)
    parts = [deflate.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*parts, deflate.flush()])


def test_a_bomb_ends_in_an_error_and_not_in_memory() -> None:
    body = bomb(256 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(RemoteProtocolError, match="over 200 times its size"):
            Inflater().feed(body)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def feed_in_drops(inflater: Inflater, body: bytes, sizes: list[int]) -> None:
    for start in range(0, len(body), 100):
        sizes.append(len(inflater.feed(body[start : start + 100])))


def test_a_bomb_fed_in_drops_ends_in_an_error_too() -> None:
    body = bomb(64 << 20)
    sizes: list[int] = []
    with pytest.raises(RemoteProtocolError, match="over 200 times its size"):
        feed_in_drops(Inflater(), body, sizes)
    assert 16 << 20 <= sum(sizes) < 24 << 20


def test_a_piece_that_inflates_to_too_much_is_refused_at_its_size() -> None:
    assert inflate(GZIP, gzip.compress(bytes(1000)), max_size=1000) == bytes(1000)
    with pytest.raises(RemoteProtocolError, match="inflates to over 999 bytes"):
        inflate(GZIP, gzip.compress(bytes(1000)), max_size=999)
    split = gzip.compress(bytes(600)) + gzip.compress(bytes(600))
    with pytest.raises(RemoteProtocolError, match="inflates to over 999 bytes"):
        inflate(GZIP, split, max_size=999)


def test_the_size_of_a_piece_is_counted_over_all_bytes_of_a_call() -> None:
    body = gzip.compress(random.Random(7).randbytes(64 << 10))
    assert len(inflate(GZIP, body, max_size=64 << 10)) == 64 << 10
    with pytest.raises(RemoteProtocolError, match="inflates to over 40960 bytes"):
        inflate(GZIP, body, max_size=40 << 10)


def test_a_long_regular_stream_does_not_allow_a_larger_bomb() -> None:
    inflater = Inflater()
    for _ in range(16):
        inflater.feed(gzip.compress(random.Random(7).randbytes(64 << 10)))
    with pytest.raises(RemoteProtocolError, match="over 200 times its size"):
        inflater.feed(bomb(32 << 20))


def test_a_stream_of_days_is_not_limited_in_total() -> None:
    # Each piece inflates forty-fold without an end: the allowance grows, so that a later dense piece is
    # allowed.
    inflater = Inflater(max_size=1 << 20)
    event = gzip.compress(b"x" * 4_000 + bytes(range(256)))
    dense = gzip.compress(bytes(900_000))
    sizes = 0
    for n in range(3_000):
        sizes += len(inflater.feed(dense if n % 100 == 99 else event))
    inflater.finish()
    assert sizes == 2_970 * 4_256 + 30 * 900_000


def test_a_dense_small_body_is_not_a_bomb() -> None:
    plain = b'{"data":{"a":"' + b"a" * 1_000_000 + b'"}}'
    body = gzip.compress(plain)
    assert len(body) * 300 < len(plain)
    assert inflate(GZIP, body) == plain


def test_a_body_of_very_many_empty_members_is_read() -> None:
    assert inflate(GZIP, gzip.compress(b"") * 20_000 + gzip.compress(b"end")) == b"end"


@pytest.mark.parametrize("value", ["", "identity", "Identity", " , identity"])
def test_an_uncompressed_chunk_is_returned_as_the_same_object(value: str) -> None:
    headers: Headers = (("content-encoding", value),)
    body = b"as it came"
    assert isinstance(open_inflater(headers), IdentityInflater)
    assert open_inflater(headers).feed(body) is body
    assert inflate((), body) == body
    open_inflater(()).finish()


@pytest.mark.parametrize("value", ["gzip", "GZIP", "x-gzip", "gzip, identity"])
def test_gzip_is_recognized_by_its_names(value: str) -> None:
    assert inflate((("CONTENT-ENCODING", value),), gzip.compress(b"one")) == b"one"


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ((("Content-Encoding", "br"),), "'br'"),
        ((("Content-Encoding", "deflate, gzip"),), "'deflate, gzip'"),
        ((("Content-Encoding", "gzip"), ("Content-Encoding", "gzip")), "'gzip, gzip'"),
    ],
)
def test_another_encoding_is_refused_with_its_name(headers: Headers, error: str) -> None:
    with pytest.raises(RemoteProtocolError, match=error):
        open_inflater(headers)

"""SPDY/3.1 in the messages of a WebSocket, the protocol of kubectl's port-forward: frames in, frames out.

A control frame is ``0x8003``, a type, flags and a length of three bytes; a data frame begins with the id of
its stream. Headers are pairs of names and values, compressed with a context for the whole connection
and a dictionary that both sides have. There is no flow control: Kubernetes' library (moby/spdystream) has
none. https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

# The usual names and values of headers (SPDY/3, section 2.6.10.1): each name follows its length.
_HEADER_NAMES: Final = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|accept-ra"
    "nges|age|allow|authorization|cache-control|connection|content-base|content-encoding|content-langua"
    "ge|content-length|content-location|content-md5|content-range|content-type|date|etag|expect|expires"
    "|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|loc"
    "ation|max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|retry-after|server|"
    "te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|www-authenticate|method|get|statu"
    "s|200 OK|version|HTTP/1.1|url|public|set-cookie|keep-alive|origin"
)
_HEADER_VALUES: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-"
    "Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 For"
    "bidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar "
    "Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/h"
    "tml,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript"
    ",publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = (
    b"".join(len(word).to_bytes(4, "big") + word.encode() for word in _HEADER_NAMES.split("|"))
    + _HEADER_VALUES.encode()
)
_HEADER_SIZE: Final = 8  # bytes
_CONTROL: Final = 0x8003
_FIN: Final = 1
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
_MAX_FRAME: Final = 1 << 20  # bytes; kubectl sends 32 KiB at the most
_MAX_HEADERS: Final = 1 << 16


class SpdyError(Exception):
    """The client has sent bytes that are not SPDY."""


class StreamOpened(Struct, frozen=True):
    """The client has opened a stream."""

    stream: int
    headers: dict[str, str]


class DataReceived(Struct, frozen=True):
    """The client has sent data of a stream. `ends` is whether they are the last data."""

    stream: int
    data: bytes
    ends: bool


class StreamReset(Struct, frozen=True):
    """The client has reset a stream."""

    stream: int


class PingReceived(Struct, frozen=True):
    """The client expects the same bytes in return."""

    frame: bytes


SpdyEvent: TypeAlias = StreamOpened | DataReceived | StreamReset | PingReceived


class SpdyConnection:
    """The server's side of a connection: events from bytes, and bytes to send."""

    def __init__(self) -> None:
        self._buffer = b""
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[SpdyEvent]:
        """Return the events in the bytes of the client; raise `SpdyError` for other bytes."""
        self._buffer += data
        while len(self._buffer) >= _HEADER_SIZE:
            first_word, flags_and_length = struct.unpack(">II", self._buffer[:_HEADER_SIZE])
            flags, length = flags_and_length >> 24, flags_and_length & 0xFFFFFF
            if length > _MAX_FRAME:
                raise SpdyError(f"a frame of {length} bytes is larger than {_MAX_FRAME}")
            if len(self._buffer) < _HEADER_SIZE + length:
                return
            frame, self._buffer = self._buffer[: _HEADER_SIZE + length], self._buffer[_HEADER_SIZE + length :]
            if not first_word >> 31:
                yield DataReceived(first_word, frame[_HEADER_SIZE:], bool(flags & _FIN))
            elif first_word >> 16 != _CONTROL:
                raise SpdyError("a control frame is not of version 3")
            else:
                yield from self._control(first_word & 0xFFFF, frame)

    def reply(self, stream: int) -> bytes:
        """Return the frame that accepts a stream."""
        headers = self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control(_SYN_REPLY, struct.pack(">I", stream) + headers)

    def _control(self, kind: int, frame: bytes) -> Iterator[SpdyEvent]:
        body = frame[_HEADER_SIZE:]
        if kind == _PING:
            yield PingReceived(frame)
        elif kind == _SYN_STREAM and len(body) >= 10:
            yield StreamOpened(_stream(body), self._headers(body[10:]))
        elif kind == _RST_STREAM and len(body) >= 8:
            yield StreamReset(_stream(body))
        elif kind in (_SYN_STREAM, _RST_STREAM):
            raise SpdyError("a frame is too short")

    def _headers(self, compressed: bytes) -> dict[str, str]:
        try:
            block = self._inflate.decompress(compressed, _MAX_HEADERS)
            if self._inflate.unconsumed_tail:
                raise SpdyError(f"headers are larger than {_MAX_HEADERS} bytes")
            (count,), position, texts = struct.unpack(">I", block[:4]), 4, list[str]()
            for _ in range(2 * count):
                (size,) = struct.unpack(">I", block[position : position + 4])
                texts.append(block[position + 4 : position + 4 + size].decode())
                position += 4 + size
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"headers cannot be read: {error}") from None
        return dict(zip(texts[::2], texts[1::2], strict=True))


def data_frame(stream: int, data: bytes, *, ends: bool = False) -> bytes:
    """Return a frame with data of a stream. `ends` is whether they are the last data."""
    return struct.pack(">II", stream, (_FIN if ends else 0) << 24 | len(data)) + data


def _control(kind: int, body: bytes) -> bytes:
    return struct.pack(">II", _CONTROL << 16 | kind, len(body)) + body


def _stream(body: bytes) -> int:
    return int.from_bytes(body[:4], "big") & 0x7FFFFFFF

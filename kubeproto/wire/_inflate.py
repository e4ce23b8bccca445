"""Inflate gzip bodies of any number of members, in pieces of any size, within a limit of output.

Servers compress a large response in a single member. From Kubernetes 1.37 on, a list-watch has a member for
each flush, as long as the stream lives (gate WatchListCompression). So the end of a member is not the end of
the stream, and the content of a member is returned as it arrives, not when the member is complete.

The limit has two parts, because a watch may live for days and no total fits it:

- A fed chunk may inflate to `max_size` at most, so that the returned bytes fit in memory.
- The output may exceed `max_ratio` times the input by a fixed allowance only. Every byte of input earns
  `max_ratio` bytes of credit, up to the allowance; every byte of output spends a byte of it. An honest stream
  earns faster than it spends, and keeps its allowance forever; a bomb spends it once. Short bodies may be of
  any density: a ConfigMap of a single letter reaches 300 to 1, and deflate ends at about 1,030.

Both are checked while inflating: zlib returns at most one byte more than the limit. For comparison:
Go's client, urllib3 and httpx have no limit at all.

Only another member may follow a member. Go's reader refuses zero padding too, and no HTTP server
sends any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._errors import RemoteProtocolError
from ._transport import Headers

if TYPE_CHECKING:
    from zlib import _Decompress

# A list of pods that differ in little more than their names reaches 40 to 1, so this is generous.
MAX_RATIO: Final = 200

# The limit for a piece of a stream. Transports read 64 KiB at a time, which inflate to 3 MiB from an honest
# server.
MAX_CHUNK: Final = 64 << 20

# The limit for a whole body: a list of 100,000 pods is 580 MB.
MAX_BODY: Final = 1 << 30

_MAX_CREDIT: Final = 16 << 20

# At the end of a member zlib copies the bytes behind it. Small slices keep a body of tiny members from
# becoming quadratic; larger ones would inflate no faster.
_SLICE: Final = 16 << 10

# zlib's constant for a gzip header and trailer that are checked.
_GZIP: Final = 31


class Inflater:
    """Inflates one gzip body, fed in pieces. After an error it cannot be used any more."""

    __slots__ = ("_credit", "_max_ratio", "_max_size", "_member")

    def __init__(self, *, max_size: int = MAX_CHUNK, max_ratio: int = MAX_RATIO) -> None:
        self._max_size = max_size
        self._max_ratio = max_ratio
        self._credit = _MAX_CREDIT
        self._member: _Decompress | None = None

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes; return their inflated data, or raise `RemoteProtocolError`."""
        inflated: list[bytes] = []
        remaining = self._max_size
        for start in range(0, len(chunk), _SLICE):
            for data in self._inflate_slice(chunk[start : start + _SLICE], remaining):
                inflated.append(data)
                remaining -= len(data)
        return b"".join(inflated)

    def finish(self) -> None:
        """Handle the end of the body; raise `RemoteProtocolError` if it is inside a member."""
        if self._member is not None:
            raise RemoteProtocolError("the body ends inside a gzip member")

    def _inflate_slice(self, data: bytes, remaining: int) -> list[bytes]:
        import zlib

        outputs: list[bytes] = []
        # Credit beyond the allowance lasts for these bytes only.
        credit = self._credit + len(data) * self._max_ratio
        while data:
            member = self._member = self._member or zlib.decompressobj(_GZIP)
            try:
                output = member.decompress(data, min(credit, remaining) + 1)
            except zlib.error as error:
                raise RemoteProtocolError(f"the body is not the gzip that it claims to be: {error}") from None
            credit -= len(output)
            remaining -= len(output)
            if remaining < 0:
                raise RemoteProtocolError(f"a piece of the body inflates to over {self._max_size} bytes")
            if credit < 0:
                raise RemoteProtocolError(f"the body inflates to over {self._max_ratio} times its size")
            outputs.append(output)
            data = member.unused_data
            if member.eof:
                self._member = None
        self._credit = min(credit, _MAX_CREDIT)
        return outputs


class IdentityInflater:
    """The form of `Inflater` for bodies without compression: it returns each chunk unchanged."""

    __slots__ = ()

    def feed(self, chunk: bytes) -> bytes:
        """Return the chunk."""
        return chunk

    def finish(self) -> None:
        """Do nothing: no byte can be missing."""


def open_inflater(
    headers: Headers, *, max_size: int = MAX_CHUNK, max_ratio: int = MAX_RATIO
) -> Inflater | IdentityInflater:
    """Return the inflater of a body with these headers.

    Raise `RemoteProtocolError` for an encoding that was not requested.
    """
    codings = _codings(headers)
    if not codings:
        return IdentityInflater()
    if codings in (["gzip"], ["x-gzip"]):
        return Inflater(max_size=max_size, max_ratio=max_ratio)
    raise RemoteProtocolError(f"the body is encoded as {', '.join(codings)!r}; only gzip is understood")


def inflate(headers: Headers, body: bytes, *, max_size: int = MAX_BODY, max_ratio: int = MAX_RATIO) -> bytes:
    """Return a whole body, inflated according to its Content-Encoding."""
    inflater = open_inflater(headers, max_size=max_size, max_ratio=max_ratio)
    inflated = inflater.feed(body)
    inflater.finish()
    return inflated


def _codings(headers: Headers) -> list[str]:
    values = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    names = (name.strip().lower() for name in values.split(","))
    return [name for name in names if name not in ("", "identity")]

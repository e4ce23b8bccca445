"""`TarReader`: reads an archive as it arrives; only the current chunk is in memory.

tarfile needs a file to read from, which would need a thread that blocks until bytes arrive. So tarfile parses
only single headers, and this module joins the long names of GNU and POSIX.
"""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Final

from kubeproto import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK: Final = 512
# A path has 4 KiB at most, and an extended header a few paths.
_MAX_HEADER: Final = 1 << 20
_EMPTY: Final = bytes(BLOCK)
_EXTENDED_HEADERS: Final = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class TarReader:
    """Converts bytes to members. A member is a `TarInfo`, followed by the chunks of its content."""

    def __init__(self) -> None:
        self.finished = False  # the end of the archive was read
        self._buffer = bytearray()
        self._content_left = 0  # bytes of the content
        self._padding = 0
        self._header: tuple[bytes, bytearray] | None = None  # the type of an extended header, and its content
        self._overrides: dict[str, str] = {}  # fields of the next member, from extended headers

    @property
    def complete(self) -> bool:
        """Whether the archive has ended, and not in the middle of a member."""
        return self.finished and not self._content_left

    def feed(self, data: bytes) -> Iterator[tarfile.TarInfo | bytes]:
        """Process the next bytes, and yield their members. Raise `RemoteProtocolError` for invalid bytes."""
        if self.finished:
            return  # tar pads its last record with zeros
        self._buffer += data
        while not self.finished:
            if self._content_left:
                chunk = bytes(self._buffer[: self._content_left])
                del self._buffer[: len(chunk)]
                self._content_left -= len(chunk)
                if self._header is not None:
                    self._header[1].extend(chunk)
                elif chunk:
                    yield chunk
                if self._content_left:
                    return
            if self._header is not None:
                self._finish_header(*self._header)
            if len(self._buffer) < self._padding + BLOCK:
                return
            block = bytes(self._buffer[self._padding : self._padding + BLOCK])
            del self._buffer[: self._padding + BLOCK]
            self._padding = 0
            if block == _EMPTY:
                self.finished = True
            elif (member := self._parse_header(block)) is not None:
                yield member

    def _parse_header(self, block: bytes) -> tarfile.TarInfo | None:
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise RemoteProtocolError(f"this is not a tar archive: {error}") from None
        if info.size < 0 or info.type == tarfile.GNUTYPE_SPARSE:
            raise RemoteProtocolError(f"the archive has {info.name!r} in a form that is not supported")
        if info.type in _EXTENDED_HEADERS:
            if info.size > _MAX_HEADER:
                raise RemoteProtocolError(f"the archive has a header of {info.size} bytes")
            self._header = info.type, bytearray()
            self._expect_content(info.size)
            return None
        self._apply_overrides(info)
        self._expect_content(info.size if info.isreg() else 0)
        return info

    def _expect_content(self, size: int) -> None:
        self._content_left, self._padding = size, -size % BLOCK

    def _finish_header(self, kind: bytes, content: bytearray) -> None:
        self._header = None
        text = content.rstrip(b"\0").decode("utf-8", "surrogateescape")
        if kind == tarfile.GNUTYPE_LONGNAME:
            self._overrides["path"] = text
        elif kind == tarfile.GNUTYPE_LONGLINK:
            self._overrides["linkpath"] = text
        elif kind != tarfile.XGLTYPE:  # a global header is not about a single member
            self._overrides |= _parse_records(bytes(content))
            self._overrides["path"] = self._overrides.get("path", "").rstrip("/")

    def _apply_overrides(self, info: tarfile.TarInfo) -> None:
        overrides, self._overrides = self._overrides, {}
        if any(key.startswith("GNU.sparse") for key in overrides):
            raise RemoteProtocolError(
                f"the archive has {info.name!r} as a sparse file, which is not supported"
            )
        if path := overrides.get("path"):
            info.name = path.rstrip("/") if info.isdir() else path
        info.linkname = overrides.get("linkpath", info.linkname)
        if (size := overrides.get("size", "")).isdigit():
            info.size = int(size)


def _parse_records(content: bytes) -> dict[str, str]:
    """Parse an extended header of POSIX: lines that begin with their own length."""
    records: dict[str, str] = {}
    while content:
        number, space, _ = content.partition(b" ")
        if not space or not number.isdigit() or not len(number) + 3 <= int(number) <= len(content):
            raise RemoteProtocolError("the archive has a broken extended header")
        record, content = content[len(number) + 1 : int(number) - 1], content[int(number) :]
        key, _, value = record.partition(b"=")
        records[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
    return records

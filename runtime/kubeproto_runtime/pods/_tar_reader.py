"""`TarReader`: an archive, read piece by piece as it arrives; only the current piece is kept.

tarfile needs a file to read from, which would take a thread that blocks until bytes arrive. So tarfile reads
only the headers; long names in the forms of GNU and POSIX are read here.
"""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Final

from kubeproto import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK: Final = 512
# A path has 4 KiB at most; extended headers hold a few such texts.
_LONGEST_HEADER: Final = 1 << 20
_EMPTY: Final = bytes(BLOCK)
_HEADERS: Final = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class TarReader:
    """Feed bytes; get each member as a `TarInfo`, followed by the pieces of its content."""

    def __init__(self) -> None:
        self.ended = False  # whether the end of the archive has come
        self._buffer = bytearray()
        self._left = 0  # bytes of the content that are missing
        self._padding = 0
        self._header: tuple[bytes, bytearray] | None = None  # the type of an extended header, and its content
        self._known: dict[str, str] = {}  # what extended headers say of the next member

    @property
    def complete(self) -> bool:
        """Whether the archive has ended, and not in the middle of a member."""
        return self.ended and not self._left

    def feed(self, data: bytes) -> Iterator[tarfile.TarInfo | bytes]:
        """Take the next bytes; yield what they bring. `RemoteProtocolError`: it is not an archive."""
        if self.ended:
            return  # tar fills its last record with zeros
        self._buffer += data
        while not self.ended:
            if self._left:
                piece = bytes(self._buffer[: self._left])
                del self._buffer[: len(piece)]
                self._left -= len(piece)
                if self._header is not None:
                    self._header[1].extend(piece)
                elif piece:
                    yield piece
                if self._left:
                    return
            if self._header is not None:
                self._end_header(*self._header)
            if len(self._buffer) < self._padding + BLOCK:
                return
            block = bytes(self._buffer[self._padding : self._padding + BLOCK])
            del self._buffer[: self._padding + BLOCK]
            self._padding = 0
            if block == _EMPTY:
                self.ended = True
            elif (member := self._begin(block)) is not None:
                yield member

    def _begin(self, block: bytes) -> tarfile.TarInfo | None:
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise RemoteProtocolError(f"what came is not a tar archive: {error}") from None
        if info.size < 0 or info.type == tarfile.GNUTYPE_SPARSE:
            raise RemoteProtocolError(f"the archive holds {info.name!r} in a form that is not read here")
        if info.type in _HEADERS:
            if info.size > _LONGEST_HEADER:
                raise RemoteProtocolError(f"the archive has a header of {info.size} bytes")
            self._header = info.type, bytearray()
            self._expect(info.size)
            return None
        self._apply(info)
        self._expect(info.size if info.isreg() else 0)
        return info

    def _expect(self, size: int) -> None:
        self._left, self._padding = size, -size % BLOCK

    def _end_header(self, kind: bytes, content: bytearray) -> None:
        self._header = None
        text = content.rstrip(b"\0").decode("utf-8", "surrogateescape")
        if kind == tarfile.GNUTYPE_LONGNAME:
            self._known["path"] = text
        elif kind == tarfile.GNUTYPE_LONGLINK:
            self._known["linkpath"] = text
        elif kind != tarfile.XGLTYPE:  # a global header says nothing of a single member
            self._known |= _records(bytes(content))
            self._known["path"] = self._known.get("path", "").rstrip("/")

    def _apply(self, info: tarfile.TarInfo) -> None:
        known, self._known = self._known, {}
        if any(key.startswith("GNU.sparse") for key in known):
            raise RemoteProtocolError(
                f"the archive holds {info.name!r} as a sparse file, which is not read here"
            )
        if path := known.get("path"):
            info.name = path.rstrip("/") if info.isdir() else path
        info.linkname = known.get("linkpath", info.linkname)
        if (size := known.get("size", "")).isdigit():
            info.size = int(size)


def _records(content: bytes) -> dict[str, str]:
    """Read an extended header of POSIX: lines that begin with their own length."""
    found: dict[str, str] = {}
    while content:
        number, space, _ = content.partition(b" ")
        if not space or not number.isdigit() or not len(number) + 3 <= int(number) <= len(content):
            raise RemoteProtocolError("the archive has a broken extended header")
        record, content = content[len(number) + 1 : int(number) - 1], content[int(number) :]
        key, _, value = record.partition(b"=")
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
    return found

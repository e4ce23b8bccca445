"""Records requests and responses of a server without secrets, and replays a server from a recording.

Replaced values keep their length, so that each chunk of a response ends at its original position: uids,
times, tokens, certificates and the port. Equal uids stay equal, and times keep their order.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kubeproto.wire import BlockingIncomingResponse, BlockingTransport, Headers, RawRequest

FOLDER: Final = Path(__file__).parent / "conversations"
ASKED: Final = ("accept", "content-type")  # headers on which a response depends
ANSWERED: Final = (
    "cache-control", "content-encoding", "content-type", "etag", "retry-after", "transfer-encoding", "vary",
    "warning",
)  # fmt: skip


class Exchange(msgspec.Struct):
    """A request and its response with a body in chunks (`pieces`); `ended` if it was read to its end."""

    method: str
    target: str
    headers: dict[str, str]
    body: str
    status: int
    answered: Headers
    pieces: list[str | dict[str, str]] = []
    ended: bool = False

    @property
    def content(self) -> list[bytes]:
        """Return the pieces as bytes."""
        return [
            base64.b64decode(chunk["base64"]) if isinstance(chunk, dict) else chunk.encode()
            for chunk in self.pieces
        ]

    @property
    def zipped(self) -> bool:
        """Return whether the body is compressed."""
        return ("Content-Encoding", "gzip") in self.answered

    @property
    def decoded_body(self) -> str:
        """Return the decompressed body."""
        body = b"".join(self.content)
        return (gzip.decompress(body) if self.zipped else body).decode()


class Recorder:
    """A transport that records the exchanges of another transport."""

    def __init__(self, transport: BlockingTransport) -> None:
        self.exchanges: list[Exchange] = []
        self._transport = transport

    @contextmanager
    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingIncomingResponse]:
        """Send a request over the other transport."""
        with self._transport.send(request, timeout=timeout, idle=idle) as incoming:
            headers = tuple((name, value) for name, value in incoming.headers if name.lower() in ANSWERED)
            exchange = Exchange(
                request.method,
                request.target,
                _compared_headers(request),
                request.body.decode(),
                incoming.status,
                headers,
            )
            self.exchanges.append(exchange)
            yield _Incoming(incoming.status, incoming.headers, _record_chunks(incoming, exchange))

    def save(self, release: str, name: str) -> None:
        """Write the exchanges with a server of this release."""
        folder = FOLDER / release
        folder.mkdir(parents=True, exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(replace_random_values(self.exchanges)), indent=1)
        (folder / f"{name}.json").write_bytes(content + b"\n")


class Replay:
    """A transport that returns recorded responses, and compares the requests with the recorded requests."""

    def __init__(self, release: str, name: str, *, chunk_size: int = 0) -> None:
        content = (FOLDER / release / f"{name}.json").read_bytes()
        self.remaining = msgspec.json.decode(content, type=list[Exchange])
        self._chunk_size = chunk_size

    @contextmanager
    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingIncomingResponse]:
        """Return the next response, in chunks of the chosen size."""
        assert self.remaining, f"{request} is not in the recording"
        exchange = self.remaining.pop(0)
        actual = (request.method, request.target, _compared_headers(request), _normalized(request.body))
        assert actual == (exchange.method, exchange.target, exchange.headers, _normalized(exchange.body))
        yield _Incoming(exchange.status, exchange.answered, self._pieces(exchange))

    def _pieces(self, exchange: Exchange) -> Iterator[bytes]:
        body = b"".join(exchange.content)
        yield from _split(body, self._chunk_size) if self._chunk_size else exchange.content
        assert exchange.ended, "the recorded response has no more chunks"


def _normalized(body: str | bytes) -> Any:
    """Return the meaning of a request body, in which the order of keys does not matter."""
    return msgspec.json.decode(body) if body else None


class _Incoming:
    def __init__(self, status: int, headers: Headers, pieces: Iterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces


def replace_random_values(exchanges: list[Exchange]) -> list[Exchange]:
    """Return the conversation with secret and random values replaced by others of the same length."""
    texts = [
        text for exchange in exchanges for text in (exchange.target, exchange.body, exchange.decoded_body)
    ]
    uids = dict.fromkeys(re.findall(_UID, "\n".join(texts)))
    times = sorted({*re.findall(_TIME, "\n".join(texts))})
    replacements = {uid: f"00000000-0000-4000-8000-{number:012}" for number, uid in enumerate(uids)}
    replacements |= {
        time: f"2026-01-01T{index // 3600:02}:{index // 60 % 60:02}:{index % 60:02}"
        for index, time in enumerate(times)
    }

    def replace_values(text: str) -> str:
        text = re.sub(f"{_UID}|{_TIME}", lambda match: replacements[match[0]], text)
        text = re.sub(_TOKEN, lambda match: "x" * len(match[0]), text)
        text = re.sub(_CERTIFICATE, lambda match: match[1] + "A" * len(match[2]) + match[3], text)
        return re.sub(_PORT, lambda match: match[1] + "6" * len(match[2]), text)

    return [
        replace(
            exchange,
            target=replace_values(exchange.target),
            body=replace_values(exchange.body),
            pieces=_split_like_recorded(replace_values(exchange.decoded_body), exchange),
        )
        for exchange in exchanges
    ]


# Uids that begin with eight zeros are ours: of a conversation, or of a recording.
_UID: Final = r"(?!0{8})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_TOKEN: Final = r"eyJ[\w-]+\.[\w-]+\.[\w-]+"
_CERTIFICATE: Final = r"(BEGIN CERTIFICATE-----)(.*?)(-----END)"
_PORT: Final = r"(127\.0\.0\.1:)(\d+)"


def _split_like_recorded(text: str, exchange: Exchange) -> list[str | dict[str, str]]:
    """Return a body in its original pieces; a compressed body gets a new length."""
    body = text.encode()
    if exchange.zipped:
        return [_text(chunk) for chunk in _split(gzip.compress(body, mtime=0), 4096)]
    ends = [0, *accumulate(map(len, exchange.content))]
    return [_text(body[begin:end]) for begin, end in pairwise(ends)]


def _split(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


def _compared_headers(request: RawRequest) -> dict[str, str]:
    return {name: value for name, value in request.headers if name.lower() in ASKED}


def _record_chunks(incoming: Iterable[bytes], exchange: Exchange) -> Iterator[bytes]:
    for chunk in incoming:
        exchange.pieces.append(_text(chunk))
        yield chunk
    exchange.ended = True


def _text(chunk: bytes) -> str | dict[str, str]:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}

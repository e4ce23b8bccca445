"""Recorded requests to a real API server, and its responses."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


class RecordedRequest(msgspec.Struct):
    method: str
    target: str
    headers: dict[str, str]
    body: str | None = None


class RecordedResponse(msgspec.Struct):
    status: int
    headers: list[tuple[str, str]]
    body: str | dict[str, str] | None = None
    chunks: list[str | dict[str, str]] | None = None

    @property
    def header_pairs(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.headers)

    @property
    def content(self) -> bytes:
        return _decode_body(self.body)

    @property
    def body_chunks(self) -> list[bytes]:
        return [_decode_body(chunk) for chunk in self.chunks] if self.chunks else [self.content]


class Recording(msgspec.Struct):
    situation: str
    request: RecordedRequest
    response: RecordedResponse


def _decode_body(text: str | dict[str, str] | None) -> bytes:
    if isinstance(text, dict):
        return base64.b64decode(text["base64"])
    return (text or "").encode()


def read_recording(name: str) -> Recording:
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Recording)


def request_body(recording_: Recording) -> Any:
    return json.loads(recording_.request.body or "null")

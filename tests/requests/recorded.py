"""Real exchanges with an API server, as data: what was asked, and what came back."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


class Asked(msgspec.Struct):
    method: str
    target: str
    headers: dict[str, str]
    body: str | None = None


class Responded(msgspec.Struct):
    status: int
    headers: list[tuple[str, str]]
    body: str | dict[str, str] | None = None
    chunks: list[str | dict[str, str]] | None = None

    @property
    def head(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.headers)

    @property
    def content(self) -> bytes:
        return _bytes(self.body)

    @property
    def pieces(self) -> list[bytes]:
        return [_bytes(chunk) for chunk in self.chunks] if self.chunks else [self.content]


class Recording(msgspec.Struct):
    situation: str
    request: Asked
    response: Responded


def _bytes(text: str | dict[str, str] | None) -> bytes:
    if isinstance(text, dict):
        return base64.b64decode(text["base64"])
    return (text or "").encode()


def recording(name: str) -> Recording:
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Recording)


def body_of(recorded: Recording) -> Any:
    return json.loads(recorded.request.body or "null")

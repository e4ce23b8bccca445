"""Every recorded response of a real API server, compared with the response of the simulated server.

Status, relevant headers, and the body byte for byte are compared: keys, their order and omitted fields.
Before bodies are compared, random values get common names: uids, times, versions and tokens. README.md lists
the remaining differences, a row for each field.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

from .situations import SITUATIONS, Stage

HERE: Final = Path(__file__).parent
RECORDINGS: Final = {path.stem: path for path in sorted((HERE.parent / "recordings").glob("*.json"))}

# Features that the simulated server lacks: third-party webhooks, permissions and credentials, and upgraded
# connections. Some of these responses can be requested as faults.
OUT_OF_SCOPE: Final = {
    "admission-policy-denied-422": "admission policies",
    "webhook-unreachable-500": "admission webhooks",
    "quota-exceeded-403": "quota",
    "rbac-list-403": "rights",
    "unauthorized-401": "credentials",
    "too-many-requests-429": "overload",
    "exec-needs-create-403": "rights",
    "exec-v5-kubelet-unreachable": "exec",
}
HEADERS: Final = ("Content-Type", "Content-Encoding", "Retry-After", "Warning", "Vary", "Cache-Control",
                  "X-Content-Type-Options", "Transfer-Encoding")  # fmt: skip

_SAME: Final = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
    (r'resourceVersion(\\*)":(\\*)"\d+', r'resourceVersion\1":\2"<version>'),
    (r'"continue":"[\w-]+"', '"continue":"<token>"'),
    (r"too old resource version: \d+ \(\d+\)", "too old resource version: <version> (<version>)"),
    (r"version: (\d+), current: \d+", r"version: \1, current: <version>"),
    (r'"gn-[a-z0-9]{5}"', '"gn-<drawn>"'),
    (r'"(g{58})[a-z0-9]{5}"', r'"\1<drawn>"'),
    (r'"token":"[^"]+"', '"token":"<jwt>"'),
    (r'"ca.crt":"[^"]*"', '"ca.crt":"<certificate>"'),
)


def plain(body: Any) -> str:
    """Return a body with common names for random, counted and measured values."""
    match body:
        case {"base64": str() as encoded}:
            text = gzip.decompress(base64.b64decode(encoded)).decode()
        case bytes():
            text = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode()
        case _:
            text = str(body or "")
    for pattern, name in _SAME:
        text = re.sub(pattern, name, text)
    return text


def replay(name: str) -> tuple[dict[str, Any], sim.ServerResponse, str]:
    """Return the recorded response, the simulated response, and its body with the events while it was
    open.
    """
    recorded = json.loads(RECORDINGS[name].read_text())
    request = recorded["request"]
    stage = Stage()
    changes = SITUATIONS[name](stage) or {}
    target: str = changes.get("target", request["target"])
    if version := changes.get("version"):
        target = re.sub(r"resourceVersion=\d+", f"resourceVersion={version}", target)
    headers = {**request["headers"], **changes.get("headers", {})}
    text: str = request["body"] or ""
    if uid := changes.get("uid"):
        text = re.sub(_SAME[0][0], uid, text)
    body = text.encode()
    answer = stage.cluster.respond(RawRequest(request["method"], target, tuple(headers.items()), body))
    if isinstance(answer.body, bytes):
        return recorded["response"], answer, plain(answer.body)
    pieces = [answer.body.take()]
    if meanwhile := changes.get("meanwhile"):
        meanwhile()
        pieces.append(answer.body.take())
    for _ in range(20):
        stage.cluster.advance(0.5)
        pieces.append(answer.body.take())
    assert answer.body.ended
    return recorded["response"], answer, plain(b"".join(pieces))


def differences() -> dict[tuple[str, str], str]:
    """Return the rows of README.md: the recording and the field, and the reason."""
    rows: dict[tuple[str, str], str] = {}
    for line in (HERE / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            rows[cells[0].strip("`"), cells[1].strip("`")] = cells[2]
    return rows


@pytest.mark.parametrize("name", sorted(RECORDINGS.keys() - OUT_OF_SCOPE))
def test_a_recorded_response_is_reproduced(name: str) -> None:
    recorded, answer, body = replay(name)
    known_differences = differences()
    assert answer.status == recorded["status"], body
    if (name, "headers") not in known_differences:
        theirs = sorted((key, value) for key, value in recorded["headers"] if key in HEADERS)
        assert sorted((key, value) for key, value in answer.headers if key in HEADERS) == theirs
    expected = plain(recorded["body"])
    if (name, "body") not in known_differences:
        assert body == expected
    elif body == expected:
        pytest.fail(f"README.md lists a difference of the body of {name}, but the bodies are equal")


def test_the_table_of_differences_is_short_and_contains_only_replayed_recordings() -> None:
    rows = differences()
    assert len(rows) <= 15
    assert {name for name, _ in rows} <= RECORDINGS.keys() - OUT_OF_SCOPE
    assert all(rows.values())


def test_every_recording_has_its_situation_or_its_reason() -> None:
    assert SITUATIONS.keys() | OUT_OF_SCOPE.keys() == RECORDINGS.keys()
    assert not SITUATIONS.keys() & OUT_OF_SCOPE.keys()

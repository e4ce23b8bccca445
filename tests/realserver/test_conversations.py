"""Recorded conversations with a real server: the same programs send the same requests today."""

from __future__ import annotations

import re

import pytest

from ._conversations import CONVERSATIONS, Stage
from ._real_asking import Asker
from ._real_recording import FOLDER, Exchange, Replay, replace_random_values

RELEASES = ("1.30", "1.33", "1.36")


@pytest.mark.parametrize("chunk_size", [0, 1, 1000], ids=["as-it-came", "byte-by-byte", "in-pieces"])
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_conversation_sends_the_recorded_requests(release: str, name: str, chunk_size: int) -> None:
    conversation, _, _ = CONVERSATIONS[name]
    server = Replay(release, name, chunk_size=chunk_size)
    conversation(Asker(server, pause=lambda _: None), Stage(release))
    assert not server.remaining


def test_every_recording_belongs_to_a_conversation_and_contains_no_secret() -> None:
    files = {(path.parent.name, path.stem): path.read_text() for path in FOLDER.glob("*/*.json")}
    assert files.keys() == {(release, name) for release in RELEASES for name in CONVERSATIONS}
    for text in files.values():
        assert not re.search("PRIVATE KEY|Bearer|eyJ[a-zA-Z]", text)
        uids = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", text)
        assert all(uid.startswith("00000000-0000-4000-8000-") for uid in uids)


def test_replaced_values_keep_their_length_chunks_and_order() -> None:
    uid, other = "0a0a0a0a-0b0b-4c4c-8d8d-000000000001", "0a0a0a0a-0b0b-4c4c-8d8d-000000000002"
    secrets = "127.0.0.1:40123 eyJh.c-d.e_f"
    text = f"{uid} 2031-02-03T04:05:06Z {other} {uid} 2030-02-03T04:05:06.123456Z {secrets}"
    pieces: list[str | dict[str, str]] = [text[:20], text[20:100], text[100:]]
    exchange = Exchange("GET", "/", {}, uid, 200, (), pieces, ended=True)
    [clean] = replace_random_values([exchange])
    first, second = (f"00000000-0000-4000-8000-{number:012}" for number in range(2))
    assert clean.body == first
    times = ["2026-01-01T00:00:01Z", "2026-01-01T00:00:00.123456Z"]
    assert clean.decoded_body.split() == [
        first,
        times[0],
        second,
        first,
        times[1],
        "127.0.0.1:66666",
        "x" * 12,
    ]
    assert [len(chunk) for chunk in clean.content] == [20, 80, len(text) - 100]

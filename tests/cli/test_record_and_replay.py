"""`kubeproto record` and `kubeproto replay`: events are replayed in order and with their delays."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from command_processes import PROGRAM, CommandLine
from terminals import Terminal

from kubeproto.watching import read_recording
from kubeproto_serve import prepare_replay, replay
from kubeproto_sim import Cluster

pytestmark = pytest.mark.one_python

HEAD: Final = {
    "format": "kubeproto/watch/v1", "group": "", "version": "v1", "kind": "ConfigMap", "plural": "configmaps",
    "namespaced": True,
}  # fmt: skip
BOOKS: Final = {**HEAD, "group": "library.example.com", "kind": "Book", "plural": "books"}


def config_map(name: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text},
        "metadata": {
            "name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": "77", **metadata,
        },
    }  # fmt: skip


def event(delay: float, type_: str, obj: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"delay": delay, "type": type_} | ({"object": obj} if obj else {})


EVENTS: Final = [
    event(0.0, "ADDED", config_map("a", "one")),
    event(0.0, "SYNCED"),
    event(2.0, "MODIFIED", config_map("a", "two", deletionTimestamp="2026-01-01T00:00:00Z")),
    event(0.5, "ADDED", config_map("b", "three")),
    event(10.0, "DELETED", config_map("a", "two")),
]


def json_lines(*lines: object) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def play(data: bytes, **options: Any) -> tuple[list[float], list[Any]]:
    """Replay a recording; return the delays, and the objects of the cluster at each delay."""
    cluster, recording = Cluster(populated=False), read_recording(data)
    remaining_events = prepare_replay(cluster, recording)
    kind = f"{recording.head.resource.api_version}/{recording.head.kind}"
    delays: list[float] = []
    contents: list[Any] = []

    async def sleep(delay: float) -> None:
        delays.append(delay)
        contents.append(
            {obj["metadata"]["name"]: obj.get("data", obj.get("spec")) for obj in cluster.objects(kind)}
        )

    asyncio.run(replay(cluster, recording, remaining_events, sleep=sleep, **options))
    contents.append([obj["metadata"]["name"] for obj in cluster.objects(kind)])
    return delays, contents


def test_events_are_replayed_in_order_with_their_delays() -> None:
    delays, contents = play(json_lines(HEAD, *EVENTS))
    assert delays == [0.0, 2.0, 0.5, 10.0]
    assert contents == [
        {"a": {"text": "one"}},
        {"a": {"text": "one"}},
        {"a": {"text": "two"}},
        {"a": {"text": "two"}, "b": {"text": "three"}},
        ["b"],
    ]


@pytest.mark.parametrize(
    ("speed", "delays"), [(10.0, [0.0, 0.2, 0.05, 1.0]), (0.0, [0.0] * 4), (0.5, [0, 4, 1, 20])]
)
def test_speed_divides_the_delays(speed: float, delays: list[float]) -> None:
    assert play(json_lines(HEAD, *EVENTS), speed=speed)[0] == pytest.approx(delays)


def test_replayed_objects_differ_from_the_file_only_in_their_versions() -> None:
    cluster = Cluster(populated=False)
    recording = read_recording(json_lines(HEAD, *EVENTS))
    prepare_replay(cluster, recording)
    config_map_object = cluster.get("v1/ConfigMap", "a", "shop")
    assert config_map_object is not None
    assert config_map_object["metadata"].pop("resourceVersion") != "77"
    expected = config_map("a", "one")
    del expected["metadata"]["resourceVersion"]
    assert config_map_object == expected


def test_a_custom_kind_gets_a_definition() -> None:
    book = {"apiVersion": "library.example.com/v1", "kind": "Book", "spec": {"any": {"thing": 1}}}
    line = event(0.0, "ADDED", {**book, "metadata": {"name": "moby", "namespace": "default"}})
    assert play(json_lines(BOOKS, line))[1][-1] == ["moby"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1 is not the head of a recording"),
        (b"\xff\n", "line 1 is not the head of a recording"),
        (json_lines({**HEAD, "format": "other"}), "the format is 'other'"),
        (json_lines(HEAD, {"delay": 0}), "line 2 is not an event"),
        (json_lines(HEAD, event(0, "ADDED", {"kind": 5})), "line 2 is not an event"),
        (
            json_lines(HEAD, event(0, "ADDED", config_map("a", "x")), event(-1, "SYNCED")),
            "line 3: a delay of -1",
        ),
        (json_lines(HEAD) + b"[" * 10_000 + b"\n", "line 2 is not an event"),
    ],
)
def test_the_error_for_an_invalid_recording_names_the_line(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_recording(data)


def test_an_incomplete_last_line_is_ignored() -> None:
    assert len(read_recording(json_lines(HEAD, *EVENTS) + b'{"delay":1,"ty').events) == len(EVENTS)


# As processes


def put(cli: CommandLine, name: str, text: str) -> None:
    cli.server.call(cli.cluster.store, config_map(name, text))


def test_a_recording_is_replayed_for_any_client(cli: CommandLine, tmp_path: Path) -> None:
    put(cli, "a", "one")
    path = tmp_path / "watch.jsonl"
    with cli.start("record", "configmaps", "-n", "shop", "-o", str(path)) as process:
        while b"SYNCED" not in (path.read_bytes() if path.exists() else b""):
            assert process.poll() is None
        put(cli, "a", "two")
        put(cli, "b", "three")
        cli.server.call(cli.cluster.remove, "v1/ConfigMap", "a", "shop")
        while b"DELETED" not in path.read_bytes():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
    assert (process.returncode, message) == (0, "# 4 events recorded\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    recording = read_recording(path.read_bytes())
    assert [event.type for event in recording.events] == ["ADDED", "SYNCED", "MODIFIED", "ADDED", "DELETED"]
    assert recording.head.namespace == "shop"

    config = tmp_path / "replayed"
    with cli.start(
        "replay", str(path), "--port", "0", "--kubeconfig", str(config), "--speed", "1000"
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("# serving configmaps at http://127.0.0.1:")
        watch = [*PROGRAM, "watch", "configmaps", "-n", "shop", "-o", "jsonl"]
        with subprocess.Popen(
            watch, stdout=subprocess.PIPE, text=True, env={**cli.environment, "KUBECONFIG": str(config)}
        ) as watching:
            assert watching.stdout is not None
            lines = [json.loads(watching.stdout.readline()) for _ in range(4)]
            watching.send_signal(signal.SIGINT)
            watching.communicate(timeout=60)
        server.send_signal(signal.SIGTERM)
        _, message = server.communicate(timeout=60)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in lines] == [
        ("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a"),
    ]  # fmt: skip
    assert (server.returncode, message) == (0, "# all 3 events were sent\n")


def test_for_ends_a_recording_and_once_ends_a_replay(cli: CommandLine) -> None:
    put(cli, "a", "one")
    result = cli.run("record", "configmaps", "-n", "shop", "--for", "0.5s")
    assert result.stderr == "# 1 events recorded\n"
    (cli.folder / "watch.jsonl").write_text(result.stdout)
    result = cli.run("replay", "watch.jsonl", "--port", "0", "--once", "--immediately")
    assert result.stderr == "# all 0 events were sent\n"


def test_ctrl_c_ends_record_and_replay_on_a_terminal(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    with cli.terminal("record", "configmaps", "-n", "shop", "-o", str(path)) as terminal:
        while b"SYNCED" not in (path.read_bytes() if path.exists() else b""):
            assert terminal.process.poll() is None
        terminal.send("\x03")
        assert terminal.wait() == 0
        assert "# 0 events recorded" in terminal.screen.text
    with Terminal([*PROGRAM, "replay", str(path), "--port", "0"], rows=60) as terminal:
        terminal.wait_for(lambda screen: "# serving configmaps" in screen.text)
        terminal.send("\x03")
        assert terminal.wait() == 0
        assert "Traceback" not in terminal.output


def test_an_error_is_a_single_line(cli: CommandLine) -> None:
    (cli.folder / "broken").write_bytes(b"{}\n")
    result = cli.call("replay", "broken", status=1)
    assert result.stderr.startswith("kubeproto replay: broken: line 1 is not the head of a recording")
    assert (
        cli.call("replay", "gone", status=1).stderr == "kubeproto replay: gone: No such file or directory\n"
    )
    assert "is several kinds" in cli.call("record", "all", status=2).stderr
    assert "head" not in cli.call("record", "nothings", status=1).stdout

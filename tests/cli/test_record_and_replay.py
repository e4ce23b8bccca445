"""`kubeproto record` and `kubeproto replay`: what happened comes again, in order and with its delays."""

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


def written(*lines: object) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def play(data: bytes, **options: Any) -> tuple[list[float], list[Any]]:
    """The delays that were slept, and what a cluster holds after each of them."""
    cluster, recording = Cluster(populated=False), read_recording(data)
    rest = prepare_replay(cluster, recording)
    kind = f"{recording.head.resource.api_version}/{recording.head.kind}"
    delays: list[float] = []
    seen: list[Any] = []

    async def sleep(delay: float) -> None:
        delays.append(delay)
        seen.append(
            {one["metadata"]["name"]: one.get("data", one.get("spec")) for one in cluster.objects(kind)}
        )

    asyncio.run(replay(cluster, recording, rest, sleep=sleep, **options))
    seen.append([one["metadata"]["name"] for one in cluster.objects(kind)])
    return delays, seen


def test_events_happen_in_their_order_with_their_delays() -> None:
    delays, seen = play(written(HEAD, *EVENTS))
    assert delays == [0.0, 2.0, 0.5, 10.0]
    assert seen == [
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
    assert play(written(HEAD, *EVENTS), speed=speed)[0] == pytest.approx(delays)


def test_objects_are_those_of_the_file_but_for_their_versions() -> None:
    cluster = Cluster(populated=False)
    recording = read_recording(written(HEAD, *EVENTS))
    prepare_replay(cluster, recording)
    found = cluster.get("v1/ConfigMap", "a", "shop")
    assert found is not None
    assert found["metadata"].pop("resourceVersion") != "77"
    expected = config_map("a", "one")
    del expected["metadata"]["resourceVersion"]
    assert found == expected


def test_a_kind_that_no_server_brings_gets_a_definition() -> None:
    book = {"apiVersion": "library.example.com/v1", "kind": "Book", "spec": {"any": {"thing": 1}}}
    line = event(0.0, "ADDED", {**book, "metadata": {"name": "moby", "namespace": "default"}})
    assert play(written(BOOKS, line))[1][-1] == ["moby"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 1 is not the head of a recording"),
        (b"\xff\n", "line 1 is not the head of a recording"),
        (written({**HEAD, "format": "other"}), "the format is 'other'"),
        (written(HEAD, {"delay": 0}), "line 2 is not an event"),
        (written(HEAD, event(0, "ADDED", {"kind": 5})), "line 2 is not an event"),
        (
            written(HEAD, event(0, "ADDED", config_map("a", "x")), event(-1, "SYNCED")),
            "line 3: a delay of -1",
        ),
        (written(HEAD) + b"[" * 10_000 + b"\n", "line 2 is not an event"),
    ],
)
def test_what_is_not_a_recording_is_refused_with_its_line(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_recording(data)


def test_a_last_line_that_was_cut_off_is_left() -> None:
    assert len(read_recording(written(HEAD, *EVENTS) + b'{"delay":1,"ty').events) == len(EVENTS)


# As processes


def put(cli: CommandLine, name: str, text: str) -> None:
    cli.server.call(cli.cluster.store, config_map(name, text))


def test_what_is_recorded_is_replayed_for_any_client(cli: CommandLine, tmp_path: Path) -> None:
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
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "# 4 events recorded\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    recording = read_recording(path.read_bytes())
    assert [one.type for one in recording.events] == ["ADDED", "SYNCED", "MODIFIED", "ADDED", "DELETED"]
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
        _, said = server.communicate(timeout=60)
    assert [(one["type"], one["object"]["metadata"]["name"]) for one in lines] == [
        ("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a"),
    ]  # fmt: skip
    assert (server.returncode, said) == (0, "# all 3 events were sent\n")


def test_a_recording_ends_by_itself_and_a_replay_too(cli: CommandLine) -> None:
    put(cli, "a", "one")
    done = cli.run("record", "configmaps", "-n", "shop", "--for", "0.5s")
    assert done.stderr == "# 1 events recorded\n"
    (cli.folder / "watch.jsonl").write_text(done.stdout)
    done = cli.run("replay", "watch.jsonl", "--port", "0", "--once", "--immediately")
    assert done.stderr == "# all 0 events were sent\n"


def test_on_a_terminal_ctrl_c_ends_both(cli: CommandLine, tmp_path: Path) -> None:
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


def test_mistakes_are_one_line(cli: CommandLine) -> None:
    (cli.folder / "broken").write_bytes(b"{}\n")
    done = cli.call("replay", "broken", status=1)
    assert done.stderr.startswith("kubeproto replay: broken: line 1 is not the head of a recording")
    assert (
        cli.call("replay", "gone", status=1).stderr == "kubeproto replay: gone: No such file or directory\n"
    )
    assert "is several kinds" in cli.call("record", "all", status=2).stderr
    assert "head" not in cli.call("record", "nothings", status=1).stdout

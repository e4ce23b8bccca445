"""`kubeproto watch` as a process: JSON lines in a pipe, a live table on a terminal, and lost watches."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from command_processes import CommandLine

import kubeproto as kp
from kubeproto.crd import definition_of

pytestmark = pytest.mark.one_python


def config_map(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"name": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def put(cli: CommandLine, *args: Any, **data: str) -> None:
    cli.server.call(lambda: cli.cluster.put(config_map(*args, **data)))


def next_line(process: subprocess.Popen[str]) -> tuple[str, str, str]:
    """Return the type, name and color of the next event."""
    assert process.stdout is not None
    message = process.stdout.readline()
    assert message, process.stderr and process.stderr.read()
    event = json.loads(message)
    obj = event["object"]
    assert "managedFields" not in obj["metadata"]
    return event["type"], obj["metadata"]["name"], obj.get("data", {}).get("color", "")


def test_watch_prints_a_json_line_for_each_change_in_a_pipe(cli: CommandLine) -> None:
    put(cli, "a", color="blue")
    with cli.start("watch", "cm") as process:
        assert next_line(process) == ("ADDED", "a", "blue")
        put(cli, "a", color="red")
        assert next_line(process) == ("MODIFIED", "a", "red")
        put(cli, "b", color="green")
        assert next_line(process) == ("ADDED", "b", "green")
        cli.server.call(lambda: cli.cluster.remove("v1/ConfigMap", "a"))
        assert next_line(process) == ("DELETED", "a", "red")


def test_watch_survives_a_closed_connection_and_an_expired_version(cli: CommandLine) -> None:
    put(cli, "a", color="blue")
    with cli.start("watch", "cm", "-l", "name in (a, b, c)") as process:
        assert next_line(process) == ("ADDED", "a", "blue")
        cli.server.call(cli.cluster.end_watches)
        put(cli, "b", color="green")
        assert next_line(process) == ("ADDED", "b", "green")

        def expire() -> None:
            cli.cluster.end_watches()
            cli.cluster.put(config_map("a", color="red"))
            cli.cluster.remove("v1/ConfigMap", "b")
            cli.cluster.compact()

        cli.server.call(expire)
        events = {next_line(process), next_line(process)}
        assert events == {("MODIFIED", "a", "red"), ("DELETED", "b", "green")}
        put(cli, "c", color="white")
        assert next_line(process) == ("ADDED", "c", "white")


def test_names_selectors_kinds_and_namespaces_filter_the_objects(cli: CommandLine) -> None:
    for name, namespace in (("a", "default"), ("b", "default"), ("far", "kube-system")):
        put(cli, name, namespace)
    for arguments, expected_names in (
        (("cm", "a"), {"a"}),
        (("cm/a", "cm/b"), {"a", "b"}),
        (("cm", "-n", "kube-system"), {"far"}),
        (("cm", "-A", "-l", "name!=a"), {"b", "far"}),
        (("cm,ns", "--field-selector", "metadata.name=default"), {"default"}),
    ):
        with cli.start("watch", *arguments) as process:
            assert {next_line(process)[1] for _ in expected_names} == expected_names


def test_watch_updates_a_table_on_a_terminal(cli: CommandLine) -> None:
    put(cli, "a", color="blue")
    with cli.terminal("watch", "cm", rows=8, columns=40) as terminal:
        terminal.wait_for(lambda screen: len(screen.lines) == 2)
        assert terminal.screen.lines[0].split() == ["NAME", "DATA", "AGE"]
        assert terminal.screen.lines[1].split()[:2] == ["a", "1"]
        put(cli, "b", color="green")
        terminal.wait_for(lambda screen: len(screen.lines) == 3)
        assert "\x1b[32mb" in terminal.output  # a new row is green for a while
        put(cli, "a", color="red", shape="round")
        terminal.wait_for(lambda screen: screen.lines[1].split()[:2] == ["a", "2"])
        assert "\x1b[33ma" in terminal.output
        age = terminal.screen.lines[1].split()[2]
        terminal.wait_for(
            lambda screen: screen.lines[1].split()[2] != age
        )  # ages are updated without an event
        cli.server.call(lambda: cli.cluster.remove("v1/ConfigMap", "a"))
        terminal.wait_for(lambda screen: [message.split()[0] for message in screen.lines] == ["NAME", "b"])
        terminal.send("\x03")
        assert terminal.wait() == 130
        # The main screen keeps the last state.
        assert [message.split()[0] for message in terminal.screen.lines if message != "^C"] == ["NAME", "b"]


def test_the_table_is_redrawn_after_a_resize(cli: CommandLine) -> None:
    for number in range(9):
        put(cli, f"map-{number}-{'x' * 40}")
    with cli.terminal("watch", "cm", rows=20, columns=70) as terminal:
        terminal.wait_for(lambda screen: len(screen.lines) == 10)
        terminal.resize(6, 20)
        terminal.wait_for(lambda screen: "more lines" in screen.text and len(screen.lines) == 5)
        assert all(len(message) <= 20 for message in terminal.screen.lines)
        assert terminal.screen.lines[-1] == "… 6 more lines"
        terminal.resize(20, 70)
        terminal.wait_for(lambda screen: len(screen.lines) == 10 and "AGE" in screen.lines[0])


DEFINITION = "apiextensions.k8s.io/v1/CustomResourceDefinition"


class Book(kp.KubeObject, group="example.com", version="v1"):
    """A kind whose definition is removed and restored."""


@pytest.mark.thorough("it waits for the watch to retry")
def test_the_table_shows_why_it_is_out_of_date(cli: CommandLine) -> None:
    put(cli, "a")
    cli.server.call(lambda: cli.cluster.define(definition_of(Book)))
    with cli.terminal("watch", "books,cm", columns=120) as terminal:
        terminal.wait_for(lambda screen: "configmap/a" in screen.text)
        name = "books.example.com"
        cli.server.call(lambda: cli.cluster.remove(DEFINITION, name, ""))
        terminal.wait_for(lambda screen: f"{name}/v1: " in screen.text and "404" in screen.text)
        put(cli, "b")
        terminal.wait_for(lambda screen: "configmap/b" in screen.text)
        cli.server.call(lambda: cli.cluster.define(definition_of(Book)))
        terminal.wait_for(lambda screen: "404" not in screen.text)


def test_an_empty_table_has_the_message_of_kubectl(cli: CommandLine) -> None:
    with cli.terminal("watch", "pods") as terminal:
        terminal.wait_for(lambda screen: screen.text == "No resources found")


def test_ctrl_c_and_a_closed_pipe_end_watch_silently(cli: CommandLine) -> None:
    put(cli, "a")
    with cli.start("watch", "cm") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        next_line(process)
        process.stdout.close()
        put(cli, "b")
        assert (process.wait(60), process.stderr.read()) == (141, "")
    with cli.start("watch", "cm") as process:
        next_line(process)
        process.send_signal(2)
        _, stderr_text = process.communicate(timeout=60)
        assert (process.returncode, stderr_text) == (130, "")


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("watch", 2, "no resources: expected"),
        ("watch nothing", 1, "the server serves no resource 'nothing'"),
        ("watch cm -o table", 2, "a live table needs a terminal"),
        ("watch cm a -A", 2, "by its name in all namespaces"),
        ("watch cm a -l b", 2, "are mutually exclusive"),
    ],
)
def test_an_error_in_the_arguments_is_reported_before_the_watch_starts(
    cli: CommandLine, command: str, status: int, message: str
) -> None:
    result = cli.call(*command.split())
    assert (result.returncode, result.stderr.count("\n"), result.stdout) == (status, 1, "")
    assert message in result.stderr

"""`kubeproto logs` as a process against simulated pods: in pipes, and on a terminal."""

from __future__ import annotations

import re
import select
import signal
import subprocess
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from command_processes import CommandLine

import kubeproto_sim as sim

pytestmark = pytest.mark.one_python

LABELS = {"app": "shop"}


def pod(name: str, *containers: str) -> dict[str, Any]:
    spec = {"containers": [{"name": container, "image": container} for container in containers or ("app",)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": LABELS}, "spec": spec}


@pytest.fixture
def nodes(cli: CommandLine) -> sim.Nodes:
    def start_nodes() -> sim.Nodes:
        cluster = cli.cluster
        programs = {"app": sim.Program(log="one\ntwo\n"), "side": sim.Program(log="sidecar\n")}
        simulated_nodes = cluster.nodes(ready_after=0, ends_after=0, programs=programs)
        cluster.put(pod("web-0", "app", "side"))
        cluster.put(pod("web-1"))
        service = {"selector": LABELS, "ports": [{"port": 80}]}
        cluster.put({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": service})
        cluster.settle()
        return simulated_nodes

    return cli.server.call(start_nodes)


@pytest.mark.parametrize(
    ("arguments", "expected_output"),
    [
        ("logs web-1", "one\ntwo\n"),
        ("logs web-0 --tail 1", "two\n"),
        ("logs web-0 -c side", "sidecar\n"),
        ("logs web-0 --all-containers --tail 1", "[pod/web-0/app] two\n[pod/web-0/side] sidecar\n"),
        ("logs -l app=shop --tail 1", "[pod/web-0/app] two\n[pod/web-1/app] two\n"),
        ("logs svc/shop --no-prefix", "one\ntwo\none\ntwo\n"),
        ("logs web-1 --prefix --since 1h", "[pod/web-1/app] one\n[pod/web-1/app] two\n"),
        ("logs web-1 --limit-bytes 5", "one\nt"),
        ("logs web-1 --since-time 2030-01-01T00:00:00Z", ""),
        ("logs web-1 --since-time 2000-01-01T00:00:00+02:00", "one\ntwo\n"),
    ],
)
def test_options_select_the_printed_lines(
    cli: CommandLine, nodes: sim.Nodes, arguments: str, expected_output: str
) -> None:
    result = cli.call(*arguments.split())
    assert (result.stdout, result.stderr) == (expected_output, "")


def test_timestamps_are_printed_on_request(cli: CommandLine, nodes: sim.Nodes) -> None:
    lines = cli.call("logs", "web-1", "--timestamps").stdout.splitlines()
    assert [bool(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z (one|two)", line)) for line in lines] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("logs web-1 --previous", 1, 'previous terminated container "app" in pod "web-1" not found'),
        ("logs none", 1, 'pods "none" not found'),
        ("logs web-1 --since 5m --since-time 2030-01-01T00:00:00Z", 2, "are mutually exclusive"),
        ("logs web-1 --since-time 2030-01-01", 2, "'2030-01-01' is not an RFC 3339 time"),
        ("logs web-1 --limit-bytes 0", 2, "0 is not in the range x>=1"),
        ("logs", 2, "expected either a pod or TYPE/NAME, or --selector"),
        ("logs web-0 -f --previous", 1, "previous run does not grow"),
    ],
)
def test_an_error_is_reported_without_a_traceback(
    cli: CommandLine, nodes: sim.Nodes, arguments: str, status: int, message: str
) -> None:
    result = cli.call(*arguments.split(), status=status)
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_log_is_followed_in_a_pipe_until_ctrl_c(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.start("logs", "-f", "-l", "app=shop", "--tail", "0") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines: list[str] = []
        # `--tail 0` omits lines that were written before the command connected.
        for number in range(1000):
            cli.server.call(partial(nodes.log, "web-1", f"line {number}\n"))
            if select.select([process.stdout], [], [], 0.2)[0]:
                break
        lines.append(process.stdout.readline())
        assert re.fullmatch(r"\[pod/web-1/app\] line \d+\n", lines[0])
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "Traceback" not in process.stderr.read()


def test_a_closed_pipe_ends_a_followed_log(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.start("logs", "-f", "web-1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "one\n"
        process.stdout.close()
        for _ in range(2000):
            cli.server.call(lambda: nodes.log("web-1", "more\n" * 100))
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
                break
        assert (process.wait(60), process.stderr.read()) == (141, "")


def test_each_prefix_has_a_color_on_a_terminal(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.terminal("logs", "-l", "app=shop", "--all-containers") as terminal:
        assert terminal.wait() == 0
        assert "[pod/web-0/app] two" in terminal.screen.text
        colors = set(re.findall(r"\x1b\[(\d+)m\[pod/(\S+)\]", terminal.output))
        assert len(colors) == 3
        assert len({color for color, _ in colors}) > 1

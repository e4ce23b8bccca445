"""`kubeproto wait` as a process: conditions, values, creation, deletion, and what can never be."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import click
import pytest
from command_processes import CommandLine

import kubeproto as kp
from kubeproto_cli._wait import parse_condition
from kubeproto_runtime import conditions

pytestmark = pytest.mark.one_python


def pod(name: str, ready: str = "False", phase: str = "Pending") -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "one:1"}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    }  # fmt: skip


def put(cli: CommandLine, *objects: dict[str, Any]) -> None:
    cli.server.call(lambda: [cli.cluster.put(obj) for obj in objects])


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("what", "status", "holds"),
    [
        ("condition=Ready", {"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ("condition=ready=true", {"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ("condition=Ready", {"conditions": [{"type": "Ready", "status": "False"}]}, False),
        ("condition=Ready=False", {"conditions": [{"type": "Ready", "status": "False"}]}, True),
        ("jsonpath={.status.phase}=Running", {"phase": "Running"}, True),
        ("jsonpath='{.status.phase}'=Running", {"phase": "Running"}, True),
        ("jsonpath={.status.phase}='Running'", {"phase": "Running"}, True),
        ("jsonpath=.status.phase=Running", {"phase": "Pending"}, False),
        ("jsonpath={.status.replicas}=3", {"replicas": 3}, True),
        ("jsonpath={.status.done}=true", {"done": True}, True),
        ("jsonpath={.status.phase}", {"phase": ""}, True),
        ("jsonpath={.status.phase}", {}, False),
        ('jsonpath={.status.conditions[?(@.type=="A")].status}=True',
         {"conditions": [{"type": "A", "status": "True"}]}, True),
        ("create", {}, True),
    ],
)  # fmt: skip
def test_a_condition_is_read_as_kubectl_reads_it(what: str, status: dict[str, Any], holds: bool) -> None:
    condition = parse_condition(what.replace("jsonpath='{.status.phase}'", "jsonpath={.status.phase}"))
    metadata = {"name": "a", "namespace": "b", "generation": 1}
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status})
    assert (condition.missing(kp.decode(text.encode(), kp.Dynamic)) == "") is holds


@pytest.mark.parametrize(
    "what",
    ["", "ready", "condition", "condition=", "jsonpath", "jsonpath={.a}x", "jsonpath={.a}=", "delete=x"],
)
def test_anything_else_is_refused(what: str) -> None:
    with pytest.raises(click.UsageError, match="--for"):
        parse_condition(what)


def test_a_condition_at_a_path_says_what_is_there() -> None:
    obj = kp.decode(b'{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"x":[1,2]}', kp.Dynamic)
    assert conditions.at_path(".x[*]", "3").missing(obj) == ".x[*] is 1, 2"
    assert conditions.at_path(".y").missing(obj) == "there is nothing at .y"
    assert conditions.at_path(".y").missing(None) == "it does not exist"
    assert repr(conditions.at_path(".x[0]", "1")) == "<.x[0]=1>"


def test_it_waits_for_each_object_and_says_when(cli: CommandLine) -> None:
    put(cli, pod("a"), pod("b", ready="True"))
    with cli.start("wait", "pods", "-l", "app=web", "--for=condition=Ready", "--timeout=2m") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "pod/b condition met\n"

        def become_ready(obj: dict[str, Any]) -> None:
            obj["status"]["conditions"] = [{"type": "Ready", "status": "True"}]

        cli.server.call(lambda: cli.cluster.edit("v1/Pod", "a", become_ready))
        assert ended(process) == (0, "pod/a condition met\n", "")


def test_creation_and_deletion_are_waited_for(cli: CommandLine) -> None:
    with cli.start("wait", "pod/a", "pod/b", "--for=create", "--timeout=2m") as process:
        put(cli, pod("b"), pod("a"))
        status, out, err = ended(process)
    assert (status, sorted(out.splitlines()), err) == (0, ["pod/a condition met", "pod/b condition met"], "")
    with cli.start("wait", "pods", "--all", "--for=delete", "--timeout=2m") as process:
        while cli.server.call(lambda: len(cli.cluster.watches)) < 2:
            assert process.poll() is None
            time.sleep(0.01)  # the core is for the process that starts
        for name in ("b", "a"):
            cli.server.call(cli.cluster.remove, "v1/Pod", name)
        status, out, err = ended(process)
    assert (status, sorted(out.splitlines()), err) == (0, ["pod/a deleted", "pod/b deleted"], "")
    assert cli.call("wait", "pod/none", "--for=delete").stdout == "pod/none deleted\n"


def test_when_the_time_is_up_it_says_what_was_missing(cli: CommandLine) -> None:
    put(cli, pod("a"))
    done = cli.call("wait", "pod/a", "pod/none", "--for=condition=Ready", "--timeout=0")
    assert (done.returncode, done.stdout) == (1, "")
    assert sorted(done.stderr.splitlines()) == [
        "kubeproto wait: pod/a is not Ready: Ready is False",
        "kubeproto wait: pod/none is not Ready: it does not exist",
    ]


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("pods", "--for=create"), 2, "which objects? give names, or one of --all"),
        (("pod/a", "--all", "--for=create"), 2, "which objects?"),
        (("pods", "-l", "a=b", "--for=condition=Ready"), 1, "no object matches"),
        (
            ("pod/a", "--for=soon"),
            2,
            "expected condition=TYPE[=STATUS], jsonpath=",
        ),
        (("pod/a", "--for=create", "--timeout=soon"), 2, "'soon' is not a duration"),
    ],
)
def test_a_mistake_is_one_line(cli: CommandLine, words: tuple[str, ...], status: int, line: str) -> None:
    done = cli.call("wait", *words)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (status, 1, "")
    assert line in done.stderr


def test_ctrl_c_ends_a_wait(cli: CommandLine) -> None:
    with cli.start("wait", "pod/a", "pod/b", "--for=create", "--timeout=-1") as process:
        put(cli, pod("b"))
        assert process.stdout is not None
        assert process.stdout.readline() == "pod/b condition met\n"
        process.send_signal(2)
        assert ended(process) == (130, "", "")

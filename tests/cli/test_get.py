"""`kubeproto get` as a process: what it prints is what kubectl prints of the same server."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, Final

import pytest
import yaml
from command_processes import CommandLine

pytestmark = pytest.mark.one_python

PODS: Final = 7


def pod(name: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace, "labels": labels,
        },
        "spec": {"containers": [{"name": "main", "image": f"{name}:1"}], "nodeName": f"node-{name}"},
        "status": {"phase": "Running"},
    }  # fmt: skip


@pytest.fixture
def filled(cli: CommandLine) -> CommandLine:
    def fill() -> None:
        for number in range(PODS):
            cli.cluster.put(pod(f"web-{number}", app="web", number=str(number)))
        cli.cluster.put(pod("db", app="db"))
        cli.cluster.put(pod("far", "kube-system", tier="back"))
        cli.cluster.put({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "settings", "namespace": "default",
            },
            "data": {"color": "blue", "escape": "a\x1b[31mred"},
        })  # fmt: skip

    cli.server.call(fill)
    return cli


def ageless(text: str) -> str:
    """Without the ages, as a second may pass between the two, and without blanks at the ends of lines."""
    return re.sub(r" +\n", "\n", re.sub(r"\b(\d+m)?\d+s\b *", "AGE ", text))


# What both print alike, byte by byte.
ALIKE: Final = [
    "get pods",
    "get po",
    "get pod",
    "get Pods",
    "get pods.v1.",
    "get deployments.apps",
    "get pods -A",
    "get pods -n kube-system",
    "get pods -o wide",
    "get pods --no-headers",
    "get pods --show-labels",
    "get pods -L app,number",
    "get pods -l app=web",
    "get pods -l app=none",
    "get pods --field-selector metadata.name=db",
    "get pods --chunk-size=2",
    "get pod db web-1",
    "get pod/db",
    "get pod/db cm/settings",
    "get pods,configmaps",
    "get secrets -A",
    "get ns",
    "get ns default",
    "get ns -A",
    "get pods,ns -A",
    "get pods -o name",
    "get pods,deploy,cm -o name",
    "get pods --sort-by=.metadata.labels.number",
    "get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NO:.spec.none",
    "get pods --no-headers -o custom-columns=NAME:.metadata.name",
    "get pod db -o jsonpath={.metadata.labels.app}",
    "get pods -o jsonpath={.items[*].metadata.name}",
    'get pods -o \'jsonpath={range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}\'',
    "get pods -o 'jsonpath={.items[?(@.metadata.name==\"db\")].spec.nodeName}'",
    "get pods -o 'jsonpath={.items[0].metadata.labels}'",
    "get pods -o 'jsonpath={.items[-1:].metadata.name}'",
    "get pods -o 'jsonpath={..image}'",
    "get pod db -o json",
    "get pods -o json",
    "get pod/db cm/settings -o json",
    "get pod none --ignore-not-found",
    "get pod none --ignore-not-found -o yaml",
]


@pytest.mark.needs("kubectl")
def test_it_prints_what_kubectl_prints(filled: CommandLine) -> None:
    different: list[tuple[str, str, str]] = []
    for command in ALIKE:
        ours, theirs = (
            f"{done.returncode}\n{ageless(done.stdout)}---\n{done.stderr}"
            for done in (filled.call(*shlex.split(command)), filled.kubectl(*shlex.split(command)))
        )
        if ours != theirs:
            different.append((command, ours, theirs))
    assert not different, "\n".join("\n".join(one) for one in different)


@pytest.mark.needs("kubectl")
def test_yaml_means_what_kubectl_prints(filled: CommandLine) -> None:
    for command in ("get pod db -o yaml", "get pods,cm -o yaml", "get pod db --show-managed-fields -o yaml"):
        words = shlex.split(command)
        assert yaml.safe_load(filled.call(*words).stdout) == yaml.safe_load(filled.kubectl(*words).stdout)


def test_json_lines_are_an_object_a_line(filled: CommandLine) -> None:
    lines = filled.call("get", "pods,cm", "-A", "-o", "jsonl", "--chunk-size", "3").stdout.splitlines()
    names = [json.loads(line)["metadata"]["name"] for line in lines]
    assert names == ["db", *(f"web-{number}" for number in range(PODS)), "far", "settings"]


def test_long_lists_are_read_in_pages(filled: CommandLine) -> None:
    filled.call("get", "pods", "--chunk-size", "3")
    asked = [one.head.target for one in filled.cluster.log if "/pods" in one.head.target]
    assert len(asked) == 3
    assert all("limit=3" in target for target in asked)


def test_a_name_that_is_missing_is_one_line_and_the_others_are_shown(filled: CommandLine) -> None:
    done = filled.call("get", "pods", "none", "db", "-o", "name", status=1)
    assert done.stdout == "pod/db\n"
    assert done.stderr == (
        'kubeproto get: GET /api/v1/namespaces/default/pods/none: 404 NotFound: pods "none" not found\n'
    )


@pytest.mark.parametrize(
    ("command", "status", "line"),
    [
        ("get", 2, "kubeproto get: which resources? expected TYPE, TYPE NAME… or TYPE/NAME…"),
        ("get pods -o xml", 2, "kubeproto get: there is no output format 'xml': expected wide, yaml"),
        ("get pods -A -n x", 2, "--namespace and --all-namespaces exclude each other"),
        ("get pod a -A", 2, "an object cannot be read by its name in all namespaces"),
        ("get pod a -l b=c", 2, "names and selectors exclude each other"),
        (
            "get depoyments",
            1,
            "serves no resource 'depoyments'; did you mean deployments.apps or ",
        ),
        ("get pods -l a=(", 1, "kubeproto get: "),
        ("get pods --sort-by=.a[", 1, "is not a JSONPath"),
        ("get pods -o jsonpath={.a", 1, "a brace without its partner"),
        ("get pods --context nobody", 1, "nobody"),
        ("get pods --kubeconfig /nowhere", 1, "/nowhere cannot be read"),
    ],
)
def test_a_mistake_is_one_line(cli: CommandLine, command: str, status: int, line: str) -> None:
    done = cli.call(*shlex.split(command))
    assert line in done.stderr
    assert done.returncode == status
    assert (done.stderr.count("\n"), done.stdout) == (1, "")


def test_a_server_that_does_not_run_is_one_line(cli: CommandLine) -> None:
    gone = cli.kubeconfig.read_text().replace(str(cli.server.url), "http://127.0.0.1:9")
    cli.kubeconfig.write_text(gone)
    done = cli.call("get", "pods", status=1)
    assert done.stderr.startswith("kubeproto get: ")
    assert "check that the server runs" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_terminal_has_a_bold_header_and_a_pipe_or_no_color_has_none(filled: CommandLine) -> None:
    words = ("get", "pods", "-o", "custom-columns=NAME:.metadata.name")  # no ages
    with filled.terminal(*words) as terminal:
        assert terminal.wait() == 0
    assert terminal.output.startswith("\x1b[1mNAME\x1b[0m\r\n")
    assert terminal.screen.text == filled.call(*words).stdout.rstrip()
    with filled.terminal("get", "pods", NO_COLOR="1") as terminal:
        assert terminal.wait() == 0
    assert "\x1b" not in terminal.output
    assert "\x1b[1mNAME" in filled.call("get", "pods", FORCE_COLOR="1").stdout


def test_what_a_terminal_would_obey_is_escaped(filled: CommandLine) -> None:
    done = filled.call("get", "cm", "-o", "custom-columns=A:.data.escape")
    assert "\x1b" not in done.stdout


def test_the_requests_are_those_of_the_user_that_is_impersonated(filled: CommandLine) -> None:
    filled.call("get", "pods", "--as", "ann", "--as-group", "readers")
    record = next(one for one in filled.cluster.log if "/pods" in one.head.target)
    assert ("Impersonate-User", "ann") in record.head.headers
    assert ("Impersonate-Group", "readers") in record.head.headers

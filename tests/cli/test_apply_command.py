"""`kubeproto apply` and `diff` as processes: files, sets, conflicts, and kubectl beside them."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from command_processes import CommandLine

pytestmark = pytest.mark.one_python

SETTINGS: Final = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
"""
SECRET: Final = """
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {value: hidden-value}
"""
DEPLOYMENT: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1"}]}
"""
ALL: Final = "---".join((SETTINGS, SECRET, DEPLOYMENT))
SET: Final = ("--prune", "--applyset", "configmaps/shop")


def there(cli: CommandLine, kind: str, name: str) -> dict[str, Any] | None:
    found = cli.server.call(cli.cluster.get, kind, name)
    return None if found is None else dict(found)


def test_files_folders_and_standard_input_are_applied(cli: CommandLine) -> None:
    (cli.folder / "deploy" / "deeper").mkdir(parents=True)
    (cli.folder / "deploy" / "settings.yaml").write_text(SETTINGS)
    (cli.folder / "deploy" / "deeper" / "web.yml").write_text(DEPLOYMENT)
    (cli.folder / "token.json").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "data": {"a": "Yg=="},
    }))  # fmt: skip
    done = cli.run("apply", "-f", "deploy", "-f", "token.json")
    assert (done.stdout, done.stderr) == ("secret/token created\nconfigmap/settings created\n", "") or (
        sorted(done.stdout.splitlines()) == ["configmap/settings created", "secret/token created"]
    )
    done = cli.call("apply", "-f", "deploy", "-R")
    assert done.stdout == "deployment.apps/web created\nconfigmap/settings unchanged\n"
    done = cli.call("apply", "-f", "-", stdin=SETTINGS.replace("blue", "red"))
    assert (done.returncode, done.stdout) == (0, "configmap/settings configured\n")
    found = there(cli, "v1/ConfigMap", "settings")
    assert found is not None
    assert found["data"] == {"color": "red"}
    assert [entry["manager"] for entry in found["metadata"]["managedFields"]] == ["kubeproto"]


def test_a_dry_run_says_it_and_writes_nothing(cli: CommandLine) -> None:
    done = cli.call("apply", "-f", "-", "--dry-run", stdin=ALL)
    assert sorted(done.stdout.splitlines()) == [
        "configmap/settings created (dry run)",
        "deployment.apps/web created (dry run)",
        "secret/token created (dry run)",
    ]
    assert there(cli, "v1/ConfigMap", "settings") is None


def test_a_set_is_pruned_of_what_is_in_no_file_any_more(cli: CommandLine) -> None:
    assert cli.call("apply", "-f", "-", *SET, stdin=ALL).returncode == 0
    done = cli.call("apply", "-f", "-", *SET, stdin=SETTINGS + "---" + DEPLOYMENT)
    assert done.stdout.splitlines()[-1] == "secret/token pruned"
    assert there(cli, "v1/Secret", "token") is None
    (cli.folder / "a.yaml").write_text(SETTINGS)
    (cli.folder / "b.yaml").write_text("kind: [")
    done = cli.call("apply", "-f", "a.yaml", "-f", "b.yaml", *SET)
    assert (done.returncode, done.stdout) == (1, "")
    assert "b.yaml: document 1, line" in done.stderr
    assert there(cli, "apps/v1/Deployment", "web") is not None  # it may be in the file that cannot be read


@pytest.mark.needs("kubectl")
def test_fields_of_others_are_explained_and_taken_over_on_request(cli: CommandLine) -> None:
    (cli.folder / "a.yaml").write_text(SETTINGS)
    assert cli.kubectl("apply", "--server-side", "-f", "a.yaml").returncode == 0
    text = SETTINGS.replace("blue", "red")
    done = cli.call("apply", "-f", "-", stdin=text + "---" + SECRET)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "refused: configmap/settings: kubectl owns .data.color: remove these fields, or take them over"
        " with --force-conflicts\n"
        "kubeproto apply: 1 of the objects cannot be applied, and nothing was written\n"
    )
    assert there(cli, "v1/Secret", "token") is None
    done = cli.call("apply", "-f", "-", "--partial", stdin=text + "---" + SECRET)
    assert (done.returncode, done.stdout) == (1, "secret/token created\n")
    assert done.stderr.endswith("1 of the objects cannot be applied, and the others were applied\n")
    done = cli.call("apply", "-f", "-", "--force-conflicts", stdin=text)
    assert (done.returncode, done.stdout) == (0, "configmap/settings configured\n")


@pytest.mark.needs("kubectl")
def test_a_diff_ends_as_that_of_kubectl_ends(cli: CommandLine) -> None:
    (cli.folder / "a.yaml").write_text(SETTINGS)
    cli.call("apply", "-f", "a.yaml")
    (cli.folder / "b.yaml").write_text(SETTINGS.replace("blue", "red"))
    (cli.folder / "c.yaml").write_text("kind: [")
    (cli.folder / "d.yaml").write_text(DEPLOYMENT)
    for name, status in (("a", 0), ("b", 1), ("d", 1)):
        words = ("diff", "-f", f"{name}.yaml")
        ours, theirs = cli.call(*words), cli.kubectl(*words, "--server-side", "--field-manager=kubeproto")
        assert ours.returncode == theirs.returncode == status, (ours, theirs)
        changed = {line for line in theirs.stdout.splitlines() if line[:1] in "+-" and "color" in line}
        assert changed <= set(ours.stdout.splitlines())
    assert cli.call("diff", "-f", "c.yaml").returncode > 1
    assert cli.kubectl("diff", "-f", "c.yaml").returncode >= 1
    assert cli.call("diff", "-f", "missing.yaml").returncode > 1


def test_a_diff_shows_what_would_change_and_no_secret(cli: CommandLine) -> None:
    cli.call("apply", "-f", "-", *SET, stdin=ALL)
    text = SETTINGS.replace("blue", "red") + "---" + SECRET.replace("hidden", "other")
    done = cli.run("diff", "-f", "-", *SET, stdin=text, status=1)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- live/default/configmap/settings", "+++ applied/default/configmap/settings"]
    assert "-  color: blue" in lines
    assert "+  color: red" in lines
    assert lines[-3:] == ["--- live/default/deployment.apps/web", "+++ /dev/null", "# it would be deleted"]
    assert "-value" not in done.stdout
    assert "--- live/default/secret/token" in lines
    with cli.terminal("diff", "-f", "missing.yaml", "-f", "-") as terminal:
        terminal.send(text.replace("\n", "\r") + "\r\x04")
        assert terminal.wait() == 2
    assert "\x1b[32m+  color: red\x1b[0m" in terminal.output


@pytest.mark.parametrize("command", ["apply -f a.yaml --prune", "diff -f a.yaml --applyset configmaps/a"])
def test_options_that_belong_together_are_missed_before_there_is_a_connection(
    cli: CommandLine, command: str
) -> None:
    (cli.folder / "a.yaml").write_text(SETTINGS)
    cli.kubeconfig.unlink()  # nor is anything looked for
    done = cli.call(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "--prune and --applyset belong together" in done.stderr


@pytest.mark.parametrize(
    ("command", "status", "line"),
    [
        ("apply", 2, "missing option '--filename' / '-f'"),
        ("apply -f none.yaml", 1, "none.yaml: No such file or directory"),
        ("apply -f empty.yaml", 1, "there is no object in empty.yaml"),
        ("apply -f a.yaml --prune", 2, "--prune and --applyset belong together"),
        ("apply -f a.yaml --applyset configmaps/a", 2, "--prune and --applyset belong together"),
        ("diff -f empty.yaml", 2, "there is no object in empty.yaml"),
        ("diff -f a.yaml --context nobody", 2, "nobody"),
    ],
)
def test_a_mistake_says_what_to_do(cli: CommandLine, command: str, status: int, line: str) -> None:
    (cli.folder / "empty.yaml").write_text("---\n")
    (cli.folder / "a.yaml").write_text(SETTINGS)
    done = cli.call(*command.split())
    assert (done.returncode, done.stdout) == (status, "")
    assert line in done.stderr

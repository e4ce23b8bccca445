"""`kubeproto apply` and `diff` as processes: files, sets, conflicts, and a comparison with kubectl."""

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
ALL_OBJECTS: Final = "---".join((SETTINGS, SECRET, DEPLOYMENT))
PRUNE_OPTIONS: Final = ("--prune", "--applyset", "configmaps/shop")


def get_object(cli: CommandLine, kind: str, name: str) -> dict[str, Any] | None:
    config_map = cli.server.call(cli.cluster.get, kind, name)
    return None if config_map is None else dict(config_map)


def test_files_folders_and_standard_input_are_applied(cli: CommandLine) -> None:
    (cli.folder / "deploy" / "deeper").mkdir(parents=True)
    (cli.folder / "deploy" / "settings.yaml").write_text(SETTINGS)
    (cli.folder / "deploy" / "deeper" / "web.yml").write_text(DEPLOYMENT)
    (cli.folder / "token.json").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "data": {"a": "Yg=="},
    }))  # fmt: skip
    result = cli.run("apply", "-f", "deploy", "-f", "token.json")
    assert (result.stdout, result.stderr) == ("secret/token created\nconfigmap/settings created\n", "") or (
        sorted(result.stdout.splitlines()) == ["configmap/settings created", "secret/token created"]
    )
    result = cli.call("apply", "-f", "deploy", "-R")
    assert result.stdout == "deployment.apps/web created\nconfigmap/settings unchanged\n"
    result = cli.call("apply", "-f", "-", stdin=SETTINGS.replace("blue", "red"))
    assert (result.returncode, result.stdout) == (0, "configmap/settings configured\n")
    config_map = get_object(cli, "v1/ConfigMap", "settings")
    assert config_map is not None
    assert config_map["data"] == {"color": "red"}
    assert [entry["manager"] for entry in config_map["metadata"]["managedFields"]] == ["kubeproto"]


def test_a_dry_run_is_marked_in_the_output_and_writes_nothing(cli: CommandLine) -> None:
    result = cli.call("apply", "-f", "-", "--dry-run", stdin=ALL_OBJECTS)
    assert sorted(result.stdout.splitlines()) == [
        "configmap/settings created (dry run)",
        "deployment.apps/web created (dry run)",
        "secret/token created (dry run)",
    ]
    assert get_object(cli, "v1/ConfigMap", "settings") is None


def test_objects_that_are_no_longer_in_the_files_are_pruned_from_the_set(cli: CommandLine) -> None:
    assert cli.call("apply", "-f", "-", *PRUNE_OPTIONS, stdin=ALL_OBJECTS).returncode == 0
    result = cli.call("apply", "-f", "-", *PRUNE_OPTIONS, stdin=SETTINGS + "---" + DEPLOYMENT)
    assert result.stdout.splitlines()[-1] == "secret/token pruned"
    assert get_object(cli, "v1/Secret", "token") is None
    (cli.folder / "a.yaml").write_text(SETTINGS)
    (cli.folder / "b.yaml").write_text("kind: [")
    result = cli.call("apply", "-f", "a.yaml", "-f", "b.yaml", *PRUNE_OPTIONS)
    assert (result.returncode, result.stdout) == (1, "")
    assert "b.yaml: document 1, line" in result.stderr
    assert get_object(cli, "apps/v1/Deployment", "web") is not None  # it may be in the unreadable file


@pytest.mark.needs("kubectl")
def test_a_conflict_names_the_owner_and_force_conflicts_takes_the_fields_over(cli: CommandLine) -> None:
    (cli.folder / "a.yaml").write_text(SETTINGS)
    assert cli.kubectl("apply", "--server-side", "-f", "a.yaml").returncode == 0
    text = SETTINGS.replace("blue", "red")
    result = cli.call("apply", "-f", "-", stdin=text + "---" + SECRET)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "refused: configmap/settings: kubectl owns .data.color: remove these fields, or take them over"
        " with --force-conflicts\n"
        "kubeproto apply: 1 of the objects cannot be applied, and nothing was written\n"
    )
    assert get_object(cli, "v1/Secret", "token") is None
    result = cli.call("apply", "-f", "-", "--partial", stdin=text + "---" + SECRET)
    assert (result.returncode, result.stdout) == (1, "secret/token created\n")
    assert result.stderr.endswith("1 of the objects cannot be applied, and the others were applied\n")
    result = cli.call("apply", "-f", "-", "--force-conflicts", stdin=text)
    assert (result.returncode, result.stdout) == (0, "configmap/settings configured\n")


@pytest.mark.needs("kubectl")
def test_a_diff_exits_with_the_status_of_kubectl_diff(cli: CommandLine) -> None:
    (cli.folder / "a.yaml").write_text(SETTINGS)
    cli.call("apply", "-f", "a.yaml")
    (cli.folder / "b.yaml").write_text(SETTINGS.replace("blue", "red"))
    (cli.folder / "c.yaml").write_text("kind: [")
    (cli.folder / "d.yaml").write_text(DEPLOYMENT)
    for name, status in (("a", 0), ("b", 1), ("d", 1)):
        arguments = ("diff", "-f", f"{name}.yaml")
        result, kubectl_result = (
            cli.call(*arguments),
            cli.kubectl(*arguments, "--server-side", "--field-manager=kubeproto"),
        )
        assert result.returncode == kubectl_result.returncode == status, (result, kubectl_result)
        changed_lines = {
            message
            for message in kubectl_result.stdout.splitlines()
            if message[:1] in "+-" and "color" in message
        }
        assert changed_lines <= set(result.stdout.splitlines())
    assert cli.call("diff", "-f", "c.yaml").returncode > 1
    assert cli.kubectl("diff", "-f", "c.yaml").returncode >= 1
    assert cli.call("diff", "-f", "missing.yaml").returncode > 1


def test_a_diff_shows_the_changes_and_hides_secret_values(cli: CommandLine) -> None:
    cli.call("apply", "-f", "-", *PRUNE_OPTIONS, stdin=ALL_OBJECTS)
    text = SETTINGS.replace("blue", "red") + "---" + SECRET.replace("hidden", "other")
    result = cli.run("diff", "-f", "-", *PRUNE_OPTIONS, stdin=text, status=1)
    lines = result.stdout.splitlines()
    assert lines[:2] == ["--- live/default/configmap/settings", "+++ applied/default/configmap/settings"]
    assert "-  color: blue" in lines
    assert "+  color: red" in lines
    assert lines[-3:] == ["--- live/default/deployment.apps/web", "+++ /dev/null", "# it would be deleted"]
    assert "-value" not in result.stdout
    assert "--- live/default/secret/token" in lines
    with cli.terminal("diff", "-f", "missing.yaml", "-f", "-") as terminal:
        terminal.send(text.replace("\n", "\r") + "\r\x04")
        assert terminal.wait() == 2
    assert "\x1b[32m+  color: red\x1b[0m" in terminal.output


@pytest.mark.parametrize("command", ["apply -f a.yaml --prune", "diff -f a.yaml --applyset configmaps/a"])
def test_a_missing_companion_option_is_reported_before_connecting(cli: CommandLine, command: str) -> None:
    (cli.folder / "a.yaml").write_text(SETTINGS)
    cli.kubeconfig.unlink()  # a command that connected would fail with another error
    result = cli.call(*command.split())
    assert (result.returncode, result.stdout) == (2, "")
    assert "--prune and --applyset belong together" in result.stderr


@pytest.mark.parametrize(
    ("command", "status", "message"),
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
def test_an_error_names_the_remedy(cli: CommandLine, command: str, status: int, message: str) -> None:
    (cli.folder / "empty.yaml").write_text("---\n")
    (cli.folder / "a.yaml").write_text(SETTINGS)
    result = cli.call(*command.split())
    assert (result.returncode, result.stdout) == (status, "")
    assert message in result.stderr

"""`kubeproto watch` continues after a restart of the server and after its token expires."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from command_processes import CommandLine

from kubeproto_serve import SimServer, self_signed, serving
from kubeproto_sim import Cluster

pytestmark = pytest.mark.one_python

# An exec plugin that reads the token from a file.
_PLUGIN: Final = """
import json, sys
status = {"token": open(sys.argv[1]).read()}
version = "client.authentication.k8s.io/v1"
print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
"""


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


def put(server: SimServer, name: str) -> None:
    server.call(server.cluster.put, config_map(name))


def parse_event(line: str) -> tuple[str, str]:
    event = json.loads(line)
    return event["type"], event["object"]["metadata"]["name"]


def test_watch_waits_for_a_restarting_server(tmp_path: Path) -> None:
    cluster = Cluster()
    with serving(cluster) as server:
        port = int(server.url.rpartition(":")[2])
        put(server, "a")
        cli = CommandLine(server, tmp_path)
        watch_command = cli.start("watch", "cm")
        process = watch_command.__enter__()
        assert process.stdout is not None
        first_line = process.stdout.readline()
    try:
        assert parse_event(first_line) == ("ADDED", "a")
        with serving(cluster, port=port) as server:
            put(server, "b")
            assert parse_event(process.stdout.readline()) == ("ADDED", "b")
    finally:
        watch_command.__exit__(None, None, None)


def test_watch_gets_a_new_token_from_the_plugin_when_the_old_token_expires(tmp_path: Path) -> None:
    tokens = {"first-token": "kubernetes-admin"}
    security = msgspec.structs.replace(self_signed("127.0.0.1"), tokens=tokens)
    with serving(Cluster(), security=security) as server:
        put(server, "a")
        cli = CommandLine(server, tmp_path)
        (tmp_path / "plugin.py").write_text(_PLUGIN)
        (tmp_path / "token").write_text("first-token")
        kubeconfig = json.loads(server.kubeconfig)
        kubeconfig["users"][0]["user"] = {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable,
            "args": [str(tmp_path / "plugin.py"), str(tmp_path / "token")], "interactiveMode": "Never",
        }}  # fmt: skip
        cli.kubeconfig.write_text(json.dumps(kubeconfig))
        with cli.start("watch", "cm") as process:
            assert process.stdout is not None
            assert parse_event(process.stdout.readline()) == ("ADDED", "a")
            (tmp_path / "token").write_text("second-token")

            def rotate() -> None:
                del tokens["first-token"]
                tokens["second-token"] = "kubernetes-admin"
                server.cluster.end_watches()
                server.cluster.put(config_map("b"))

            server.call(rotate)
            assert parse_event(process.stdout.readline()) == ("ADDED", "b")
            process.kill()
            assert process.stderr is not None
            assert "token" not in process.stderr.read().replace("tokens", "")

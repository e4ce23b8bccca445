"""`kubeproto serve` as a process: its options, its kubeconfig, its log, and its exit after Ctrl-C."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, Self

import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_cli import main
from kubeproto_cli._serve import ServeOptions, simulated_cluster, time_zone

pytestmark = pytest.mark.one_python

SEED = 8

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "books.command.example.io"},
    "spec": {
        "group": "command.example.io", "scope": "Namespaced", "names": {"plural": "books", "kind": "Book"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}  # fmt: skip
BOOK = {"apiVersion": "command.example.io/v1", "kind": "Book", "metadata": {"name": "moby"}}
WEB = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]},
}  # fmt: skip
PROGRAMS: Final = """
nginx:
  log: |
    listening on 80
  files: {/etc/motd: welcome}
migrate: {takes: 0, code: 3}
"""
PATIENCE: Final = 60.0  # seconds, after which a test has failed; no test waits for them


class Process:
    """A `kubeproto serve`, and requests to it."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "kubeproto_cli", "serve", "--port", "0", *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first.startswith("# serving at http://127.0.0.1:"), first
        self.port = int(first.split(";")[0].rpartition(":")[2])

    def status(self, target: str, **headers: str) -> int:
        """Return the status of a GET, or 0 if the connection broke."""
        return self.get(target, **headers)[0]

    def get(self, target: str, **headers: str) -> tuple[int, str]:
        """Return the status and the body of a GET, or 0 if the connection broke."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def log(self) -> str:
        """Return the log of the pod `web` as soon as it runs."""
        until = time.monotonic() + PATIENCE
        while (response := self.get("/api/v1/namespaces/default/pods/web/log"))[0] != 200:
            assert time.monotonic() < until, response
        return response[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.interrupt()

    def interrupt(self) -> tuple[int, str]:
        """Send Ctrl-C. Return the exit status and the content of standard error."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def test_files_token_kubeconfig_and_log_work_and_watches_see_the_end(tmp_path: Path) -> None:
    (tmp_path / "crd.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "books.json").write_text(json.dumps(BOOK))
    config = tmp_path / "config"
    server = Process(
        "--crd", str(tmp_path / "crd.json"), "--load", str(tmp_path / "books.json"),
        "--kubeconfig", str(config), "--token", "s3cret", "--log",
    )  # fmt: skip
    book = "/apis/command.example.io/v1/namespaces/default/books/moby"
    assert server.status(book) == 401
    assert server.status(book, Authorization="Bearer s3cret") == 200
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert json.loads(config.read_text())["users"][0]["user"]["token"] == "s3cret"
    watch = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    watch.request("GET", "/api/v1/pods?watch=1", headers={"Authorization": "Bearer s3cret"})
    response = watch.getresponse()
    status, errors = server.interrupt()
    assert response.read() == b""  # a truncated body would be an IncompleteRead
    watch.close()
    assert status == 0
    assert f"GET {book} 401 " in errors
    assert "s3cret" not in errors


@pytest.mark.parametrize(("options", "has_hint"), [(("--token", "s3cret"), True), ((), False)])
def test_credentials_without_tls_print_a_hint_about_clients_that_send_none(
    options: tuple[str, ...], has_hint: bool
) -> None:
    server = Process("--empty", *options)
    assert server.process.stdout is not None
    second = server.process.stdout.readline()
    server.interrupt()
    assert second == (
        "# kubectl and client-go send credentials only over TLS: add --tls\n" if has_hint else "{\n"
    )


def test_a_seed_of_faults_affects_the_same_requests_as_in_process() -> None:
    targets = [f"/api/v1/namespaces?limit={number}" for number in range(1, 31)]
    faults = sim.Faults(sim.Cluster(seed=SEED), seed=SEED, share=0.1)
    expected = [in_process(faults, target) for target in targets]
    assert set(expected) > {200}
    server = Process("--faults", str(SEED), "--empty")
    try:
        assert [server.status(target) for target in targets] == expected
    finally:
        server.interrupt()


def in_process(faults: sim.Faults, target: str) -> int:
    try:
        response = faults.respond(kp.RawRequest("GET", target))
    except kp.TransportError:
        return 0
    assert not response.delay, "choose a seed that delays nothing: the test would wait for it"
    return response.status


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--tls-cert", "x"], 2, "--tls-cert and --tls-key belong together"),
        (["--client-certificates"], 2, "client certificates need TLS"),
        (["--webhook", "hooks=127.0.0.1:9443"], 2, "expected NAMESPACE/SERVICE=HOST:PORT"),
        (["--kubernetes", "1.12"], 1, "Kubernetes '1.12' cannot be simulated; the releases are 1.30, "),
        (["--programs", "programs.yaml"], 2, "--programs requires --nodes"),
        (["--nodes", "1", "--programs", "/nothing/here.yaml"], 1, "/nothing/here.yaml: No such file"),
        (["--load", "/nothing/here.yaml"], 1, "/nothing/here.yaml: No such file or directory"),
    ],
)
def test_impossible_options_end_the_command_with_the_reason(
    options: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", "0", "--empty", *options]) == status
    errors = capsys.readouterr().err
    assert errors.startswith("kubeproto serve: ")
    assert message in errors


@pytest.mark.needs("kubectl")
def test_pods_run_the_programs_of_a_file_and_kubectl_reads_their_logs(tmp_path: Path) -> None:
    config, programs = tmp_path / "config", tmp_path / "programs.yaml"
    programs.write_text(PROGRAMS)

    def kubectl(command: str) -> tuple[int, str, str]:
        completed = subprocess.run(
            ["kubectl", *command.split()], capture_output=True, text=True, check=False,
            env={**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)},
        )  # fmt: skip
        return completed.returncode, completed.stdout, completed.stderr

    with Process("--nodes", "2", "--programs", str(programs), "--kubeconfig", str(config)):
        assert kubectl("get nodes -o name") == (0, "node/node-1\nnode/node-2\n", "")
        assert kubectl("create deployment web --image=nginx:1.29 --replicas=2")[0] == 0
        assert kubectl("rollout status deployment/web --timeout=60s")[0] == 0
        assert kubectl("logs deployment/web")[:2] == (0, "listening on 80\n")
        assert kubectl("run once --image=migrate --restart=Never")[0] == 0
        assert kubectl("wait pod/once --for=jsonpath={.status.phase}=Failed --timeout=60s")[0] == 0
        # kubectl itself sometimes discards the first output; the file exists, whatever kubectl prints.
        results = [kubectl("exec deployment/web -- cat /etc/motd") for _ in range(5)]
        assert (0, "welcome", "") in results
        assert kubectl("delete deployment/web --wait=false")[0] == 0
        assert kubectl("wait pod -l app=web --for=delete --timeout=60s")[0] == 0


def test_stored_pods_run_on_added_nodes_and_run_again_after_a_restart(
    tmp_path: Path,
) -> None:
    pod, programs = tmp_path / "pod.json", tmp_path / "programs.yaml"
    pod.write_text(json.dumps(WEB))
    programs.write_text(PROGRAMS)
    options = ("--empty", "--state", str(tmp_path / "state"))
    with Process(*options, "--load", str(pod)) as server:
        assert server.status("/api/v1/namespaces/default/pods/web/log") == 204  # it is on no node
    for _ in range(2):
        with Process(*options, "--nodes", "1", "--programs", str(programs)) as server:
            assert server.log() == "listening on 80\n"
            [node] = json.loads(server.get("/api/v1/nodes")[1])["items"]
            assert node["metadata"]["name"] == "node-1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nginx: {logs: a}", "programs.yaml: Object contains unknown field `logs` - at `$[...]`"),
        ("nginx: {takes: long}", "programs.yaml: Expected `float | null`, got `str` - at `$[...].takes`"),
        ("nginx: {", "programs.yaml: while parsing a flow "),
        ("nginx: {log: \ud800}", "programs.yaml: "),
    ],
    ids=["unknown", "type", "syntax", "bytes"],
)
def test_an_invalid_file_of_programs_is_reported_on_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "programs.yaml").write_bytes(text.encode(errors="surrogatepass"))
    assert main(["serve", "--nodes", "1", "--programs", str(tmp_path / "programs.yaml")]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"kubeproto serve: {tmp_path}/{message}")
    assert errors.count("\n") == 1


def test_a_watch_from_before_a_restart_must_relist() -> None:
    """A server, also a real server, holds a watch from the future open and sends nothing."""
    version = simulated_cluster(ServeOptions(empty=True)).version
    with Process("--empty") as server:
        status, body = server.get(f"/api/v1/configmaps?watch=1&resourceVersion={version}")
    assert (status, json.loads(body)["type"], json.loads(body)["object"]["code"]) == (200, "ERROR", 410)


def test_a_seed_determines_the_versions() -> None:
    options = ServeOptions(empty=True, faults=SEED)
    assert simulated_cluster(options).version == simulated_cluster(options).version < 1000


@pytest.mark.parametrize(("names", "pods"), [("*", 2), ("*,-replicaset", 0), ("", 0)])
def test_controllers_run_unless_they_are_excluded(names: str, pods: int, tmp_path: Path) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    manifest = tmp_path / "web.json"
    manifest.write_text(json.dumps(deployment))
    cluster = simulated_cluster(ServeOptions(load=(str(manifest),), controllers=names))
    cluster.settle()
    assert len(cluster.objects("v1/Pod")) == pods


def test_time_zones_are_those_of_the_system() -> None:
    assert time_zone("Europe/Berlin") is not None
    assert time_zone("Europe/Nowhere") is None
    assert time_zone("../etc/passwd") is None


def test_an_unknown_controller_ends_the_command_with_the_known_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--controllers", "pods"]) == 1
    assert (
        "no controller has the name 'pods-controller'; the names are cronjob-controller, "
        in capsys.readouterr().err
    )

"""`kubeproto serve` as a process: its options, its kubeconfig, its log, and its end by Ctrl-C."""

from __future__ import annotations

import http.client
import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import kubeproto as kp
from kubeproto import sim
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
        """The status of a GET; 0 if the connection broke."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()
        return response.status

    def interrupt(self) -> tuple[int, str]:
        """Press Ctrl-C; the exit status, and what stood on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


def test_files_token_kubeconfig_and_log_and_an_end_that_watches_see(tmp_path: Path) -> None:
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
    status, said = server.interrupt()
    assert response.read() == b""  # a body that was cut off would be an IncompleteRead
    watch.close()
    assert status == 0
    assert f"GET {book} 401 " in said
    assert "s3cret" not in said


@pytest.mark.parametrize(("options", "told"), [(("--token", "s3cret"), True), ((), False)])
def test_who_asks_for_credentials_without_tls_is_told_which_clients_send_none(
    options: tuple[str, ...], told: bool
) -> None:
    server = Process("--empty", *options)
    assert server.process.stdout is not None
    second = server.process.stdout.readline()
    server.interrupt()
    assert second == (
        "# kubectl and client-go send credentials over TLS alone: add --tls\n" if told else "{\n"
    )


def test_a_seed_of_faults_hits_the_requests_that_it_hits_in_process() -> None:
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
        response = faults.answer(kp.Head("GET", target))
    except kp.TransportError:
        return 0
    assert not response.after, "choose a seed that delays nothing: the test would wait for it"
    return response.status


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--tls-cert", "x"], 2, "--tls-cert and --tls-key belong together"),
        (["--client-certificates"], 2, "client certificates need TLS"),
        (["--webhook", "hooks=127.0.0.1:9443"], 2, "expected NAMESPACE/SERVICE=HOST:PORT"),
        (["--kubernetes", "1.12"], 1, "Kubernetes '1.12' cannot be simulated; the releases are 1.30, "),
        (["--load", "/nothing/here.yaml"], 1, "/nothing/here.yaml: No such file or directory"),
    ],
)
def test_options_that_cannot_be_met_end_it_with_the_reason(
    options: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", "0", "--empty", *options]) == status
    said = capsys.readouterr().err
    assert said.startswith("kubeproto serve: ")
    assert message in said


@pytest.mark.parametrize(("names", "pods"), [("*", 2), ("*,-replicaset", 0), ("", 0)])
def test_controllers_run_unless_they_are_left_out(names: str, pods: int, tmp_path: Path) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    manifest = tmp_path / "web.json"
    manifest.write_text(json.dumps(made))
    cluster = simulated_cluster(ServeOptions(load=(str(manifest),), controllers=names))
    cluster.settle()
    assert len(cluster.objects("v1/Pod")) == pods


def test_time_zones_are_those_of_the_system() -> None:
    assert time_zone("Europe/Berlin") is not None
    assert time_zone("Europe/Nowhere") is None
    assert time_zone("../etc/passwd") is None


def test_a_controller_that_does_not_exist_ends_it_with_the_names_that_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--controllers", "pods"]) == 1
    assert (
        "no controller has the name 'pods-controller'; the names are cronjob-controller, "
        in capsys.readouterr().err
    )

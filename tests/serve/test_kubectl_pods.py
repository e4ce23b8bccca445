"""kubectl with the pods of a simulated node, through a port: the output of each command, in order."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import Final

import pytest
from kubectl_commands.running import Step, find_kubectl, scrub_output

import kubeproto_sim as sim
from kubeproto_serve import serving

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

BUDGET: Final = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {run: web}}}
"""

DRAINING: Final = """\
node/node-1 already cordoned
Warning: deleting Pods that declare no controller: commands/web
evicting pod commands/web
"""
# The number of attempts depends on the machine: this line occurs at least once.
REFUSED: Final = """\
error when evicting pods/"web" -n "commands" (will retry after 5s): \
Cannot evict pod as it would violate the pod's disruption budget."""

# kubectl sometimes reads before it has created its streams. Then it discards the first output of a command
# and prints this message. The server is not the cause, and the command is run again.
DISCARDED: Final = "Unknown stream id"
ATTEMPTS: Final = 10
# The shell to which kubectl attached has read its input and exited all the same: the command needs a new
# shell.
BEFORE_ANOTHER: Final = {
    "attach box -i": (
        "delete pod box",
        "run box --image=busybox --restart=Never --stdin --attach=false",
        "wait --for=condition=Ready pod/box --timeout=30s",
    ),
}

# A command, its standard input, its exit status and its output.
STEPS: Final[list[tuple[str, str, int, str]]] = [
    ("run web --image=nginx --port=80", "", 0, "pod/web created"),
    ("wait --for=condition=Ready pod/web --timeout=30s", "", 0, "pod/web condition met"),
    ("get pod web", "", 0, "NAME READY STATUS RESTARTS AGE\nweb 1/1 Running 0 AGE"),
    ("get nodes -o jsonpath={.items[*].metadata.name}", "", 0, "node-1"),
    ("logs web", "", 0, "listening\nready"),
    ("logs web --tail=1", "", 0, "ready"),
    ("logs web -c other", "", 1, "error: container other is not valid for pod web"),
    ("logs web --previous", "", 1,
     'Error from server (BadRequest): previous terminated container "web" in pod "web" not found'),
    ("exec web -- echo hello", "", 0, "hello"),
    ("exec web -- sh -c exit_3", "", 3, "command terminated with exit code 3"),
    ("exec -i web -- cat", "through the pod\n", 0, "through the pod"),
    ("exec web -- cat /etc/motd", "", 0, "welcome"),
    ("cp HOME/there.txt web:/tmp/there.txt", "", 0, ""),
    ("exec web -- cat /tmp/there.txt", "", 0, "from outside"),
    ("cp web:/tmp/there.txt HOME/back.txt", "", 0, ""),
    ("run box --image=busybox --restart=Never --stdin --attach=false", "", 0, "pod/box created"),
    ("wait --for=condition=Ready pod/box --timeout=30s", "", 0, "pod/box condition met"),
    ("attach box -i", "echo typed\n", 0, "If you don't see a command prompt, try pressing enter.\ntyped"),
    ("wait --for=jsonpath={.status.phase}=Succeeded pod/box --timeout=30s", "", 0, "pod/box condition met"),
    ("delete pod box", "", 0, 'pod "box" deleted'),
    ("debug web --image=busybox -c debugger --profile=general -- sleep 1", "", 0, ""),
    ("get pod web -o jsonpath={.status.ephemeralContainerStatuses[0].name}", "", 0, "debugger"),
    ("create -f -", BUDGET, 0, "poddisruptionbudget.policy/web created"),
    ("cordon node-1", "", 0, "node/node-1 cordoned"),
    ("drain node-1 --force --timeout=3s", "", 1, REFUSED),
    ("delete pdb web", "", 0, 'poddisruptionbudget.policy "web" deleted'),
    ("drain node-1 --force", "", 0, DRAINING + "pod/web evicted\nnode/node-1 drained"),
    ("run waits --image=nginx", "", 0, "pod/waits created"),
    ("uncordon node-1", "", 0, "node/node-1 uncordoned"),
    ("wait --for=jsonpath={.status.phase}=Running pod/waits --timeout=30s", "", 0,
     "pod/waits condition met"),
    ("delete pod waits", "", 0, 'pod "waits" deleted'),
]  # fmt: skip


def run_steps(home: Path) -> list[Step]:
    """Return the result of each step, in a new cluster."""
    program = find_kubectl()
    assert program is not None, "kubectl is installed, but in a version other than that of the transcript"
    cluster = sim.Cluster(populated=True)
    files = {"/etc/motd": "welcome\n"}
    nginx = sim.Program(log="listening\nready\n", files=files)
    cluster.nodes(ready_after=0.2, ends_after=0.2, programs={"nginx": nginx})
    with serving(cluster) as server:
        (home / "config").write_text(server.kubeconfig)
        (home / "there.txt").write_text("from outside\n")
        environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "config")}

        def attempt(command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
            words = [
                argument.replace("HOME", str(home)).replace("exit_3", "exit 3")
                for argument in command.split()
            ]
            return subprocess.run(
                [program, f"--cache-dir={home}/cache", "--namespace=commands", *words], input=stdin,
                env=environment, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=60,
            )  # fmt: skip

        def call(command: str, stdin: str) -> subprocess.CompletedProcess[str]:
            completed = attempt(command, stdin)
            for _ in range(ATTEMPTS):
                if DISCARDED in completed.stdout:
                    for preparation in BEFORE_ANOTHER.get(command, ()):
                        attempt(preparation)
                    completed = attempt(command, stdin)
            return completed

        attempt("create namespace commands")
        attempt("wait --for=create serviceaccount/default")
        completed = [(command, call(command, stdin)) for command, stdin, _, _ in STEPS]
        assert (home / "back.txt").read_text() == "from outside\n"
        return [
            Step(command, process.returncode, scrub_output(process.stdout)) for command, process in completed
        ]


# A single test, because each step needs the previous steps, and workers divide the cases of a test.
def test_kubectl_works_with_the_pods_of_a_node(tmp_path: Path) -> None:
    for step, (command, _, status, printed) in zip(run_steps(tmp_path), STEPS, strict=True):
        if printed == REFUSED:
            assert (step.status, REFUSED in step.output) == (status, True), step
        else:
            assert step == Step(command, status, printed)


def test_kubectl_forwards_a_port_of_a_pod_and_reports_a_port_without_a_listener(tmp_path: Path) -> None:
    program = find_kubectl()
    assert program is not None
    cluster = sim.Cluster(populated=True)
    cluster.nodes(ready_after=0.1, programs={"nginx": sim.Program(ports={80: echo_twice})})
    cluster.put({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    })  # fmt: skip
    with serving(cluster) as server:
        (tmp_path / "config").write_text(server.kubeconfig)
        environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "config")}
        subprocess.run(
            [program, "wait", "--for=condition=Ready", "pod/web"], env=environment, check=True, timeout=60,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        command = [program, "port-forward", "--address=127.0.0.1", "pod/web", ":80", ":81"]
        with subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as forwarding:
            assert forwarding.stdout is not None
            assert forwarding.stderr is not None
            ports = [int(forwarding.stdout.readline().partition("127.0.0.1:")[2].split()[0]) for _ in "12"]
            try:
                for size in (3, 200_000):  # one connection after the other
                    assert forwarded(ports[0], b"x" * size) == b"x" * size * 2
                assert forwarded(ports[1], b"") == b""
                output = "".join(forwarding.stderr.readline() for _ in "12")
                assert "inside pod web: connection refused" in output
            finally:
                forwarding.terminate()


def echo_twice(connection: sim.PortConnection) -> None:
    connection.on_data = lambda data: connection.send(data * 2)


def forwarded(port: int, data: bytes) -> bytes:
    """Return the bytes that arrive through a local port, until all have arrived or the other side has
    closed.
    """
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)
        while len(received) < 2 * len(data) and (more := connection.recv(65536)):
            received += more
        if not data:
            received += connection.recv(1)
    return received

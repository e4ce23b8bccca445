"""The functions for pods without an event loop: over a port, from this thread and others."""

from __future__ import annotations

import socket
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.streams import Exited, Stdout
from kubeproto_runtime.pods import BlockingPods, CopyError, connect_pods_blocking
from kubeproto_serve import serving

POD: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"},
    "spec": {"containers": [{"name": "app", "image": "app"}]},
}  # fmt: skip


def greet(session: sim.CommandSession) -> None:
    """Greet a client that attaches."""
    session.write("welcome\n")


@pytest.fixture
def pods(tmp_path: Path) -> Generator[BlockingPods]:
    cluster = sim.Cluster()
    app = sim.Program(log="one\ntwo\n", files={"/etc/motd": "hi\n"}, attach=greet)
    cluster.nodes(ready_after=0, programs={"app": app})
    cluster.put(POD)
    cluster.settle()
    with serving(cluster) as server:
        (tmp_path / "config").write_text(server.kubeconfig)
        with connect_pods_blocking(kubeconfig=tmp_path / "config") as client:
            yield client


def test_logs_files_and_ports_work_without_an_event_loop(pods: BlockingPods, tmp_path: Path) -> None:
    with pods.read_logs("web-0", tail_lines=1) as lines:
        assert [line.text for line in lines] == [b"two"]
    with pods.read_logs("web-0", follow=True) as lines:
        assert [next(lines).text for _ in range(2)] == [b"one", b"two"]
    assert pods.copy_from("web-0", "/etc/motd", tmp_path / "motd").files == 1
    assert pods.copy_to("web-0", tmp_path / "motd", "/tmp/motd").bytes == 3
    with pytest.raises(CopyError, match="No such file"):
        pods.copy_from("web-0", "/none", tmp_path / "none")
    with pytest.raises(kp.NotFound), pods.read_logs("none"):
        pass


def test_a_command_runs_without_an_event_loop(pods: BlockingPods) -> None:
    with pods.exec("web-0", ["sh"], stdin=True) as process:
        process.write(b"echo hello\nexit 3\n")
        assert next(process) == Stdout(b"hello\n")
        previous_status = process.exited
        [last_event] = process
        assert previous_status is None
        assert isinstance(last_event, Exited)
        assert last_event.code == 3
        assert process.exited is last_event
        assert list(process) == []
    with pods.exec("web-0", ["cat"], stdin=True) as process, ThreadPoolExecutor(1) as threads:
        reading = threads.submit(lambda: b"".join(e.data for e in process if isinstance(e, Stdout)))
        process.write(b"from this thread")
        process.end_stdin()
        assert reading.result(60) == b"from this thread"
        assert process.wait().code == 0
    with pytest.raises(kp.NotFound), pods.exec("none", ["sh"]):
        pass


def test_streams_of_a_container_are_attached_to_without_an_event_loop(pods: BlockingPods) -> None:
    with pods.attach("web-0") as process:
        assert next(process) == Stdout(b"welcome\n")


def test_several_threads_connect_to_a_forwarded_port(pods: BlockingPods) -> None:
    with pods.forward_ports("web-0", [":80"]) as forwarded:
        address = forwarded.ports[0].host, forwarded.ports[0].local

        def talk(number: int) -> bytes:
            with socket.create_connection(address, timeout=60) as connection:
                connection.sendall(b"%d" % number)
                return connection.recv(10)

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(talk, range(8))) == [b"%d" % number for number in range(8)]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address).close()

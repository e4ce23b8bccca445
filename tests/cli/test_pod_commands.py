"""logs, exec, port-forward and cp as processes against simulated pods: in pipes, and on a terminal."""

from __future__ import annotations

import re
import select
import shlex
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from command_processes import PROGRAM, CommandLine

import kubeproto_sim as sim

pytestmark = pytest.mark.one_python

LABELS = {"app": "shop"}


def pod(name: str, *containers: str) -> dict[str, Any]:
    spec = {"containers": [{"name": one, "image": one} for one in containers or ("app",)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": LABELS}, "spec": spec}


def exit_command(session: sim.CommandSession) -> int | str | None:
    """A container whose commands are those that the tests need beside a shell."""
    match session.command:
        case ["size"]:
            session.on_resize = lambda width, height: session.write(f"{width}x{height}\r\n")
            session.on_stdin = lambda data: session.exit(0) if data == b"q" else session.write(repr(data))
            return None
        case ["upper"]:
            session.on_stdin = lambda data: session.write(data.upper())
            session.on_stdin_end = session.exit
            return None
        case ["code", number]:
            session.error("on stderr\n")
            return int(number)
        case ["waits"]:
            session.write("waits\n")
            return None
        case _:
            session.fail('exec: "nothing": executable file not found in $PATH')
            return None


def greeting(connection: sim.PortConnection) -> None:
    connection.send(f"{connection.pod}:{connection.port} ")


@pytest.fixture
def nodes(cli: CommandLine) -> sim.Nodes:
    def begin() -> sim.Nodes:
        cluster = cli.cluster
        app = sim.Program(log="one\ntwo\n", files={"/etc/motd": "welcome\n"}, ports={80: greeting})
        made = cluster.nodes(
            ready_after=0,
            ends_after=0,
            programs={
                "app": app,
                "side": sim.Program(log="beside\n"),
                "tool": sim.Program(exec=exit_command),
            },
        )
        cluster.put(pod("web-0", "app", "side"))
        cluster.put(pod("web-1"))
        cluster.put(pod("tool", "tool") | {"metadata": {"name": "tool"}})
        service = {"selector": LABELS, "ports": [{"port": 80}]}
        cluster.put({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": service})
        cluster.settle()
        return made

    return cli.server.call(begin)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("logs web-1", "one\ntwo\n"),
        ("logs web-0 --tail 1", "two\n"),
        ("logs web-0 -c side", "beside\n"),
        ("logs web-0 --all-containers --tail 1", "[pod/web-0/app] two\n[pod/web-0/side] beside\n"),
        ("logs -l app=shop --tail 1", "[pod/web-0/app] two\n[pod/web-1/app] two\n"),
        ("logs svc/shop --no-prefix", "one\ntwo\none\ntwo\n"),
        ("logs web-1 --prefix --since 1h", "[pod/web-1/app] one\n[pod/web-1/app] two\n"),
        ("logs web-1 --limit-bytes 5", "one\nt"),
        ("logs web-1 --since-time 2030-01-01T00:00:00Z", ""),
        ("logs web-1 --since-time 2000-01-01T00:00:00+02:00", "one\ntwo\n"),
        ("exec web-1 -- cat /etc/motd", "welcome\n"),
        ("exec -c app web-0 -- sh -c 'echo $HOSTNAME'", "web-0\n"),
        ("exec svc/shop -- echo -n x", "x"),
    ],
)
def test_what_is_printed(cli: CommandLine, nodes: sim.Nodes, words: str, printed: str) -> None:
    done = cli.call(*shlex.split(words))
    assert (done.stdout, done.stderr) == (printed, "")


def test_times_are_shown_where_they_are_wanted(cli: CommandLine, nodes: sim.Nodes) -> None:
    shown = cli.call("logs", "web-1", "--timestamps").stdout.splitlines()
    assert [bool(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z (one|two)", line)) for line in shown] == [True, True]


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ("logs web-1 --previous", 1, 'previous terminated container "app" in pod "web-1" not found'),
        ("logs none", 1, 'pods "none" not found'),
        ("logs web-1 --since 5m --since-time 2030-01-01T00:00:00Z", 2, "exclude each other"),
        ("logs web-1 --since-time 2030-01-01", 2, "'2030-01-01' is not a time of RFC 3339"),
        ("logs web-1 --limit-bytes 0", 2, "0 is not in the range x>=1"),
        ("logs", 2, "name a pod or TYPE/NAME, or give --selector: one of the two"),
        ("logs web-0 -f --previous", 1, "previous run does not grow"),
        ("exec tool -- code 7", 7, "command terminated with exit code 7"),
        ("exec tool -- nothing", 1, "could not be run in tool of Pod default/tool"),
        ("exec tool", 2, "missing argument"),
        ("port-forward web-1 nothing:x", 1, "'nothing:x' is not a port: expected 80"),
        ("port-forward none 80", 1, 'pods "none" not found'),
        ("cp a b", 2, "one of the two is in a pod; expected LOCAL POD:PATH"),
        ("cp web-1: b", 2, "'web-1:' is neither a local path nor one in a pod"),
        ("cp nothing web-1:/x", 1, "nothing: No such file or directory"),
        ("cp web-1:/nothing here", 1, "tar in Pod default/web-1 ended with 2: tar: /nothing: No such file"),
        ("cp tool:/x here", 1, "Pod default/tool has no tar, by which files are copied"),
    ],
)
def test_what_is_refused(cli: CommandLine, nodes: sim.Nodes, words: str, status: int, told: str) -> None:
    done = cli.call(*words.split(), status=status)
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_is_followed_through_a_pipe_until_ctrl_c(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.start("logs", "-f", "-l", "app=shop", "--tail", "0") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        written: list[str] = []
        # Until it is connected, a line is older than its beginning.
        for number in range(1000):
            cli.server.call(partial(nodes.log, "web-1", f"line {number}\n"))
            if select.select([process.stdout], [], [], 0.2)[0]:
                break
        written.append(process.stdout.readline())
        assert re.fullmatch(r"\[pod/web-1/app\] line \d+\n", written[0])
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "Traceback" not in process.stderr.read()


def test_a_reader_that_goes_away_ends_a_followed_log(cli: CommandLine, nodes: sim.Nodes) -> None:
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


def test_on_a_terminal_the_prefix_has_a_color_of_its_own(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.terminal("logs", "-l", "app=shop", "--all-containers") as terminal:
        assert terminal.wait() == 0
        assert "[pod/web-0/app] two" in terminal.screen.text
        colors = set(re.findall(r"\x1b\[(\d+)m\[pod/(\S+)\]", terminal.output))
        assert len(colors) == 3
        assert len({color for color, _ in colors}) > 1


def test_standard_input_goes_to_the_command_and_its_end_too(cli: CommandLine, nodes: sim.Nodes) -> None:
    text = "word " * 100_000
    assert cli.run("exec", "-i", "tool", "--", "upper", stdin=text).stdout == text.upper()
    assert cli.call("exec", "tool", "--", "code", "0", stdin="unread").stderr == "on stderr\n"
    (cli.folder / "input").write_text("from a file")
    with (cli.folder / "input").open() as file:
        done = subprocess.run(
            [*PROGRAM, "exec", "-i", "tool", "--", "upper"], stdin=file, capture_output=True, text=True,
            check=False, env=cli.environment,
        )  # fmt: skip
    assert (done.stdout, done.returncode) == ("FROM A FILE", 0)


def test_a_terminal_is_raw_and_its_size_is_told(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.terminal("exec", "-it", "tool", "--", "size", rows=30, columns=100) as terminal:
        terminal.wait_for(lambda screen: "100x30" in screen.text)
        terminal.resize(20, 70)
        terminal.wait_for(lambda screen: "70x20" in screen.text)
        terminal.send("\x03")  # a key like any other
        terminal.wait_for(lambda screen: r"b'\x03'" in screen.text)
        terminal.send("q")
        assert terminal.wait() == 0


def test_without_a_terminal_none_is_asked_for(cli: CommandLine, nodes: sim.Nodes) -> None:
    done = cli.run("exec", "-it", "tool", "--", "upper", stdin="x")
    assert (done.stdout, "Unable to use a TTY" in done.stderr) == ("X", True)


def test_ctrl_c_ends_a_command_that_has_no_terminal(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.start("exec", "tool", "--", "waits") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_ports_are_forwarded_until_ctrl_c_and_errors_told(cli: CommandLine, nodes: sim.Nodes) -> None:
    with cli.start("port-forward", "svc/shop", ":80", ":80") as process:
        assert process.stdout is not None
        found = [process.stdout.readline() for _ in range(2)]
        ports = [int(re.fullmatch(r"Forwarding from 127.0.0.1:(\d+) -> 80\n", line)[1]) for line in found]  # type: ignore[index]
        assert ports[0] != ports[1]
        for port in ports:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                assert connection.recv(100) == b"web-0:80 "
        cli.server.call(cli.cluster.remove, "v1/Pod", "web-0")
        for port in ports:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                assert connection.recv(100) == b"web-1:80 "
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    with cli.start("port-forward", "web-1", ":81") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline().split(":")[1].split()[0])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            assert connection.recv(100) == b""
        line = process.stderr.readline()
        assert line.startswith(f"error: Pod default/web-1: the connection to 127.0.0.1:{port} for port 81:")
        assert "connection refused" in line


def test_files_go_to_a_pod_and_come_back(cli: CommandLine, nodes: sim.Nodes) -> None:
    (cli.folder / "tree" / "sub").mkdir(parents=True)
    (cli.folder / "tree" / "sub" / "a").write_text("one")
    assert cli.run("cp", "tree", "web-1:/data").stderr == ""
    assert cli.call("cp", "default/web-1:/data/", "back").stderr == ""
    assert (cli.folder / "back" / "sub" / "a").read_text() == "one"
    cli.call("cp", "web-1:/etc/motd", ".")
    assert (cli.folder / "motd").read_text() == "welcome\n"


def test_the_progress_of_a_copy_is_shown_on_a_terminal_and_taken_away(
    cli: CommandLine, nodes: sim.Nodes
) -> None:
    (cli.folder / "large").write_bytes(bytes(3_000_000))
    with cli.terminal("cp", str(cli.folder / "large"), "web-1:/large") as terminal:
        assert terminal.wait() == 0
        assert re.search(r"\d files, [\d.]+ (B|KiB|MiB)", terminal.output)
        assert "files" not in terminal.screen.text

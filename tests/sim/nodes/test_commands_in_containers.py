"""Commands in simulated containers, what attaches to them and their ports, with the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec
import pytest
from nodes_rig import Rig

import kubeproto_sim as sim
from kubeproto import Api, ApiError, DeadlineExceeded, RawRequest, TransportError
from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Exited, Process, Stderr, Stdout
from kubeproto_runtime import Client
from kubeproto_runtime.testing import BACKENDS, run, simulated
from kubeproto_sim import CommandSession, PortConnection

Work = Callable[[Client, Rig], Awaitable[None]]


@pytest.fixture(params=BACKENDS)
def with_client(request: pytest.FixtureRequest) -> Callable[..., None]:
    def run_work(work: Work, programs: dict[str, sim.Program] | None = None, **spec: Any) -> None:
        rig = Rig(programs=programs or {})
        rig.run(**spec)

        async def main() -> None:
            async with simulated(rig.cluster) as client:
                await work(client, rig)

        run(main, backend=request.param)

    return run_work


async def output(client: Client, *command: str, name: str = "web") -> tuple[str, str, int | None]:
    """Return the output of a command on stdout and stderr, and its exit code."""
    out = err = b""
    async with client.api(Pod).exec(name, list(command)) as process:
        async for event in process:
            match event:
                case Stdout(data):
                    out += data
                case Stderr(data):
                    err += data
                case Exited():
                    return out.decode(), err.decode(), event.code
    raise AssertionError("the command did not end")


SHELL = [
    (("echo", "a  b"), "a  b\n", "", 0),
    (("sh", "-c", "echo -n one; echo two"), "onetwo\n", "", 0),
    (("sh", "-c", "false && echo no || echo yes; false; echo $?"), "yes\n1\n", "", 0),
    (("sh", "-c", "echo 'a b' > /tmp/f; echo c >> /tmp/f; cat /tmp/f | tee /tmp/g; ls /tmp"),
     "a b\nc\nf\ng\n", "", 0),
    (("sh", "-c", "echo $GREETING ${HOSTNAME} $NOTHING"), "hello web \n", "", 0),
    (("sh", "-c", "exit 7"), "", "", 7),
    (("sh", "-c", "cat /nothing"), "", "cat: can't open '/nothing': No such file or directory\n", 1),
    (("teapot",), "", "teapot: not found\n", 127),
    (("sh", "-c", "mkdir -p /a/b; touch /a/c; rm -r /a/b; ls /a; rm /a/b"), "c\n",
     "rm: can't remove '/a/b': No such file or directory\n", 1),
    (("sh", "-c", "echo 'unclosed"), "", "sh: syntax error: No closing quotation\n", 2),
    (("printenv", "GREETING"), "hello\n", "", 0),
]  # fmt: skip


def test_the_shell_runs_small_scripts(with_client: Callable[..., None]) -> None:
    async def work(client: Client, _: Rig) -> None:
        for command, out, err, code in SHELL:
            assert await output(client, *command) == (out, err, code), command

    env = [{"name": "GREETING", "value": "hello"}]
    with_client(work, containers=[{"name": "web", "image": "nginx", "env": env}])


def test_a_sleep_takes_its_time(with_client: Callable[..., None]) -> None:
    async def work(client: Client, _: Rig) -> None:
        start = anyio.current_time()
        assert await output(client, "sh", "-c", "echo a; sleep 90; echo b") == ("a\nb\n", "", 0)
        assert anyio.current_time() - start == 90

    with_client(work)


def test_files_of_a_program_exist_until_a_restart(with_client: Callable[..., None]) -> None:
    async def work(client: Client, rig: Rig) -> None:
        assert (await output(client, "cat", "/etc/motd"))[0] == "welcome"
        await output(client, "sh", "-c", "echo x > /etc/motd")
        assert rig.nodes.container("web").files["/etc/motd"] == b"x\n"
        rig.nodes.exit("web")
        await anyio.sleep(2)
        assert (await output(client, "cat", "/etc/motd"))[0] == "welcome"

    with_client(work, {"nginx": sim.Program(files={"/etc/motd": "welcome"})})


def test_an_interactive_shell_reads_commands_until_its_stdin_ends(with_client: Callable[..., None]) -> None:
    async def work(client: Client, _: Rig) -> None:
        async with client.api(Pod).exec("web", ["sh"], stdin=True) as process:
            await process.write(b"echo one\nec")
            await process.write(b"ho two\nfalse\n")
            await process.end_stdin()
            assert await remaining_output(process) == (b"one\ntwo\n", 1)

    with_client(work)


def test_a_handler_of_the_test_exchanges_data_with_its_client(with_client: Callable[..., None]) -> None:
    def upper(session: CommandSession) -> None:
        session.write(f"{session.command[0]} in {session.container.pod}\n")
        session.on_stdin = lambda data: session.write(data.upper())
        session.on_resize = lambda width, height: session.error(f"{width}x{height}\n")
        session.on_stdin_end = lambda: session.exit(3)

    async def work(client: Client, _: Rig) -> None:
        async with client.api(Pod).exec("web", ["loud"], stdin=True) as process:
            assert await anext(process) == Stdout(b"loud in web\n")
            await process.write(b"abc")
            assert await anext(process) == Stdout(b"ABC")
            await process.resize(80, 24)
            assert await anext(process) == Stderr(b"80x24\n")
            await process.end_stdin()
            assert (await process.wait()).code == 3

    with_client(work, {"nginx": sim.Program(exec=upper)})


@pytest.mark.parametrize(
    ("result", "expected"), [("text", ("text", "", 0)), (b"x", ("x", "", 0)), (4, ("", "", 4))]
)
def test_a_handler_may_return_its_output_or_its_exit_code(
    with_client: Callable[..., None], result: str | bytes | int, expected: tuple[str, str, int]
) -> None:
    async def work(client: Client, _: Rig) -> None:
        assert await output(client, "anything") == expected

    with_client(work, {"nginx": sim.Program(exec=lambda session: result)})


def test_a_command_ends_with_its_container(with_client: Callable[..., None]) -> None:
    async def work(client: Client, rig: Rig) -> None:
        async with client.api(Pod).exec("web", ["sh", "-c", "sleep 500"]) as process:
            rig.nodes.exit("web")
            assert (await process.wait()).code == 137

    with_client(work)


def test_a_command_in_a_container_that_does_not_run_fails(with_client: Callable[..., None]) -> None:
    async def work(client: Client, rig: Rig) -> None:
        rig.nodes.exit("web")
        async with client.api(Pod).exec("web", ["true"]) as process:
            status = (await process.wait()).status
        assert status.reason == "InternalError"
        assert 'container not found ("web")' in status.message

    with_client(work)


def test_attaching_shows_later_output_and_the_end(
    with_client: Callable[..., None],
) -> None:
    async def work(client: Client, rig: Rig) -> None:
        rig.nodes.log("web", "before\n")
        async with client.api(Pod).attach("web", stdin=True) as process:
            rig.nodes.log("web", "after\n")
            assert await anext(process) == Stdout(b"after\n")
            await process.write(b"typed\n")
            assert await anext(process) == Stdout(b"typed\n")
            rig.nodes.exit("web", 0)
            assert (await process.wait()).code == 0
        assert await client.api(Pod).log("web") == "before\nafter\ntyped\n"

    with_client(work)


def test_a_container_with_a_stdin_is_a_shell_and_ends_with_it(with_client: Callable[..., None]) -> None:
    async def work(client: Client, rig: Rig) -> None:
        async with client.api(Pod).attach("web", stdin=True) as process:
            await process.write(b"echo hi\nexit 4\n")
            assert await remaining_output(process) == (b"hi\n", 4)
        assert rig.phase() == "Failed"
        assert rig.container()["state"]["terminated"]["exitCode"] == 4

    containers = [{"name": "web", "image": "busybox", "stdin": True}]
    with_client(work, containers=containers, restartPolicy="Never")


def test_ports_echo_data_or_send_the_output_of_a_handler(with_client: Callable[..., None]) -> None:
    def greet(connection: PortConnection) -> None:
        connection.send(f"port {connection.port} of {connection.pod}")
        connection.on_data = lambda data: connection.send(data[::-1])

    async def work(client: Client, rig: Rig) -> None:
        async with client.api(Pod).port_forward("web", [80, 81]) as ports:
            assert await ports[80].receive() == b"port 80 of web"
            await ports[80].send(b"abc")
            assert await ports[80].receive() == b"cba"
            with pytest.raises(TransportError, match="connection refused"):
                await ports[81].receive()
        rig.run("plain", image="plain")
        async with client.api(Pod).port_forward("plain", [9]) as ports:
            await ports[9].send(b"echo" * 20_000)
            heard = b""
            while len(heard) < 80_000:
                heard += await ports[9].receive()
            assert heard == b"echo" * 20_000
            rig.nodes.exit("plain")
            assert await ports[9].receive() == b""

    with_client(work, {"nginx": sim.Program(ports={80: greet})}, image="nginx")


def test_an_upgrade_that_is_refused_is_an_api_error(with_client: Callable[..., None]) -> None:
    async def work(client: Client, rig: Rig) -> None:
        with pytest.raises(ApiError, match="container other is not valid for pod web"):
            async with client.api(Pod).exec("web", ["true"], container="other"):
                pass
        rig.nodes.stop("node-1")
        with pytest.raises(ApiError, match="error dialing backend"):
            async with client.api(Pod).port_forward("web", [80]):
                pass

    with_client(work)


async def remaining_output(process: Process) -> tuple[bytes, int | None]:
    """Return the remaining output of a process, and its exit code."""
    heard = b""
    async for event in process:
        if isinstance(event, Exited):
            return heard, event.code
        heard += event.data
    raise AssertionError("the command did not end")


# Without an event loop


def test_a_command_runs_over_the_blocking_transport() -> None:
    rig = Rig()
    rig.run()

    async def main() -> tuple[bytes, int | None]:
        request = Api(Pod).exec("web", ["sh", "-c", "echo a; sleep 60; echo b"])
        async with rig.cluster.transport().upgrade(request) as socket:
            return await remaining_output(Process(socket))

    start = rig.cluster.now
    assert drive(main()) == (b"a\nb\n", 0)
    assert rig.cluster.now - start == 60


def test_a_silent_command_ends_after_its_idle_timeout() -> None:
    rig = Rig()
    rig.run()

    async def main() -> None:
        async with rig.cluster.transport().upgrade(
            Api(Pod).exec("web", ["cat"], stdin=True), idle=30
        ) as socket:
            await Process(socket).wait()

    with pytest.raises(DeadlineExceeded, match="no message arrived within 30 s"):
        drive(main())


def test_a_command_without_traffic_for_four_hours_is_ended() -> None:
    rig = Rig()
    rig.run()

    async def main() -> str:
        async with rig.cluster.transport().upgrade(Api(Pod).exec("web", ["cat"], stdin=True)) as socket:
            return (await Process(socket).wait()).status.message

    start = rig.cluster.now
    assert "idle for too long" in drive(main())
    assert rig.cluster.now - start == 4 * 3600


def drive(coroutine: Any) -> Any:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waits for an event loop")


# Message by message


def open_socket(rig: Rig, query: str, protocol: str) -> sim.Conversation:
    headers = (("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", protocol))
    answer = rig.cluster.respond(RawRequest("GET", f"/api/v1/namespaces/default/pods/web/{query}", headers))
    assert answer.status == 101, answer.body
    assert isinstance(answer.body, sim.Conversation)
    return answer.body


def take_messages(conversation: sim.Conversation) -> list[bytes]:
    messages: list[bytes] = []
    while message := conversation.take():
        messages.append(message)
    return messages


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
def test_each_stream_is_opened_and_the_end_is_a_status(protocol: str) -> None:
    rig = Rig()
    rig.run()
    conversation = open_socket(rig, "exec?command=echo&command=hi&stdout=true&stderr=true", protocol)
    assert conversation.protocol == protocol
    *streams, status = take_messages(conversation)
    assert streams == [b"\1", b"\2", b"\1hi\n"]
    assert msgspec.json.decode(status[1:])["status"] == "Success"
    assert conversation.ended


@pytest.mark.parametrize("path", ["exec?command=true", "exec?command=true&tty=true&stderr=true", "attach"])
def test_a_command_without_streams_is_refused_after_the_upgrade(path: str) -> None:
    """As by a real server, which upgrades the client before it asks the kubelet."""
    rig = Rig()
    rig.run()
    (status,) = take_messages(open_socket(rig, path, "v5.channel.k8s.io"))
    assert status[:1] == b"\3"
    refusal = msgspec.json.decode(status[1:])
    text = "unable to upgrade connection: you must specify at least 1 of stdin, stdout, stderr"
    assert (refusal["code"], refusal["message"]) == (500, f"Internal error occurred: {text}")


def test_only_v5_can_end_stdin() -> None:
    rig = Rig()
    rig.run()
    for protocol, ends in (("v5.channel.k8s.io", True), ("v4.channel.k8s.io", False)):
        conversation = open_socket(rig, "exec?command=cat&stdin=true&stdout=true", protocol)
        conversation.feed(b"\0text")
        conversation.feed(b"\xff\0")
        assert b"\1text" in take_messages(conversation)
        assert conversation.ended == ends


def test_the_newest_common_protocol_is_selected() -> None:
    rig = Rig()
    rig.run()
    offered = "v6.channel.k8s.io, v4.channel.k8s.io"
    assert open_socket(rig, "exec?command=true&stdout=true", offered).protocol == "v4.channel.k8s.io"
    headers = (("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", "v6.channel.k8s.io"))
    path = "/api/v1/namespaces/default/pods/web/exec?command=true&stdout=true"
    assert rig.cluster.respond(RawRequest("GET", path, headers)).status == 400


@pytest.mark.parametrize("size", [0, 1, 32 * 1024, 32 * 1024 + 1, 100_000])
def test_long_output_is_split_into_messages(size: int) -> None:
    rig = Rig(programs={"nginx": sim.Program(exec=lambda session: b"x" * size)})
    rig.run()
    messages = take_messages(open_socket(rig, "exec?command=a&stdout=true", "v5.channel.k8s.io"))
    pieces = [message[1:] for message in messages if message[:1] == b"\1"]
    assert b"".join(pieces) == b"x" * size
    assert max(map(len, pieces)) <= 32 * 1024

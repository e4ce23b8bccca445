"""Files copied to and from containers: with the tar of this machine as that of the container, and
failures.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime.pods import CopyError, CopyResult, copy_from, copy_to
from kubeproto_runtime.testing import SimulatedClient, simulated

Work = Callable[[SimulatedClient, Path], Awaitable[None]]


def pod(image: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "app", "image": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": image}, "spec": spec}


def run_on_this_machine(root: Path) -> Callable[[sim.CommandSession], None]:
    """Return a program whose commands run on this machine, in a folder."""

    def handle(session: sim.CommandSession) -> None:
        received_stdin: list[bytes] = []

        def run() -> None:
            completed = subprocess.run(
                session.command, input=b"".join(received_stdin), capture_output=True, check=False, cwd=root
            )
            session.error(completed.stderr)
            session.write(completed.stdout)
            session.exit(completed.returncode)

        if session.streams.stdin:
            session.on_stdin, session.on_stdin_end = received_stdin.append, run
        else:
            run()

    return handle


@asynccontextmanager
async def containers(root: Path) -> AsyncGenerator[SimulatedClient]:
    cluster = sim.Cluster()
    cluster.nodes(
        ready_after=0,
        programs={
            "machine": sim.Program(exec=run_on_this_machine(root)),
            "shell": sim.Program(files={"/etc/motd": "welcome\n", "/data/a": "one", "/data/sub/b": "two"}),
            "bare": sim.Program(exec=lambda session: 127 if session.command[0] == "tar" else 1),
        },
    )
    for image in ("machine", "shell", "bare"):
        cluster.put(pod(image))
    cluster.settle()
    async with simulated(cluster) as client:
        yield client


@pytest.fixture(params=["asyncio", "trio"])
def copying(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Work], None]:
    def run(work: Work) -> None:
        async def main() -> None:
            root = tmp_path / "container"
            root.mkdir()
            with anyio.fail_after(100):
                async with containers(root) as client:
                    await work(client, tmp_path)

        anyio.run(main, backend=request.param)

    return run


def make_files(folder: Path) -> None:
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_bytes(os.urandom(700_000))
    (folder / "a").chmod(0o750)
    (folder / "sub" / "link").symlink_to("../a")
    (folder / "sub" / "-b").write_text("two")


def assert_same_files(source: Path, target: Path) -> None:
    assert sorted(path.relative_to(source) for path in source.rglob("*")) == sorted(
        path.relative_to(target) for path in target.rglob("*")
    )
    assert (source / "a").read_bytes() == (target / "a").read_bytes()
    assert (source / "a").stat().st_mode == (target / "a").stat().st_mode
    assert os.readlink(source / "sub" / "link") == os.readlink(target / "sub" / "link")


def test_a_folder_is_the_same_after_both_copies(copying: Callable[[Work], None]) -> None:
    async def work(client: SimulatedClient, folder: Path) -> None:
        make_files(folder / "mine")
        progress: list[CopyResult] = []
        uploaded = await copy_to(client, "machine", folder / "mine", "theirs", on_progress=progress.append)
        assert (uploaded.files, uploaded.bytes, uploaded.skipped) == (3, 700_003, ())
        assert_same_files(folder / "mine", folder / "container" / "theirs")
        assert len(progress) > 2
        assert progress[-1].files == 3

        progress.clear()
        downloaded = await copy_from(
            client, "machine", "theirs", folder / "back", on_progress=progress.append
        )
        assert (downloaded.files, downloaded.bytes) == (3, 700_003)
        assert_same_files(folder / "mine", folder / "back")
        assert progress[-1].bytes == 700_003
        # Again: files are replaced, and the content of the folder goes into the existing folder.
        await copy_from(client, "machine", "theirs/", folder / "back")
        assert_same_files(folder / "mine", folder / "back")

    copying(work)


def test_files_are_copied_into_an_existing_folder(copying: Callable[[Work], None]) -> None:
    async def work(client: SimulatedClient, folder: Path) -> None:
        (folder / "motd").write_text("mine\n")
        await copy_from(client, "shell", "/etc/motd", folder)
        assert (folder / "motd").read_text() == "welcome\n"
        await copy_from(client, "shell", "/data", folder)
        assert ((folder / "a").read_text(), (folder / "sub" / "b").read_text()) == ("one", "two")
        await copy_to(client, "shell", folder / "motd", "/data")
        await copy_to(client, "shell", folder / "motd", "/data/other")
        await copy_to(client, "shell", folder / "motd", "/new/")
        for path in ("/data/motd", "/data/other", "/new/motd"):
            await copy_from(client, "shell", path, folder / "back")
            assert (folder / "back").read_text() == "welcome\n"

    copying(work)


def test_an_error_reports_the_files_that_were_copied(copying: Callable[[Work], None]) -> None:
    async def work(client: SimulatedClient, folder: Path) -> None:
        with pytest.raises(CopyError, match="Pod default/bare has no tar, which copying needs"):
            await copy_from(client, "bare", "/etc/motd", folder / "motd")
        (folder / "motd").write_text("mine\n")
        with pytest.raises(CopyError, match="Pod default/bare has no tar"):
            await copy_to(client, "bare", folder / "motd", "/etc/motd")
        with pytest.raises(CopyError, match=r"tar in Pod default/machine ended with 2: .*No such file"):
            await copy_from(client, "machine", "nothing", folder / "nothing")
        with pytest.raises(CopyError, match=r"tar in Pod default/machine ended with 2: .*[Nn]o such file"):
            await copy_to(client, "machine", folder / "motd", "none/there")
        with pytest.raises(FileNotFoundError):
            await copy_to(client, "machine", folder / "nothing", "there")
        with pytest.raises(CopyError, match='pods "none" not found'):
            await copy_from(client, "none", "/etc/motd", folder / "here" / "motd")

    copying(work)


def test_a_broken_connection_leaves_the_copied_files_and_reports_them(
    copying: Callable[[Work], None],
) -> None:
    async def work(client: SimulatedClient, folder: Path) -> None:
        make_files(folder / "container" / "theirs")
        client.transport = BreakingTransport(client.transport, 25)
        with pytest.raises(CopyError, match=r"hung up") as exc_info:
            await copy_from(client, "machine", "theirs", folder / "back")
        assert exc_info.value.copied.bytes < 700_000
        assert not (folder / "back" / "a").exists()

    copying(work)


class BreakingTransport:
    """A transport whose WebSockets break after a number of messages."""

    def __init__(self, transport: Any, messages: int) -> None:
        self._transport = transport
        self._messages = messages
        self.send = transport.send

    @asynccontextmanager
    async def upgrade(self, request: Any, **options: Any) -> AsyncGenerator[Any]:
        async with self._transport.upgrade(request, **options) as socket:
            yield BreakingSocket(socket, self._messages)


class BreakingSocket:
    def __init__(self, socket: Any, remaining: int) -> None:
        self.protocol = socket.protocol
        self.send = socket.send
        self._socket = socket
        self._remaining = remaining

    async def receive(self) -> bytes | None:
        self._remaining -= 1
        if self._remaining < 0:
            raise kp.TransportError("the server hung up")
        message: bytes | None = await self._socket.receive()
        return message


def test_a_refusal_of_the_local_file_system_is_an_error_of_the_copy(copying: Callable[[Work], None]) -> None:
    async def work(client: SimulatedClient, folder: Path) -> None:
        (folder / "file").write_text("x")
        (folder / "loop").symlink_to("loop")
        for target in (folder / "file" / "motd", folder / ("n" * 256), folder / "loop" / "motd"):
            with pytest.raises(CopyError, match=r"cannot be written: .*; |is not a folder|is a link"):
                await copy_from(client, "shell", "/etc/motd", target)
        with pytest.raises(
            CopyError, match="loop cannot be read: Too many levels of symbolic links; its links"
        ):
            await copy_to(client, "shell", folder / "loop", "/etc/motd")

    copying(work)


def test_a_tree_that_is_deeper_than_the_stack_of_python_is_copied(copying: Callable[[Work], None]) -> None:
    async def work(client: SimulatedClient, folder: Path) -> None:
        path = folder / "tree"
        for _ in range(1200):  # os.makedirs is recursive
            path.mkdir()
            path /= "d"
        path.write_text("deep\n")
        try:
            copied = await copy_to(client, "machine", folder / "tree", "tree")
        finally:
            subprocess.run(["rm", "-r", folder / "tree", folder / "container" / "tree"], check=False)
        assert copied.files == 1

    copying(work)

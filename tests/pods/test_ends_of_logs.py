"""The ends of the logs of pods: with the Job, after a number of bytes, and the resources that are
released.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from virtual_time import Go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.batch_v1 import Job
from kubeproto.kinds.core_v1 import Pod
from kubeproto_runtime import Client
from kubeproto_runtime.pods import LogLine, read_logs
from kubeproto_runtime.tasks._background import Background
from kubeproto_runtime.testing import BACKENDS, run, simulated

_HOUR = 3600.0


@pytest.fixture(name="go", params=BACKENDS)
def bounded(request: pytest.FixtureRequest) -> Go:
    """Run a test on each event loop, in virtual time with a limit: a log is followed without an end."""

    def on_loop(main: Callable[[], Awaitable[None]]) -> None:
        async def bounded_main() -> None:
            with anyio.fail_after(10 * _HOUR):
                await main()

        run(bounded_main, backend=request.param)

    return on_loop


def pod(name: str, image: str = "app") -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "shop"}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }  # fmt: skip


def job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": name}]}}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }  # fmt: skip


def texts(lines: list[LogLine]) -> list[bytes]:
    return [line.text for line in lines]


def jobs() -> sim.Cluster:
    cluster = sim.Cluster(controllers=True)
    cluster.nodes(programs={
        "works": sim.Program(log="begin\nend\n", takes=30),
        "fails": sim.Program(log="try\n", takes=5, code=1),
    })  # fmt: skip
    cluster.put(job("works"))
    cluster.put(job("fails", backoffLimit=1))
    return cluster


def test_following_a_job_ends_when_it_and_its_pods_have_ended(go: Go) -> None:
    async def main() -> None:
        async with simulated(jobs()) as client:
            await anyio.sleep(2)
            async with read_logs(client, "job/works", follow=True) as lines:
                assert texts([line async for line in lines]) == [b"begin", b"end"]
            # The job has ended: its log is returned, and following ends.
            async with read_logs(client, "job/works", follow=True) as lines:
                assert texts([line async for line in lines]) == [b"begin", b"end"]

    go(main)


def test_a_job_that_retries_is_followed_through_its_next_pod(go: Go) -> None:
    async def main() -> None:
        async with simulated(jobs()) as client:
            await anyio.sleep(2)
            async with read_logs(client, "jobs/fails", follow=True) as lines:
                received = [line async for line in lines]
            assert texts(received) == [b"try", b"try"]
            # the first pod had ended before the second was created
            assert len({line.pod for line in received}) == 2

    go(main)


def test_following_a_job_ends_when_it_is_deleted_with_its_pods(go: Go) -> None:
    async def main() -> None:
        async with simulated(jobs()) as client, anyio.create_task_group() as tasks:
            await anyio.sleep(2)

            async def delete() -> None:
                await anyio.sleep(10)
                await client.api(Job).delete("works", propagation="Foreground")

            tasks.start_soon(delete)
            async with read_logs(client, "job/works", follow=True) as lines:
                assert texts([line async for line in lines]) == [b"begin", b"end"]

    go(main)


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [(b"o", False)]),
        (3, [(b"one", False)]),
        (4, [(b"one", True)]),
        (6, [(b"one", True), (b"tw", False)]),
        (100, [(b"one", True), (b"two", True)]),
    ],
)
def test_the_log_of_a_container_ends_after_the_maximum_number_of_bytes(
    go: Go, limit: int, expected: list[tuple[bytes, bool]], *, follow: bool
) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.nodes(programs={"app": sim.Program(log="one\ntwo\n", takes=60)})
        cluster.put(pod("web-0") | {"spec": pod("web-0")["spec"] | {"restartPolicy": "Never"}})
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            async with read_logs(client, "web-0", follow=follow, limit_bytes=limit) as lines:
                assert [(line.text, line.complete) async for line in lines] == expected

    go(main)


class ForbiddenResponse:
    """The response of a server to a client without permission to read a log."""

    status = 403
    headers = (("Content-Type", "application/json"),)

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield b'{"apiVersion":"v1","kind":"Status","status":"Failure","code":403,"reason":"Forbidden",'
        yield b'"message":"it is not yours"}'


class ForbiddingTransport:
    """A transport whose server refuses the log of a certain pod."""

    def __init__(self, transport: Any, pod: str) -> None:
        self._transport = transport
        self._pod = pod
        self.upgrade = getattr(transport, "upgrade", None)

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **options: Any) -> AsyncGenerator[Any]:
        if f"/{self._pod}/log" in request.target:
            yield ForbiddenResponse()
        else:
            async with self._transport.send(request, **options) as incoming:
                yield incoming


async def first_pods(client: Client, count: int, *, follow: bool, ignore_errors: bool = False) -> list[str]:
    """Return the pod of each of the first `count` lines."""
    async with read_logs(client, selector="app=shop", follow=follow, ignore_errors=ignore_errors) as lines:
        return [(await anext(lines)).pod for _ in range(count)]


@pytest.mark.parametrize("follow", [True, False])
def test_a_forbidden_log_is_skipped_if_errors_are_ignored(
    go: Go, caplog: pytest.LogCaptureFixture, *, follow: bool
) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.nodes(programs={"app": sim.Program(log="one\n")})
        for name in ("web-0", "web-1"):
            cluster.put(pod(name))
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            client.transport = ForbiddingTransport(client.transport, "web-0")
            with pytest.raises(kp.Forbidden):
                await first_pods(client, 2, follow=follow)
            assert await first_pods(client, 1, follow=follow, ignore_errors=True) == ["web-1"]
        [warning] = {record.getMessage() for record in caplog.records}
        assert warning.startswith("the log of web-0/app: GET ")
        assert "it is not yours" in warning

    go(main)


def test_containers_that_have_ended_leave_no_tasks(go: Go) -> None:
    def tasks() -> int:
        gc.collect()
        return sum(isinstance(obj, Background) for obj in gc.get_objects())

    async def main() -> None:
        cluster = sim.Cluster()
        cluster.nodes(programs={"app": sim.Program(log="hello\n")})
        async with simulated(cluster) as client:
            initial_tasks = tasks()
            async with read_logs(client, selector="app=shop", follow=True) as lines:
                for number in range(20):
                    cluster.put(pod(f"web-{number}"))
                    assert (await anext(lines)).pod == f"web-{number}"
                    await client.api(Pod).delete(f"web-{number}", grace_period=0)
                    await anyio.sleep(60)
                # the task that watches the pods, and a log that may still be open
                assert tasks() - initial_tasks <= 2
            assert tasks() <= initial_tasks

    go(main)

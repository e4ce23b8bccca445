"""Logs of many containers in a single stream: new pods, restarts, lost connections, and slow readers."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from interrupting import InterruptingTransport
from virtual_time import Go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import Pod
from kubeproto.watching.log_tail import RunEnded, RunStarted
from kubeproto_runtime.pods import LogLine, read_logs
from kubeproto_runtime.pods._container_runs import events_of_runs
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


def pod(name: str, *containers: str, app: str = "shop", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [{"name": each, "image": each} for each in containers or ("app",)], **spec},
    }  # fmt: skip


def printed(lines: list[LogLine]) -> list[str]:
    return [f"{line.pod}/{line.container}: {line.text.decode()}" for line in lines]


def test_logs_of_all_containers_are_returned_in_turn(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        nodes = cluster.nodes(
            programs={"app": sim.Program(log="one\ntwo\n"), "side": sim.Program(log="beside\n")}
        )
        cluster.put(pod("web-1", "app", "side"))
        cluster.put(pod("web-0", "app"))
        cluster.put(pod("other", "app", app="other"))
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            nodes.log("web-0", "three")
            async with read_logs(client, selector="app=shop") as lines:
                assert printed([line async for line in lines]) == [
                    "web-0/app: one", "web-0/app: two", "web-0/app: three",
                    "web-1/app: one", "web-1/app: two", "web-1/side: beside",
                ]  # fmt: skip
            async with read_logs(client, "web-1", all_containers=False, tail_lines=1) as lines:
                received = [line async for line in lines]
                assert printed(received) == ["web-1/app: two"]
                assert (received[0].namespace, received[0].time[:4]) == ("default", "2026")

    go(main)


@pytest.mark.parametrize("seed", range(4))
def test_each_line_is_returned_once_despite_interruptions_and_restarts(go: Go, seed: int) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        nodes = cluster.nodes(programs={"app": sim.Program(log="start\n")})
        cluster.put(pod("web-0", "app", "side"))
        rng = random.Random(seed)
        expected: dict[str, list[str]] = {"web-0/app": ["start"], "web-0/side": []}
        async with simulated(cluster) as client:
            client.transport = interrupting = InterruptingTransport(client.transport, seed, 900)
            received: list[LogLine] = []

            async def read() -> None:
                async with read_logs(client, selector="app=shop", follow=True) as lines:
                    async for line in lines:
                        received.append(line)

            client.start(read())
            await anyio.sleep(5)
            for number in range(120):
                await anyio.sleep(rng.choice([0.001, 0.3, 2.0]))
                container = rng.choice(["app", "side"])
                expected[f"web-0/{container}"].append(f"line {number}")
                nodes.log("web-0", f"line {number}\n", container=container)
                if number % 40 == 39:
                    await anyio.sleep(1)
                    nodes.exit("web-0", 1, container="app")
                    expected["web-0/app"].append("start")
                    await anyio.sleep(200)  # the back-off of the container
            await client.until(lambda: len(received) >= sum(map(len, expected.values())), within=3600)
            await anyio.sleep(600)
            logs: dict[str, list[str]] = {name: [] for name in expected}
            for line in received:
                logs[f"{line.pod}/{line.container}"].append(line.text.decode())
            assert logs == expected
            assert interrupting.interruptions > 20

    go(main)


def test_a_log_that_makes_progress_is_read_despite_many_interruptions(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        nodes = cluster.nodes()
        cluster.put(pod("web-0"))
        cluster.advance(5)
        for number in range(40):
            nodes.log("web-0", f"line {number}\n")
            cluster.advance(1)
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, read_logs(client, "web-0") as lines:
            faults.script += [sim.Cut(after=200)] * 7
            assert printed([line async for line in lines]) == [f"web-0/app: line {n}" for n in range(40)]
            assert faults.script == []

    go(main)


def test_a_new_pod_is_added_and_a_deleted_pod_is_read_to_its_end(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        nodes = cluster.nodes(programs={"app": sim.Program(log="start\n")})
        cluster.put(pod("web-0"))
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            nodes.log("web-0", "old\n")
            async with read_logs(client, selector="app=shop", follow=True, tail_lines=1) as lines:
                assert printed([await anext(lines)]) == ["web-0/app: old"]
                cluster.put(pod("web-1"))
                assert printed([await anext(lines)]) == ["web-1/app: start"]
                nodes.log("web-0", "last words")
                await client.api(Pod).delete("web-0")
                assert printed([await anext(lines)]) == ["web-0/app: last words"]
                nodes.log("web-1", "on\n")
                assert printed([await anext(lines)]) == ["web-1/app: on"]

    go(main)


def test_following_a_single_pod_ends_when_the_pod_has_ended(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.nodes(programs={"app": sim.Program(log="work\nno end", takes=30)})
        cluster.put(pod("job", restartPolicy="Never"))
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            async with read_logs(client, "job", follow=True) as lines:
                assert printed([line async for line in lines]) == ["job/app: work", "job/app: no end"]
            async with read_logs(client, "pod/job", follow=True) as lines:
                assert len([line async for line in lines]) == 2

    go(main)


def test_a_slow_reader_loses_no_lines(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        nodes = cluster.nodes()
        cluster.put(pod("web-0"))
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            async with read_logs(client, "web-0", follow=True) as lines:
                for number in range(3):
                    nodes.log("web-0", f"{number}\n")
                    await anyio.sleep(1)
                assert printed([await anext(lines)]) == ["web-0/app: 0"]
                waiting_lines = lines.waiting
                nodes.log("web-0", "later\n" * 1000)
                await anyio.sleep(60)
                assert lines.waiting == waiting_lines  # the server retains later lines
                assert len([await anext(lines) for _ in range(1002)]) == 1002

    go(main)


def test_a_permanent_refusal_is_raised(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.nodes()
        cluster.put(pod("web-0", "app", "side"))
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            with pytest.raises(kp.NotFound):
                async with read_logs(client, "nothing", follow=True):
                    pass
            with pytest.raises(kp.InvalidRequest, match="2 containers match, and max_containers is 1"):
                async with read_logs(client, selector="app=shop", follow=True, max_containers=1) as lines:
                    await anext(lines)
            with pytest.raises(kp.InvalidRequest, match="none of the 1 pods has a container other"):
                async with read_logs(client, "web-0", container="other") as lines:
                    await anext(lines)
            with pytest.raises(kp.InvalidRequest, match="previous run does not grow"):
                read_logs(client, "web-0", follow=True, previous=True)
            with pytest.raises(kp.InvalidRequest, match="or a selector"):
                async with read_logs(client):
                    pass

    go(main)


@pytest.mark.parametrize("target", ["deploy/shop", "svc/shop", "rs/shop"])
def test_the_pods_of_an_object_that_selects_pods_are_read(go: Go, target: str) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.nodes(programs={"app": sim.Program(log="start\n")})
        cluster.put(pod("web-0"))
        labels: dict[str, Any] = {"app": "shop"}
        for kind in ("Deployment", "ReplicaSet"):
            template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
            spec = {"selector": {"matchLabels": labels}, "template": template}
            cluster.put({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "shop"}, "spec": spec})
        service = {"selector": labels, "ports": [{"port": 80}]}
        cluster.put({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": service})
        async with simulated(cluster) as client:
            await anyio.sleep(5)
            async with read_logs(client, target) as lines:
                assert printed([line async for line in lines]) == ["web-0/app: start"]

    go(main)


@pytest.mark.parametrize(
    ("part", "status", "event"),
    [
        ("containers", {"state": {"running": {}}, "restartCount": 2}, RunStarted(2)),
        ("containers", {"state": {"waiting": {}}, "restartCount": 0}, None),
        ("containers", {"state": {"terminated": {"exitCode": 1}}, "restartCount": 2}, RunEnded(2)),
        ("containers", {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}},
                        "restartCount": 2}, RunEnded(2)),
        ("containers", {"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}},
                        "restartCount": 3}, RunStarted(3)),
        ("initContainers", {"state": {"terminated": {"exitCode": 0}}, "restartCount": 0},
         RunEnded(0, is_last=True)),
        ("initContainers", {"state": {"terminated": {"exitCode": 1}}, "restartCount": 0}, RunEnded(0)),
        ("ephemeralContainers", {"state": {"terminated": {"exitCode": 1}}, "restartCount": 0},
         RunEnded(0, is_last=True)),
    ],
)  # fmt: skip
def test_the_run_of_a_container_is_read_from_its_status(
    part: str, status: dict[str, Any], event: RunStarted | RunEnded | None
) -> None:
    statuses = part.removesuffix("s") + "Statuses"
    results = {
        "metadata": {},
        "spec": {part: [{"name": "app"}]},
        "status": {statuses: [{"name": "app", **status}]},
    }
    assert events_of_runs(results).get("app") == event


@pytest.mark.parametrize(
    ("restart", "phase", "code", "last"),
    [("Always", "Running", 0, False), ("OnFailure", "Running", 0, True), ("OnFailure", "Running", 1, False),
     ("Never", "Running", 1, True), ("Always", "Failed", 1, True)],
)  # fmt: skip
def test_the_policy_and_the_phase_determine_whether_another_run_follows(
    restart: str, phase: str, code: int, *, last: bool
) -> None:
    status = {"name": "app", "restartCount": 0, "state": {"terminated": {"exitCode": code}}}
    spec = {"containers": [{"name": "app"}], "restartPolicy": restart}
    pod_ = {"metadata": {}, "spec": spec, "status": {"phase": phase, "containerStatuses": [status]}}
    assert events_of_runs(pod_) == {"app": RunEnded(0, is_last=last)}

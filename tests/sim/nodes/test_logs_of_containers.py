"""The logs of simulated containers: parts of logs, following, and refusals."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest
from hypothesis import given, strategies as st
from nodes_rig import Json, Rig

import kubeproto_sim as sim
from kubeproto import RawRequest
from kubeproto.kinds.core_v1 import Pod
from kubeproto_runtime.testing import Backend, run, simulated
from kubeproto_sim import ServerResponse


def ask(rig: Rig, query: str = "", name: str = "web") -> ServerResponse:
    return rig.cluster.respond(RawRequest("GET", f"/api/v1/namespaces/default/pods/{name}/log?{query}"))


def text(rig: Rig, query: str = "", name: str = "web") -> str:
    answer = ask(rig, query, name)
    assert (answer.status, type(answer.body)) == (200, bytes), answer.body
    assert isinstance(answer.body, bytes)
    return answer.body.decode()


def refusal(rig: Rig, query: str = "", name: str = "web") -> tuple[int, str]:
    answer = ask(rig, query, name)
    assert isinstance(answer.body, bytes)
    status: Json = msgspec.json.decode(answer.body)
    return status["code"], status["message"]


def chatty_program() -> Rig:
    """Return a program that writes a line when it starts, and a line each ten seconds."""
    rig = Rig(programs={"nginx": sim.Program(log="start\n")})
    rig.run()
    for line in ("one", "two", "three"):
        rig.cluster.advance(10)
        rig.nodes.log("web", f"{line}\n")
    return rig


INVALID: Final = 'PodLogOptions "" is invalid: '
READ: Final = [
    ("", "start\none\ntwo\nthree\n"),
    ("tailLines=2", "two\nthree\n"),
    ("tailLines=0", ""),
    ("tailLines=99", "start\none\ntwo\nthree\n"),
    ("sinceSeconds=10", "two\nthree\n"),
    ("sinceTime=2026-01-01T00:00:31Z", "three\n"),
    ("limitBytes=7", "start\no"),
    ("timestamps=true&tailLines=1", "2026-01-01T00:00:31Z three\n"),
    ("container=web", "start\none\ntwo\nthree\n"),
]


@pytest.mark.parametrize(("query", "expected"), READ)
def test_a_part_of_a_log_is_read(query: str, expected: str) -> None:
    assert text(chatty_program(), query) == expected


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("container=other", 400, "container other is not valid for pod web"),
        ("previous=true", 400, 'previous terminated container "web" in pod "web" not found'),
        ("tailLines=-1", 422, f"{INVALID}tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("sinceSeconds=0", 422, f"{INVALID}sinceSeconds: Invalid value: 0: must be greater than 0"),
    ],
)  # fmt: skip
def test_an_invalid_request_for_a_log_is_refused(query: str, code: int, message: str) -> None:
    assert refusal(chatty_program(), query) == (code, message)


def test_a_container_that_has_not_started_has_no_log() -> None:
    rig = Rig(ready_after=5)
    rig.run(until=1)
    assert refusal(rig) == (400, 'container "web" in pod "web" is waiting to start: ContainerCreating')


def test_a_pod_with_several_containers_requires_the_name_of_one() -> None:
    rig = Rig()
    rig.run(containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}],
            initContainers=[{"name": "setup", "image": "i"}])  # fmt: skip
    choice = "choose one of: [a b] or one of the init containers: [setup]"
    assert refusal(rig) == (400, f"a container name must be specified for pod web, {choice}")
    rig.cluster.advance(1)
    assert text(rig, "container=a") == ""


def test_a_container_that_was_restarted_has_a_log_of_its_own_and_a_previous_one() -> None:
    rig = chatty_program()
    rig.nodes.exit("web", 1)
    rig.cluster.advance(1)
    assert text(rig) == "start\n"
    assert text(rig, "previous=true&tailLines=1") == "three\n"


def test_the_log_of_a_finished_pod_can_be_read() -> None:
    rig = Rig(programs={"batch": sim.Program(log="done\n", takes=1)})
    rig.run(image="batch", restartPolicy="Never")
    rig.cluster.advance(1)
    assert rig.phase() == "Succeeded"
    assert text(rig) == "done\n"


def test_logs_of_pods_on_a_silent_node_cannot_be_read() -> None:
    rig = chatty_program()
    rig.nodes.stop("node-1")
    code, message = refusal(rig)
    address = "172.18.0.3:10250"
    url = f"https://{address}/containerLogs/default/web/web"
    expected = f'Get "{url}": dial tcp {address}: connect: no route to host'
    assert (code, message) == (500, expected)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_client_follows_a_log_until_its_container_ends(backend: Backend) -> None:
    rig = chatty_program()

    async def main() -> list[bytes]:
        async with simulated(rig.cluster) as client:
            pods = client.api(Pod)
            assert await pods.log("web", tail_lines=1) == "three\n"
            client.later(5, lambda: rig.nodes.log("web", "half a "))
            client.later(6, lambda: rig.nodes.log("web", "line\n"))
            client.later(7, lambda: rig.nodes.log("web", "the end"))
            client.later(8, lambda: rig.nodes.exit("web", 0))
            async with pods.follow_log("web", tail_lines=1) as lines:
                return [line async for line in lines]

    assert run(main, backend=backend) == [b"three", b"half a line", b"the end"]


PIECES = st.lists(st.sampled_from(["a", "bb\n", "\n", "c\nd", "e\n"]), max_size=8)


@given(PIECES, st.none() | st.integers(0, 6), st.none() | st.integers(1, 12), st.integers(0, 8))
def test_a_followed_log_equals_the_log_that_is_read_later(
    chunks: list[str], tail: int | None, limit: int | None, split_index: int
) -> None:
    rig = Rig()
    rig.run()
    content = "".join(chunks)
    for chunk in chunks[:split_index]:
        rig.nodes.log("web", chunk)
    query = f"follow=true&tailLines={tail}" if tail is not None else "follow=true"
    query += f"&limitBytes={limit}" if limit is not None else ""
    answer = ask(rig, query)
    assert not isinstance(answer.body, bytes)
    followed = answer.body.take()
    for chunk in chunks[split_index:]:
        rig.nodes.log("web", chunk)
        followed += answer.body.take()
    written = "".join(chunks[:split_index])
    last_lines = "".join(written.splitlines(keepends=True)[-tail:]) if tail else ""
    expected = (written if tail is None else last_lines) + content[len(written) :]
    assert followed.decode() == (expected if limit is None else expected[:limit])
    rig.nodes.exit("web")
    assert answer.body.ended

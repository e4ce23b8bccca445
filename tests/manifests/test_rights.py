"""Rights in manifests: enough for the operator, none that it does not need, and each in the right place."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from deployed import less_by_one, packaged_objects, refusals
from librarian import Book
from packaged import PROGRAMS

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto import ALL
from kubeproto.kinds.core_v1 import ConfigMap, Node
from kubeproto.wire import NO_RETRIES
from kubeproto_runtime.manifests import RequiredAccess, RoleRule, dump_access, parse_access, roles
from kubeproto_runtime.operator import FollowedKind, ProgramDescription
from kubeproto_runtime.testing import AccessRecorder, run, simulated

NEW: Final = sim.Modes()
OLD: Final = sim.Modes(streaming_lists=False)  # a server before 1.32: what is followed is listed first


def guarded(modes: sim.Modes) -> sim.Cluster:
    return sim.Cluster(authorization="RBAC", modes=modes)


@pytest.mark.parametrize("modes", [NEW, OLD], ids=["new", "old"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_works_under_exactly_the_rights_of_its_manifests(name: str, modes: sim.Modes) -> None:
    program = PROGRAMS[name]
    assert refusals(program, guarded(modes), packaged_objects(program)) == set()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.thorough("dozens of runs of the longest program")] * (name == "hello")
        )
        for name in PROGRAMS
    ],
)
def test_with_one_right_less_a_request_is_refused(name: str) -> None:
    program = PROGRAMS[name]
    needless = [
        right
        for right, less in less_by_one(packaged_objects(program))
        if not any(refusals(program, guarded(modes), less) for modes in (NEW, OLD))
    ]
    assert tuple(needless) == program.needless


# The rules, without a cluster

BOOKS: Final = Book.resource
NODES: Final = Node.resource


def an_operator(*namespaces: str, lease: str = "") -> ProgramDescription:
    followed = (FollowedKind(BOOKS, namespaces or (ALL,)), FollowedKind(NODES, (ALL,)))
    return ProgramDescription(kinds=(Book,), follows=followed, lease=lease)


def rule(verbs: str, resource: str, group: str = "", *names: str) -> RoleRule:
    return RoleRule(group, resource, names, tuple(verbs.split()))


GROUP: Final = BOOKS.group
IN_NAMESPACES: Final = RequiredAccess("", "configmaps", "patch")
IN_OWN: Final = RequiredAccess("", "secrets", "get", "own", "ink")
OF_CLUSTER: Final = RequiredAccess("", "nodes", "patch", "cluster")


@pytest.mark.parametrize(
    ("described", "recorded", "found"),
    [
        (
            an_operator(),
            [IN_NAMESPACES, IN_OWN, OF_CLUSTER],
            {
                "": (
                    rule("patch", "configmaps"),
                    rule("list watch patch", "nodes"),
                    rule("list watch", "books", GROUP),
                ),
                "(own)": (rule("get", "secrets", "", "ink"),),
            },
        ),
        (
            an_operator("north", "south"),
            [IN_NAMESPACES, OF_CLUSTER],
            {
                "": (rule("list watch patch", "nodes"),),
                "north": (rule("patch", "configmaps"), rule("list watch", "books", GROUP)),
                "south": (rule("patch", "configmaps"), rule("list watch", "books", GROUP)),
            },
        ),
        (
            an_operator(lease="books"),
            [],
            {
                "": (rule("list watch", "nodes"), rule("list watch", "books", GROUP)),
                "(own)": (
                    rule("create", "leases", "coordination.k8s.io"),
                    rule("get update", "leases", "coordination.k8s.io", "books"),
                ),
            },
        ),
    ],
)
def test_a_right_is_granted_where_it_is_used_and_nowhere_else(
    described: ProgramDescription, recorded: list[RequiredAccess], found: dict[str, tuple[RoleRule, ...]]
) -> None:
    assert roles(described, recorded) == found


def test_what_is_recorded_and_what_is_declared_in_its_own_namespace_is_one_role() -> None:
    recorded = [RequiredAccess(GROUP, "books", "patch", "own", "moby"), IN_OWN]
    found = roles(an_operator("library"), recorded, own_namespace="library")
    assert found["library"] == (
        rule("get", "secrets", "", "ink"),
        rule("list watch", "books", GROUP),
        rule("patch", "books", GROUP, "moby"),
    )


def test_what_all_objects_allow_needs_no_rule_for_one_of_them() -> None:
    every = RequiredAccess("", "secrets", "get", "own")
    named = [RequiredAccess("", "secrets", verb, "own", name) for verb in ("get", "update") for name in "ab"]
    found = roles(an_operator(), [every, *named])
    assert found["(own)"] == (rule("get", "secrets"), rule("update", "secrets", "", "a", "b"))


# What is recorded


def test_records_of_several_tests_come_together_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    for needed in (IN_NAMESPACES, IN_OWN, IN_NAMESPACES):
        recorder = AccessRecorder(namespace="library")
        recorder.needed.add(needed)
        recorder.save(path)
    assert parse_access(path.read_bytes()) == {IN_NAMESPACES, IN_OWN}
    assert path.read_text() == dump_access([IN_OWN, IN_NAMESPACES])
    assert path.read_text().count("\n") == 4


@pytest.mark.parametrize("data", [b"", b"{}", b'[{"verb": "get"}]', b"[1]", b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_a_record_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a record of requests"):
        parse_access(data)


def test_a_request_that_a_fault_swallowed_is_recorded_too() -> None:
    async def body() -> AccessRecorder:
        cluster = sim.Cluster()
        recorder = AccessRecorder(namespace="library")
        faults = sim.Faults(cluster, script=[sim.LoseResponse()])
        async with simulated(cluster, faults=faults, recorder=recorder) as client:
            with pytest.raises(kp.KubeprotoError):
                await client.call(client.requests(ConfigMap).delete("gone"), retries=NO_RETRIES)
        return recorder

    assert run(body).needed == {RequiredAccess("", "configmaps", "delete")}


def test_questions_that_every_account_may_ask_need_no_right() -> None:
    async def body() -> AccessRecorder:
        recorder = AccessRecorder(namespace="library")
        async with simulated(sim.Cluster(), recorder=recorder) as client:
            await client.version()
            await client.health()
        return recorder

    assert run(body).needed == set()

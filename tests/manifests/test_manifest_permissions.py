"""Permissions in manifests: all that the operator needs, no others, and each in the right role."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from librarian import Book
from packaged_programs import PROGRAMS
from simulated_programs import find_refused_requests, packaged_objects, without_each_verb

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto import ALL
from kubeproto.kinds.core_v1 import ConfigMap, Node
from kubeproto.wire import NO_RETRIES
from kubeproto_runtime.manifests import RequiredAccess, RoleRule, dump_access, parse_access, roles
from kubeproto_runtime.operator import FollowedKind, ProgramDescription
from kubeproto_runtime.testing import AccessRecorder, run, simulated

NEW: Final = sim.Modes()
OLD: Final = sim.Modes(streaming_lists=False)  # a server before 1.32: a list precedes each watch


def cluster_with_rbac(modes: sim.Modes) -> sim.Cluster:
    return sim.Cluster(authorization="RBAC", modes=modes)


@pytest.mark.parametrize("modes", [NEW, OLD], ids=["new", "old"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_works_with_the_permissions_of_its_manifests(name: str, modes: sim.Modes) -> None:
    program = PROGRAMS[name]
    assert find_refused_requests(program, cluster_with_rbac(modes), packaged_objects(program)) == set()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.thorough("dozens of runs of the longest program")] * (name == "hello")
        )
        for name in PROGRAMS
    ],
)
def test_a_request_is_refused_after_any_permission_is_removed(name: str) -> None:
    program = PROGRAMS[name]
    unneeded = [
        permission
        for permission, reduced_objects in without_each_verb(packaged_objects(program))
        if not any(
            find_refused_requests(program, cluster_with_rbac(modes), reduced_objects) for modes in (NEW, OLD)
        )
    ]
    assert tuple(unneeded) == program.unneeded


# The rules, without a cluster

BOOKS: Final = Book.resource
NODES: Final = Node.resource


def describe_operator(*namespaces: str, lease: str = "") -> ProgramDescription:
    followed = (FollowedKind(BOOKS, namespaces or (ALL,)), FollowedKind(NODES, (ALL,)))
    return ProgramDescription(kinds=(Book,), follows=followed, lease=lease)


def rule(verbs: str, resource: str, group: str = "", *names: str) -> RoleRule:
    return RoleRule(group, resource, names, tuple(verbs.split()))


GROUP: Final = BOOKS.group
IN_NAMESPACES: Final = RequiredAccess("", "configmaps", "patch")
IN_OWN_NAMESPACE: Final = RequiredAccess("", "secrets", "get", "own", "ink")
IN_CLUSTER: Final = RequiredAccess("", "nodes", "patch", "cluster")


@pytest.mark.parametrize(
    ("description", "recorded", "expected"),
    [
        (
            describe_operator(),
            [IN_NAMESPACES, IN_OWN_NAMESPACE, IN_CLUSTER],
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
            describe_operator("north", "south"),
            [IN_NAMESPACES, IN_CLUSTER],
            {
                "": (rule("list watch patch", "nodes"),),
                "north": (rule("patch", "configmaps"), rule("list watch", "books", GROUP)),
                "south": (rule("patch", "configmaps"), rule("list watch", "books", GROUP)),
            },
        ),
        (
            describe_operator(lease="books"),
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
def test_permissions_are_granted_only_in_the_namespaces_that_need_them(
    description: ProgramDescription, recorded: list[RequiredAccess], expected: dict[str, tuple[RoleRule, ...]]
) -> None:
    assert roles(description, recorded) == expected


def test_recorded_and_declared_permissions_share_the_role_of_a_namespace() -> None:
    recorded = [RequiredAccess(GROUP, "books", "patch", "own", "moby"), IN_OWN_NAMESPACE]
    expected = roles(describe_operator("library"), recorded, own_namespace="library")
    assert expected["library"] == (
        rule("get", "secrets", "", "ink"),
        rule("list watch", "books", GROUP),
        rule("patch", "books", GROUP, "moby"),
    )


def test_a_rule_for_all_objects_replaces_rules_for_named_objects() -> None:
    rule_of_all_objects = RequiredAccess("", "secrets", "get", "own")
    rules_of_names = [
        RequiredAccess("", "secrets", verb, "own", name) for verb in ("get", "update") for name in "ab"
    ]
    expected = roles(describe_operator(), [rule_of_all_objects, *rules_of_names])
    assert expected["(own)"] == (rule("get", "secrets"), rule("update", "secrets", "", "a", "b"))


# Recording


def test_records_of_several_tests_are_merged_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    for needed in (IN_NAMESPACES, IN_OWN_NAMESPACE, IN_NAMESPACES):
        recorder = AccessRecorder(namespace="library")
        recorder.needed.add(needed)
        recorder.save(path)
    assert parse_access(path.read_bytes()) == {IN_NAMESPACES, IN_OWN_NAMESPACE}
    assert path.read_text() == dump_access([IN_OWN_NAMESPACE, IN_NAMESPACES])
    assert path.read_text().count("\n") == 4


@pytest.mark.parametrize("data", [b"", b"{}", b'[{"verb": "get"}]', b"[1]", b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_a_record_raises_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not the output of AccessRecorder"):
        parse_access(data)


def test_a_request_with_a_lost_response_is_recorded() -> None:
    async def body() -> AccessRecorder:
        cluster = sim.Cluster()
        recorder = AccessRecorder(namespace="library")
        faults = sim.Faults(cluster, script=[sim.LoseResponse()])
        async with simulated(cluster, faults=faults, recorder=recorder) as client:
            with pytest.raises(kp.KubeprotoError):
                await client.call(client.requests(ConfigMap).delete("gone"), retries=NO_RETRIES)
        return recorder

    assert run(body).needed == {RequiredAccess("", "configmaps", "delete")}


def test_requests_that_every_account_may_send_are_not_recorded() -> None:
    async def body() -> AccessRecorder:
        recorder = AccessRecorder(namespace="library")
        async with simulated(sim.Cluster(), recorder=recorder) as client:
            await client.version()
            await client.health()
        return recorder

    assert run(body).needed == set()

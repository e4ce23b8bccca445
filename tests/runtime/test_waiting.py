"""Waiting for an object: the fields of each condition, short-lived states, and the errors of timeouts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, assert_type

import anyio
import pytest
from virtual_time import Book, Go, Said, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.batch_v1 import Job
from kubeproto.kinds.core_v1 import Pod
from kubeproto_runtime import ConditionUnreachable, WaitTimeout
from kubeproto_runtime.client import BoundApi
from kubeproto_runtime.conditions import (
    Condition,
    at_path,
    condition,
    deleted,
    established,
    exists,
    job_complete,
    predicate,
    ready,
    rolled_out,
)
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def dynamic(fields: dict[str, Any], kind: str = "Book", **metadata: Any) -> kp.Dynamic:
    meta: dict[str, Any] = {"name": "x"} | metadata
    return kp.decode(kp.encode({"apiVersion": "v1", "kind": kind, "metadata": meta} | fields), kp.Dynamic)


def conditions(*statuses: tuple[str, str]) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": type_, "status": status} for type_, status in statuses]}}


# The missing fields of a condition


def test_ready_and_other_conditions_depend_only_on_their_status() -> None:
    assert ready().missing(dynamic(conditions(("Ready", "True")))) == ""
    assert ready().missing(dynamic({})) == "there is no condition Ready"
    assert ready().missing(dynamic({"status": {"conditions": None}})) == "there is no condition Ready"
    assert ready().missing(None) == "it does not exist"
    ready_condition = {"type": "Ready", "status": "Unknown", "reason": "Slow", "message": "still at it"}
    assert (
        ready().missing(dynamic({"status": {"conditions": [ready_condition]}}))
        == "Ready is Unknown (Slow still at it)"
    )
    assert condition("Lent", "False").missing(dynamic(conditions(("Lent", "False")))) == ""
    assert condition("lent", "false").missing(dynamic(conditions(("Lent", "False")))) == ""  # like kubectl


@pytest.mark.parametrize(
    ("path", "value", "missing"),
    [
        ("{.phase}", "Running", ""),
        (".phase", "Pending", ".phase is Running"),
        ("{.replicas}", "3", ""),
        ("{.done}", "true", ""),
        (".empty", None, ""),
        (".none", None, "there is no value at .none"),
        ('{.items[?(@.type=="A")].status}', "True", ""),
        (".numbers[*]", "3", ".numbers[*] is 1, 2"),
    ],
)
def test_a_condition_at_a_path_compares_its_values_as_text(
    path: str, value: str | None, missing: str
) -> None:
    obj = dynamic({
        "phase": "Running", "replicas": 3, "done": True, "empty": "", "numbers": [1, 2],
        "items": [{"type": "A", "status": "True"}],
    })  # fmt: skip
    assert at_path(path, value).missing(obj) == missing


def test_a_condition_at_a_path_has_the_path_in_its_repr() -> None:
    assert repr(at_path(".x[0]", "1")) == "<.x[0]=1>"
    assert at_path(".y").missing(None) == "it does not exist"


def test_a_condition_of_an_older_generation_is_ignored() -> None:
    ready_condition = {"type": "Ready", "status": "True", "observedGeneration": 2}
    old = dynamic({"status": {"conditions": [ready_condition]}}, generation=3)
    assert ready().missing(old) == "the condition Ready is of generation 2, and the object of 3"
    assert ready().missing(dynamic({"status": {"conditions": [ready_condition]}}, generation=2)) == ""


def test_deleted_with_a_uid_ignores_a_new_object_of_the_same_name() -> None:
    existing = dynamic({}, uid="u1", finalizers=["a.b/c"])
    assert deleted().missing(None) == ""
    assert deleted().missing(existing) == "it exists, and its deletion was not requested"
    assert deleted("u2").missing(existing) == ""
    assert deleted("u1").missing(existing) != ""
    terminating = dynamic({}, uid="u1", finalizers=["a.b/c"], deletionTimestamp="2026-01-01T00:00:00Z")
    assert deleted().missing(terminating) == "it is being deleted, and waits for the finalizers a.b/c"


@pytest.mark.parametrize(
    ("spec", "status", "missing"),
    [
        ({"replicas": 3}, {"observedGeneration": 1}, "its controller has not observed generation 2"),
        ({"replicas": 3}, {"observedGeneration": 2, "updatedReplicas": 1}, "1 of 3 replicas are updated"),
        ({"replicas": 3}, {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 4}, "1 old replicas"),
        ({"replicas": 3},
         {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 2},
         "2 of 3 updated replicas are available"),
        ({"replicas": 3},
         {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3}, ""),
        ({"replicas": 0}, {"observedGeneration": 2}, ""),
    ],
)  # fmt: skip
def test_a_deployment_is_rolled_out_as_in_kubectl(
    spec: dict[str, Any], status: dict[str, Any], missing: str
) -> None:
    actual = rolled_out().missing(dynamic({"spec": spec, "status": status}, "Deployment", generation=2))
    assert actual.startswith(missing) if missing else actual == ""


def test_the_rollout_of_a_deployment_after_its_deadline_is_unreachable() -> None:
    status = {
        "observedGeneration": 2,
        "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}],
    }
    with pytest.raises(ConditionUnreachable, match="progress deadline"):
        rolled_out().missing(dynamic({"spec": {}, "status": status}, "Deployment", generation=2))


ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}


@pytest.mark.parametrize(
    ("spec", "status", "missing"),
    [
        ({"replicas": 3}, {}, "its controller has not observed it"),
        ({"replicas": 3}, {"observedGeneration": 1, "readyReplicas": 2}, "2 of 3 replicas are ready"),
        ({"replicas": 3, "updateStrategy": ROLLING},
         {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1}, "1 of 2 replicas are updated"),
        ({"replicas": 3, "updateStrategy": ROLLING},
         {"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 2, "updateRevision": "b",
          "currentRevision": "a"}, ""),
        ({"replicas": 3},
         {"observedGeneration": 1, "readyReplicas": 3, "updateRevision": "b", "currentRevision": "a"},
         "0 of 3 replicas have revision b"),
        ({"replicas": 3},
         {"observedGeneration": 1, "readyReplicas": 3, "updateRevision": "b", "currentRevision": "b"}, ""),
    ],
)  # fmt: skip
def test_a_stateful_set_is_rolled_out_as_in_kubectl(
    spec: dict[str, Any], status: dict[str, Any], missing: str
) -> None:
    assert rolled_out().missing(dynamic({"spec": spec, "status": status}, "StatefulSet")) == missing


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        ({"desiredNumberScheduled": 2, "updatedNumberScheduled": 1}, "1 of 2 nodes are updated"),
        ({"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1},
         "1 of 2 nodes have an available pod"),
        ({"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}, ""),
    ],
)  # fmt: skip
def test_a_daemon_set_is_rolled_out_as_in_kubectl(status: dict[str, Any], missing: str) -> None:
    assert rolled_out().missing(dynamic({"spec": {}, "status": status}, "DaemonSet")) == missing


def test_the_rollout_of_a_pod_or_with_on_delete_is_unreachable() -> None:
    with pytest.raises(ConditionUnreachable, match="a Pod has no rollout"):
        rolled_out().missing(dynamic({}, "Pod"))
    with pytest.raises(ConditionUnreachable, match="OnDelete"):
        rolled_out().missing(dynamic({"spec": {"updateStrategy": {"type": "OnDelete"}}}, "DaemonSet"))


def test_a_definition_is_established_unless_its_names_are_not_accepted() -> None:
    accepted = conditions(("NamesAccepted", "True"), ("Established", "True"))
    assert established().missing(dynamic(accepted)) == ""
    assert established().missing(dynamic(conditions(("Established", "False")))) == "Established is False"
    with pytest.raises(ConditionUnreachable, match="not accepted"):
        established().missing(dynamic(conditions(("NamesAccepted", "False"), ("Established", "False"))))


# How conditions are combined

YES = Condition[kp.KubeObject]("yes", lambda _: "")
NO = Condition[kp.KubeObject]("no", lambda _: "no")


def _never(_: object) -> str:
    raise ConditionUnreachable("never")


NEVER = Condition[kp.KubeObject]("never", _never)


def test_combined_conditions_report_the_missing_parts() -> None:
    assert (YES & YES).missing(None) == ""
    assert (YES & NO).missing(None) == "no"
    assert (NO & NO).missing(None) == "no and no"
    assert (YES | NO).missing(None) == ""
    assert (NO | NO).missing(None) == "no and no"
    assert (~NO).missing(None) == ""
    assert (~YES).missing(None) == "it is still yes"
    assert repr(~(YES & NO) | NO) == "<(not (yes and no) or no)>"


def test_an_unreachable_condition_ends_an_and_but_not_an_or() -> None:
    with pytest.raises(ConditionUnreachable):
        (NO & NEVER).missing(None)
    assert (NEVER | NO).missing(None) == "no"
    assert (NO | NEVER).missing(None) == "no"
    assert (NEVER | YES).missing(None) == ""
    with pytest.raises(ConditionUnreachable):
        (NEVER | NEVER).missing(None)
    assert (~NEVER).missing(None) == ""


def test_types_show_whether_a_wait_returns_an_object() -> None:
    async def never(books: BoundApi[Book]) -> None:
        assert_type(await books.wait_for("a", ready()), Book)
        assert_type(await books.wait_for("a", deleted()), Book | None)
        assert_type(await books.wait_for("a", ready() & exists()), Book)
        assert_type(await books.wait_for("a", deleted() & exists()), Book)
        assert_type(await books.wait_for("a", exists() & deleted()), Book)
        assert_type(await books.wait_for("a", ready() | exists()), Book)
        assert_type(await books.wait_for("a", ready() | deleted()), Book | None)
        assert_type(await books.wait_for("a", ~exists()), Book | None)
        assert_type(await books.wait_for("a", lambda book: book.spec.title == "t"), Book)

    assert never.__name__ == "never"
    assert (ready() & deleted()).requires_object
    assert (deleted() & ready()).requires_object
    assert (ready() | exists()).requires_object
    assert not (ready() | deleted()).requires_object
    assert not (~ready()).requires_object


# Waiting on a server


def test_u_06_a_condition_that_is_met_already_takes_one_request(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            cluster.log.clear()
            assert (await client.api(Book).wait_for("moby", exists())).spec.title == "Moby-Dick"
            assert len(cluster.log) == 1

    go(main)


def test_the_watch_continues_at_the_version_that_was_read(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        version = cluster.put(book())["metadata"]["resourceVersion"]
        async with simulated(cluster) as client:
            cluster.log.clear()
            cluster.later(1, lambda: cluster.put(book(pages=3)))
            await client.api(Book).wait_for("moby", lambda book: book.spec.pages == 3)
            [get, watch] = [entry.request.target for entry in cluster.log]
            assert get.endswith("/books/moby")
            assert "watch=true" in watch
            assert f"resourceVersion={version}" in watch
            assert "fieldSelector=metadata.name%3Dmoby" in watch

    go(main)


def test_a_snapshot_that_is_older_than_the_read_object_is_ignored(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.modes = sim.Modes(streaming_lists=False)
        cluster.put(book())
        cluster.remove(Book, "moby")
        cluster.lag = 1
        async with simulated(cluster) as client:
            with pytest.raises(WaitTimeout):
                await client.api(Book).wait_for("moby", exists(), timeout=10)

    go(main)


def test_a_forbidden_watch_is_reported_immediately(go: Go) -> None:
    class NoWatch:
        def __init__(self, transport: kp.Transport) -> None:
            self.transport = transport

        @asynccontextmanager
        async def send(
            self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
        ) -> AsyncGenerator[kp.IncomingResponse]:
            if "watch=" in request.target:
                status = {"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden"}
                yield Said(403, (("Content-Type", "application/json"),), kp.encode(status))
            else:
                async with self.transport.send(request, timeout=timeout, idle=idle) as incoming:
                    yield incoming

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            client.transport = NoWatch(client.transport)
            with pytest.raises(kp.KubeprotoError, match=r"cannot be watched: .*403 Forbidden"):
                await client.api(Book).wait_for("moby", ready())
            assert anyio.current_time() < 2

    go(main)


def test_u_01_the_state_that_met_the_condition_is_returned(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            for second, pages in enumerate((100, 600, 200), start=1):
                cluster.later(second, partial(cluster.put, book(pages=pages)))
            waited_for = await client.api(Book).wait_for("moby", lambda book: (book.spec.pages or 0) > 500)
            assert waited_for.spec.pages == 600
            assert anyio.current_time() == 2.0
            assert cluster.watches == []

    go(main)


def test_a_condition_that_is_met_for_a_moment_is_not_missed(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=1))

        def change_twice() -> None:
            cluster.put(book(pages=2))
            cluster.put(book(pages=3))

        async with simulated(cluster) as client:
            cluster.later(1, change_twice)
            waited_for = await client.api(Book).wait_for(
                "moby", predicate(lambda book: book.spec.pages == 2, "two")
            )
            assert waited_for.spec.pages == 2

    go(main)


def test_u_04_a_timeout_reports_the_missing_condition(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=1))
        async with simulated(cluster) as client:
            books = client.api(Book)
            with pytest.raises(WaitTimeout) as caught:
                await books.wait_for("moby", ready(), timeout=30)
            assert str(caught.value) == (
                "Book default/moby is not Ready after 30 s: there is no condition Ready"
            )
            assert isinstance(caught.value, TimeoutError)
            assert isinstance(caught.value.last, Book)
            assert caught.value.last.spec.pages == 1
            assert anyio.current_time() == 30
            with pytest.raises(WaitTimeout, match="it does not exist"):
                await books.wait_for("emma", ready() & exists(), timeout=1)

    go(main)


def test_u_04_a_timeout_reports_the_last_failure(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            faults.script += [sim.Lag(0)] + [sim.RefuseConnection()] * 1000
            with pytest.raises(WaitTimeout, match="the last failure was"):
                await client.api(Book).wait_for("moby", ready(), timeout=30)

    go(main)


def test_u_05_a_condition_that_raises_ends_the_wait_with_its_error(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            cluster.later(1, lambda: cluster.put(book()))
            with pytest.raises(ZeroDivisionError):
                await client.api(Book).wait_for("moby", lambda book: bool(1 / len(book.spec.authors)))
            assert cluster.watches == []

    go(main)


def test_u_03_a_wait_survives_ended_watches_and_expired_versions(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        faults = sim.Faults(cluster, seed=3, share=0.3)
        async with simulated(cluster, faults=faults) as client:
            for second in range(1, 300, 7):
                cluster.later(second, cluster.end_watches)
                cluster.later(second, lambda: cluster.put(book("emma", title="Emma")))
                cluster.later(second, cluster.compact)
            cluster.later(300, lambda: cluster.remove(Book, "moby"))
            assert await client.api(Book).wait_for("moby", deleted(), timeout=3600) is None
            assert anyio.current_time() < 400

    go(main)


def test_a_deletion_during_a_gap_is_detected_in_the_next_snapshot(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        uid = cluster.put(book())["metadata"]["uid"]
        faults = sim.Faults(cluster)

        def replace_during_the_gap() -> None:
            cluster.remove(Book, "moby")
            cluster.put(book(title="another one"))
            cluster.compact()

        async with simulated(cluster, faults=faults) as client:
            cluster.later(1, lambda: faults.script.extend([sim.RefuseConnection()]))
            cluster.later(1, cluster.end_watches)
            cluster.later(1.01, replace_during_the_gap)
            waited_for = await client.api(Book).wait_for("moby", deleted(uid))
            assert waited_for is not None
            assert waited_for.metadata.uid != uid

    go(main)


def test_a_job_that_fails_ends_the_wait(go: Go) -> None:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": pod}},
    }

    async def main() -> None:
        cluster = sim.Cluster()
        cluster.put(job)
        failed = {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}
        async with simulated(cluster) as client:
            cluster.later(5, lambda: cluster.edit("batch/v1/Job", "j", lambda obj: obj.update(status=failed)))
            with pytest.raises(ConditionUnreachable, match="BackoffLimitExceeded"):
                await client.api(Job).wait_for("j", job_complete())
            assert anyio.current_time() == 5.0
            complete = {"conditions": [{"type": "Complete", "status": "True"}]}
            cluster.edit("batch/v1/Job", "j", lambda obj: obj.update(status=complete))
            assert (await client.api(Job).wait_for("j", job_complete())).metadata.name == "j"

    go(main)


def test_a_wait_for_a_typed_deployment_is_that_for_a_dynamic_one(go: Go) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    rolled_out_status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}

    async def main() -> None:
        cluster = sim.Cluster()
        cluster.put(deployment)
        async with simulated(cluster) as client:
            cluster.later(
                3,
                lambda: cluster.edit(
                    "apps/v1/Deployment", "web", lambda obj: obj.update(status=rolled_out_status)
                ),
            )
            assert (await client.api(Deployment).wait_for("web", rolled_out())).metadata.name == "web"
            assert anyio.current_time() == 3.0

    go(main)


def test_a_wait_for_an_unknown_kind_or_in_all_namespaces_fails_immediately(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            with pytest.raises(kp.NotFound):
                await client.api(Book).wait_for("moby", exists())
            with pytest.raises(kp.InvalidRequest):
                await client.api(Pod, namespace=kp.ALL).wait_for("a", exists())
            assert anyio.current_time() == 0.0

    go(main)


def test_a_wait_that_is_cancelled_leaves_no_watch(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            with anyio.move_on_after(3):
                await client.api(Book).wait_for("moby", exists())
            assert anyio.current_time() == 3.0
            assert cluster.watches == []

    go(main)

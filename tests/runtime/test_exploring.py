"""`explore`: operators that reconcile pass, and one fault is enough to show what a wrong one does."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_args

import anyio
import echo
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    Operator,
    await_change,
    requeue,
)
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import (
    Backend,
    InjectedFault,
    Injection,
    SimulatedClient,
    explore,
)


class BookSpec(kp.Fields):
    title: str


class BookStatus(kp.Fields):
    label: str = ""
    slot: int = 0


class Book(kp.Object[BookSpec, BookStatus], group="library.example.io", version="v1", plural="books"):
    """What gets a label."""


CLUSTER = sim.Cluster(crds=[Book, echo.Echo])
GUIDE = Path(__file__).parents[2] / "docs" / "exploring.md"
REPLICAS = itertools.count()
Run = Callable[[Client], Awaitable[object]]


def book(name: str) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=BookSpec(title=name.title()))


async def two_books_of_which_one_goes(user: SimulatedClient) -> None:
    await user.api(Book).create(book("moby"))
    await anyio.sleep(5)
    await user.api(Book).create(book("typee"))
    await user.api(Book).delete("moby")
    await anyio.sleep(30)


async def label(moby: Book, ctx: Context[None]) -> Action:
    """Keep a ConfigMap for each book: what is applied twice is there once."""
    metadata = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(moby)])
    api = ctx.client.api(ConfigMap, namespace=ctx.namespace)
    await api.apply(ConfigMap(metadata=metadata, data={"title": moby.spec.title}), field_manager="label")
    return await_change()


async def right(client: Client) -> None:
    await Controller(client, Book).owns(ConfigMap).run(label)


async def right_and_elected(client: Client) -> None:
    elector = LeaderElector(client, name="labels", identity=f"replica-{next(REPLICAS)}")
    operator = Operator(election=elector)
    await operator.run(Controller(client, Book).owns(ConfigMap).run(label))


@pytest.mark.parametrize(
    "backend", ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other loop"))]
)
def test_an_operator_that_reconciles_ends_alike_whatever_happens(backend: Backend) -> None:
    found = explore(right, two_books_of_which_one_goes, cluster=CLUSTER, backend=backend)
    found.check()
    assert Counter(write.author for write in found.writes if write.changed) == {"user": 3, "operator": 2}
    # A crash, and a cache that hears nothing, late or never at each; four more at what the operator sends.
    assert found.runs == 5 * 4 + 2 * 4
    assert str(found) == "28 runs, each with a fault at one of 5 writes; 0 end differently"


def test_an_elected_operator_that_loses_its_lease_goes_on_later() -> None:
    found = explore(
        right_and_elected, two_books_of_which_one_goes, cluster=CLUSTER, faults=["lost lease", "crash after"]
    )
    found.check()
    assert found.runs > 5
    assert any(write.leading for write in found.writes)


@pytest.mark.thorough("sixty runs of the example, of which each is like another")
def test_the_echo_operator_of_the_examples_passes() -> None:
    async def scenario(user: SimulatedClient) -> None:
        echoes = user.api(echo.Echo)
        await echoes.create(echo.Echo(metadata=kp.ObjectMeta(name="one"), spec=echo.EchoSpec(replicas=1)))
        await anyio.sleep(1)
        await echoes.merge_patch("one", {"spec": {"replicas": 3}})
        await anyio.sleep(30)
        await echoes.delete("one")
        await anyio.sleep(30)

    explore(echo.controller, scenario, cluster=CLUSTER).check()


async def creates_then_remembers(client: Client) -> None:
    """Wrong: if it dies between the two writes, it creates a second ConfigMap and forgets the first."""

    async def reconcile(moby: Book, ctx: Context[None]) -> Action:
        if moby.status is None or not moby.status.label:
            metadata = kp.ObjectMeta(generate_name=f"{ctx.name}-", owner_references=[owner_reference(moby)])
            made = await ctx.client.api(ConfigMap, namespace=ctx.namespace).create(
                ConfigMap(metadata=metadata)
            )
            await ctx.client.api(Book, namespace=ctx.namespace).patch_status(
                moby, {"label": made.metadata.name}
            )
        return await_change()

    await Controller(client, Book).run(reconcile)


async def follows_edges(client: Client) -> None:
    """Wrong: a deletion that it does not hear of leaves the ConfigMap behind."""
    labels = client.api(ConfigMap)
    async with client.api(Book).follow() as events:
        async for event in events:
            match event:
                case kp.Added(moby):
                    await labels.apply(
                        ConfigMap(metadata=kp.ObjectMeta(name=moby.metadata.name)), field_manager="x"
                    )
                case kp.Deleted(moby):
                    await labels.delete(moby.metadata.name)
                case _:
                    pass


async def counts_its_cache(client: Client) -> None:
    """Wrong: the next free slot is taken from a cache, and one that is taken already is taken for its own."""

    async def reconcile(moby: Book, ctx: Context[None]) -> Action:
        taken = [slot.data.get("book") for slot in ctx.cache(ConfigMap) if slot.data]
        if ctx.name not in taken:
            metadata = kp.ObjectMeta(name=f"slot-{len(taken)}")
            with contextlib.suppress(kp.AlreadyExists):
                slot = ConfigMap(metadata=metadata, data={"book": ctx.name})
                await ctx.client.api(ConfigMap, namespace=ctx.namespace).create(slot)
        return await_change()

    await Controller(client, Book).owns(ConfigMap).run(reconcile)


async def three_books(user: SimulatedClient) -> None:
    for name in ("moby", "typee", "omoo"):
        await user.api(Book).create(book(name))
        await anyio.sleep(2)
    await anyio.sleep(30)


@pytest.mark.parametrize(
    ("operator", "scenario", "fault", "told"),
    [
        (creates_then_remembers, three_books, "crash after", "configmaps default/moby-* differs"),
        (follows_edges, two_books_of_which_one_goes, "crash after", "configmaps default/moby exists"),
        (counts_its_cache, three_books, "late events", "is missing"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_one_fault_shows_what_is_wrong_with_an_operator(
    operator: Run, scenario: Callable[[SimulatedClient], Awaitable[None]], fault: InjectedFault, told: str
) -> None:
    found = explore(operator, scenario, cluster=CLUSTER)
    shown = [one for one in found.differences if one.injection.fault == fault]
    assert shown, found
    assert any(told in line for one in shown for line in one.lines), found
    with pytest.raises(AssertionError, match="end differently"):
        found.check()

    # What a difference says brings it back, and it alone.
    again = explore(operator, scenario, cluster=CLUSTER, only=[shown[0].injection])
    assert again.runs == 1
    assert again.differences == (shown[0],)
    assert f"only=[Injection({fault!r}, {shown[0].write.number})]" in str(shown[0])


def test_only_a_run_that_is_repeated_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("kubeproto")
    level = logger.level
    explore(right, two_books_of_which_one_goes, cluster=CLUSTER, faults=["refused"])
    assert caplog.records == []
    assert logger.level == level
    found = explore(right, two_books_of_which_one_goes, cluster=CLUSTER, only=[Injection("refused", 2)])
    found.check()
    assert any("500" in record.getMessage() for record in caplog.records)


def test_what_was_killed_sends_nothing_more() -> None:
    lives = itertools.count()

    async def says_goodbye(client: Client) -> None:
        life = next(lives)
        try:
            await right(client)
        finally:
            with anyio.CancelScope(shield=True):
                farewell = ConfigMap(metadata=kp.ObjectMeta(name=f"life-{life}"))
                await client.api(ConfigMap).apply(farewell, field_manager="life")

    explore(says_goodbye, two_books_of_which_one_goes, cluster=CLUSTER, faults=["crash after"]).check()


def test_the_cluster_that_is_given_stays_as_it_was() -> None:
    before = CLUSTER.version
    explore(right, two_books_of_which_one_goes, cluster=CLUSTER, faults=["refused"])
    assert CLUSTER.version == before


def test_what_cannot_be_compared_is_refused_by_its_reason() -> None:
    async def ends(client: Client) -> None:
        await client.api(Book).list()

    async def restless(client: Client) -> None:
        count = itertools.count()

        async def reconcile(moby: Book, ctx: Context[None]) -> Action:
            wanted = ConfigMap(metadata=kp.ObjectMeta(name="count"), data={"n": str(next(count))})
            await ctx.client.api(ConfigMap).apply(wanted, field_manager="count")
            return requeue(after=10)

        await Controller(client, Book).run(reconcile)

    async def endless(client: Client) -> None:
        async def reconcile(moby: Book, ctx: Context[None]) -> Action:
            await ctx.client.api(Book).merge_patch(ctx.name, {"spec": {"title": moby.spec.title + "!"}})
            return await_change()

        await Controller(client, Book).run(reconcile)

    with pytest.raises(ValueError, match=r"without faults failed: .*the operator has ended by itself"):
        explore(ends, three_books, cluster=CLUSTER)
    with pytest.raises(ValueError, match="sent 1000 writes, and would have continued"):
        explore(endless, three_books, cluster=CLUSTER, only=[])
    with pytest.raises(ValueError, match="did not settle within 100 s"):
        explore(restless, three_books, cluster=CLUSTER, within=100)
    with pytest.raises(ValueError, match="refused at write 99: the clean run has"):
        explore(right, three_books, cluster=CLUSTER, only=[Injection("refused", 99)])


def test_the_program_of_the_guide_finds_what_it_says() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    space: dict[str, Any] = {"__name__": "guide"}
    exec(compile(program, str(GUIDE), "exec"), space)
    found = space["found"]
    (told,) = re.findall(r"^print\(found\)  # (.*), and how$", program, re.MULTILINE)
    assert str(found).partition("\n")[0] == told
    assert "crash after" in {one.injection.fault for one in found.differences}
    for fault in get_args(InjectedFault):
        assert f"`{fault}`" in page


def test_every_fault_is_tried() -> None:
    found = explore(right_and_elected, two_books_of_which_one_goes, cluster=CLUSTER, only=[])
    assert found.runs == 0
    assert len(get_args(InjectedFault)) == 9

"""An operator that needs permissions for a finalizer, status, Events, children, a Secret and an election."""

from __future__ import annotations

import kubeproto as kp
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap, Secret
from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    Events,
    LeaderElector,
    Operator,
    await_change,
    finalizer,
)

NAMESPACE = "library"  # the operator's namespace


class BookSpec(kp.Fields):
    title: str


class BookStatus(kp.Fields):
    labelled: bool = False


class Book(
    kp.Object[BookSpec, BookStatus], group="manifests.example.com", version="v1", plural="books",
    definition=kp.Definition(storage=True),
):  # fmt: skip
    """A book that gets a label."""


async def label(book: Book, ctx: Context[Events]) -> Action:
    ink = await ctx.client.api(Secret, namespace=NAMESPACE).get("ink")
    metadata = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)])
    labelled = ConfigMap(metadata=metadata, data={"label": book.spec.title, "ink": ink.metadata.name})
    await ctx.api(ConfigMap).apply(labelled, field_manager="librarian", force=True)
    await ctx.api(Book).patch_status(book, BookStatus(labelled=True))
    ctx.state.record(book, "Labelled", "the label is on the book")
    return await_change()


async def clean_up(book: kp.KubeObject, ctx: Context[Events]) -> None:
    await ctx.api(ConfigMap).delete(ctx.name)


def operator(client: Client) -> Operator:
    events = Events(client, controller="librarian", instance="librarian-0")
    election = LeaderElector(client, name="librarian", namespace=NAMESPACE, identity="librarian-0")
    operator_of_books = Operator(election=election, port=0, grace=20)
    reconcile = finalizer("manifests.example.com/librarian", apply=label, cleanup=clean_up)
    operator_of_books.add(Controller(client, Book, state=events).owns(ConfigMap).run(reconcile), events.run)
    return operator_of_books

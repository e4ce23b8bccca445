"""An operator that archives a book before it is deleted: `python examples/programs/operator_archive.py`."""

import logging

import anyio
from book import Book

from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    ControllerRun,
    Events,
    await_change,
    connect,
    finalizer,
    recording,
)


class Archive:
    def __init__(self, events: Events) -> None:
        self.events = events
        self.titles: list[str] = []


async def do_nothing(book: Book, ctx: Context[Archive]) -> Action:
    return await_change()


async def archive(book: Book, ctx: Context[Archive]) -> None:
    ctx.state.titles.append(book.spec.title)
    ctx.state.events.record(ctx.ref, "Archived", f"{book.spec.title} is in the archive")


def archiving(client: Client, state: Archive) -> ControllerRun:
    reconcile = finalizer("books.example.com/archive", apply=do_nothing, cleanup=archive)
    return Controller(client, Book, state=state).run(reconcile)


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    async with connect() as client, recording(client, controller="archive", instance="archive-0") as events:
        await archiving(client, Archive(events))


if __name__ == "__main__":
    anyio.run(main)

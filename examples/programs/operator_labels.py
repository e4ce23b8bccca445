"""An operator that gives each book a label, a ConfigMap: `python examples/programs/operator_labels.py`."""

import logging
import socket

import anyio
from book import Book

import kubeproto as kp
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    ControllerRun,
    LeaderElector,
    Operator,
    await_change,
    connect,
    owner_reference,
    requeue,
)


async def reconcile(book: Book, ctx: Context[None]) -> Action:
    text = f"{book.spec.title}, by {' and '.join(book.spec.authors) or 'nobody'}"
    label = ctx.cache(ConfigMap).get(ctx.name)
    if label is None or (label.data or {}).get("label") != text:
        meta = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)])
        await ctx.api(ConfigMap).apply(ConfigMap(metadata=meta, data={"label": text}), field_manager="labels")
    return await_change()


def log_and_retry(error: Exception, ctx: Context[None]) -> Action:
    ctx.logger.warning("%r has no label yet: %s", ctx.object.spec.title, error)
    return requeue(after=30)


def labels(client: Client) -> ControllerRun:
    return Controller(client, Book, timeout=10).owns(ConfigMap).run(reconcile, on_error=log_and_retry)


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    async with connect() as client:
        election = LeaderElector(client, name="labels", identity=socket.gethostname())
        await Operator(election=election, signals=True, port=8080).run(labels(client))


if __name__ == "__main__":
    anyio.run(main)

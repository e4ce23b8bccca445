"""Prints the changes of books, on asyncio: `python examples/books/on_asyncio.py`.

Failures are logged, and missed changes are reported once the server can be reached again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from book import Book, describe

import kubeproto as kp
from kubeproto_runtime import Client, FollowedKind, ProgramDescription, connect


async def report(client: Client, write: Callable[[str], object] = print) -> None:
    """Follow the books of all namespaces, and print a line about each event."""
    async with client.api(Book, namespace=kp.ALL).follow(strict=True) as events:
        async for event in events:
            write(describe(event))


def deployed(client: Client) -> ProgramDescription:
    """Return the program that `manifests.yaml` deploys."""
    return ProgramDescription(
        kinds=(Book,), follows=(FollowedKind(Book.resource),), reconciles=False, grace=0
    )


async def main() -> None:
    """Watch the cluster of the current kubeconfig context, until Ctrl-C."""
    async with connect() as client:
        await report(client)


if __name__ == "__main__":
    logging.basicConfig()
    with suppress(KeyboardInterrupt):
        asyncio.run(main())

"""Prints the changes of books, on trio: `python examples/books/on_trio.py`.

Failures are logged, and missed changes are reported once the server can be reached again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import trio
from book import Book, describe

import kubeproto as kp
from kubeproto_runtime import Client, connect


async def report(client: Client, write: Callable[[str], object] = print) -> None:
    """Follow the books of all namespaces, and print a line about each event."""
    async with client.api(Book, namespace=kp.ALL).follow(strict=True) as events:
        async for event in events:
            write(describe(event))


async def main() -> None:
    """Watch the cluster of the current kubeconfig context, until Ctrl-C."""
    async with connect() as client:
        await report(client)


if __name__ == "__main__":
    logging.basicConfig()
    try:
        trio.run(main)
    except* KeyboardInterrupt:
        pass

"""Prints the changes of books, without an event loop: `python examples/books/blocking.py`.

Nothing runs in the background: `next(events)` polls the server. Failures are logged, and missed events are
recovered.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from book import Book, describe

import kubeproto as kp
from kubeproto_runtime import BlockingClient, connect_blocking


def report(client: BlockingClient, write: Callable[[str], object] = print) -> None:
    """Follow the books of all namespaces, and print a line about each event."""
    with client.api(Book, namespace=kp.ALL).follow(strict=True) as events:
        while event := next(events, None):
            write(describe(event))


def main() -> None:
    """Watch the cluster of the current kubeconfig context, until Ctrl-C."""
    with connect_blocking() as client:
        report(client)


if __name__ == "__main__":
    logging.basicConfig()
    with suppress(KeyboardInterrupt):
        main()

"""Handlers for the changes of books, and an index of them: `python examples/programs/informer.py`."""

import asyncio
from collections.abc import Callable

from book import Book

import kubeproto as kp
from kubeproto.watching import resync
from kubeproto_runtime import Client, connect


async def print_changes(client: Client, write: Callable[[str], object] = print) -> None:
    by_author: dict[str, set[str]] = {}
    async with client.api(Book, namespace=kp.ALL).follow(strict=True, failures=True) as events:
        async for event in events:
            match event:
                case kp.Added(book) | kp.Modified(book):
                    for author in book.spec.authors:
                        by_author.setdefault(author, set()).add(book.metadata.name)
                    write(f"{book.spec.title} is on the shelf")
                case kp.Deleted(book):
                    for names in by_author.values():
                        names.discard(book.metadata.name)
                    write(f"{book.metadata.name} is gone")
                case kp.Bookmark():
                    write(f"in sync: {sum(map(len, by_author.values()))} books of {len(by_author)} authors")
                case kp.Malformed(_, error):
                    write(f"skipped: {error}")
                case resync.SyncFailure(source=subject, text=text):
                    write(f"trouble with the {subject}: {text}")


async def main() -> None:
    async with connect() as client:
        await print_changes(client)


if __name__ == "__main__":
    asyncio.run(main())

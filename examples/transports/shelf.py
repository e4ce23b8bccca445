"""The common part of these programs: list the books of a namespace, then watch them."""

from __future__ import annotations

from collections.abc import Iterable

import kubeproto as kp


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


BOOKS = kp.Api(Book, namespace="default")


async def list_then_watch(transport: kp.Transport) -> None:
    """Print the books, and each event until the server ends the watch."""
    page = BOOKS.list()
    async with transport.send(page, timeout=30.0) as answer:
        body = b"".join([chunk async for chunk in answer])
    watch = BOOKS.watch(resource_version=listed(page.parse(answer.status, answer.headers, body).value))
    async with transport.send(watch, idle=60.0) as answer:
        decoder = watch.open(answer.status, answer.headers)
        async for chunk in answer:
            report(decoder.feed(chunk))
        report(decoder.finish())


def list_then_watch_blocking(transport: kp.BlockingTransport) -> None:
    """List and watch, blocking."""
    page = BOOKS.list()
    with transport.send(page, timeout=30.0) as answer:
        body = b"".join(answer)
    watch = BOOKS.watch(resource_version=listed(page.parse(answer.status, answer.headers, body).value))
    with transport.send(watch, idle=60.0) as answer:
        decoder = watch.open(answer.status, answer.headers)
        for chunk in answer:
            report(decoder.feed(chunk))
        report(decoder.finish())


def listed(shelf: kp.ObjectList[Book]) -> str:
    """Print the objects; return the version from which to watch."""
    for book in shelf:
        print("there is", book.spec.title)
    return shelf.version


def report(events: Iterable[kp.WatchEvent[Book]]) -> None:
    """Print events."""
    for event in events:
        match event:
            case kp.Added(book) | kp.Modified(book):
                print("now", book.spec.title)
            case kp.Deleted(book):
                print("gone:", book.spec.title)
            case kp.WatchFailed(status):
                print("begin again:", status.message)
            case _:
                pass

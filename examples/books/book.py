"""The class of a Book and the line for an event, which the three forms share.

`python examples/books/book.py | kubectl apply -f -` installs the definition of Books.
"""

from __future__ import annotations

from typing import TypeAlias

import kubeproto as kp
from kubeproto.crd import definition_of


class BookSpec(kp.Fields):
    title: str
    authors: list[str] = []


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


BookEvent: TypeAlias = kp.Added[Book] | kp.Modified[Book] | kp.Deleted[Book] | kp.Bookmark | kp.Malformed


def describe(event: BookEvent) -> str:
    """Return a line for an event, even if the object does not match its class."""
    match event:
        case kp.Added(book):
            return f"added: {book.spec.title}"
        case kp.Modified(book):
            authors = f", by {' and '.join(book.spec.authors)}" if book.spec.authors else ""
            return f"modified: {book.spec.title}{authors}"
        case kp.Deleted(book):
            return f"deleted: {book.spec.title}"
        case kp.Bookmark():
            return "these were all there are; waiting for changes"
        case kp.Malformed(_, error):
            return f"error: {error}"


if __name__ == "__main__":
    print(definition_of(Book).to_yaml(), end="")

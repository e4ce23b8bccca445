"""A user's code: mypy and pyright check the revealed types, and pytest runs it."""

from __future__ import annotations

from typing import assert_never, assert_type

import kubeproto as kp
from kubeproto.requests import Reply, Request
from kubeproto.wire import Decoder


class BookSpec(kp.Fields):
    title: str
    authors: list[str] = []


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


BODY = (
    b'{"apiVersion":"example.technosophos.com/v1","kind":"Book",'
    b'"metadata":{"name":"moby","namespace":"default","resourceVersion":"7"},"spec":{"title":"Moby-Dick"}}'
)


def test_a_get_reveals_the_kind() -> None:
    reply = kp.Api(Book).get("moby").parse(200, (), BODY)
    assert_type(reply, Reply[Book])
    assert_type(reply.value.spec.authors, list[str])
    assert reply.value.spec == BookSpec(title="Moby-Dick")


def test_metadata_depth_reveals_metadata_of_the_kind() -> None:
    books = kp.Api(kp.Metadata[Book])
    assert_type(books, kp.Api[kp.Metadata[Book]])
    reply = books.get("moby").parse(200, (), BODY)
    assert_type(reply.value, kp.Metadata[Book])
    assert reply.value.metadata.name == "moby"


def test_a_dynamic_api_needs_its_resource() -> None:
    books = kp.Api(kp.Dynamic, resource=Book.resource)
    assert_type(books.get("moby"), Request[kp.Dynamic])


def test_a_list_and_a_deletion_reveal_their_types() -> None:
    books = kp.Api(Book, namespace="shelf")
    assert_type(books.list(limit=5), Request[kp.ObjectList[Book]])
    assert_type(books.delete("moby"), Request[Book | kp.Status])
    page = books.list().parse(200, (), b'{"metadata":{"resourceVersion":"9"},"items":[%s]}' % BODY).value
    assert [book.spec.title for book in page] == ["Moby-Dick"]
    assert page.version == "9"


def test_a_match_over_watch_events_is_exhaustive() -> None:
    decoder = kp.Api(Book).watch(resource_version="7").open(200, ())
    assert_type(decoder, Decoder[kp.WatchEvent[Book]])
    names: list[str] = []
    for event in decoder.feed(b'{"type":"ADDED","object":%s}\n' % BODY):
        match event:
            case kp.Added(book) | kp.Modified(book):
                assert_type(book, Book)
                names.append(book.spec.title)
            case kp.Deleted(book):
                names.append(book.metadata.name)
            case kp.Bookmark(version):
                names.append(version)
            case kp.WatchFailed(status):
                names.append(status.reason)
            case kp.Malformed(metadata, error, raw):
                names.append(f"{metadata} {error} {raw!r}")
            case kp.Unknown(type_):
                names.append(type_)
            case _:
                assert_never(event)
    assert names == ["Moby-Dick"]


def test_a_reference_keeps_its_kind() -> None:
    ref = kp.ObjectRef.to(Book, "moby", "shelf")
    assert_type(ref, kp.ObjectRef[Book])
    assert str(ref) == "Book.example.technosophos.com shelf/moby"


async def send(transport: kp.Transport, request: Request[Book]) -> Book:
    """A minimal driver: it moves bytes, and the request parses them."""
    async with transport.send(request) as incoming:
        body = b"".join([chunk async for chunk in incoming])
    return request.parse(incoming.status, incoming.headers, body).value


def send_blocking(transport: kp.BlockingTransport, request: Request[Book]) -> Book:
    with transport.send(request) as incoming:
        body = b"".join(incoming)
    return request.parse(incoming.status, incoming.headers, body).value

"""A first program on the core, with responses like those of a server."""

from __future__ import annotations

import json

BOOK = json.dumps(
    {
        "apiVersion": "example.technosophos.com/v1",
        "kind": "Book",
        "metadata": {"name": "moby", "namespace": "default", "resourceVersion": "7"},
        "spec": {"title": "Moby-Dick", "authors": ["Herman Melville"]},
    }
)
ANSWERS = {
    "POST /apis/example.technosophos.com/v1/namespaces/default/books": (201, BOOK),
    "GET /apis/example.technosophos.com/v1/namespaces/default/books?limit=500": (
        200,
        (
            '{"kind":"BookList","apiVersion":"example.technosophos.com/v1",'
            f'"metadata":{{"resourceVersion":"7"}},"items":[{BOOK}]}}'
        ),
    ),
    "DELETE /apis/example.technosophos.com/v1/namespaces/default/books/moby": (
        200,
        '{"kind":"Status","apiVersion":"v1","status":"Success"}',
    ),
}
WATCHED = f'{{"type":"MODIFIED","object":{BOOK}}}\n'.encode()


def test_a_first_program_creates_lists_and_watches_objects() -> None:
    # fmt: off
    import kubeproto as kp

    class BookSpec(kp.Fields):
        title: str
        authors: list[str] = []

    class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
        """A book on a shelf."""

    books = kp.Api(Book)
    moby = Book(metadata=kp.ObjectMeta(name="moby"), spec=BookSpec(title="Moby-Dick"))

    request = books.create(moby)                   # a value: method, target, headers, body
    status, headers, body = send(request)          # with any HTTP client
    print(request.parse(status, headers, body).value.metadata.resource_version)  # noqa: T201

    page = books.list(limit=500)
    shelf = page.parse(*send(page)).value          # ObjectList[Book], or an ApiError is raised

    decoder = books.watch(resource_version=shelf.version).open(200, headers)
    for event in decoder.feed(WATCHED):            # bytes in chunks of any size
        match event:
            case kp.Added(book) | kp.Modified(book):
                print(book.spec.title, "by", *book.spec.authors)  # noqa: T201
            case kp.WatchFailed(gone):
                print("begin again:", gone.message)  # noqa: T201
            case _:
                pass

    farewell = books.delete("moby", propagation="Foreground")
    outcome = farewell.parse(*send(farewell)).value   # the Book, or a Status that reports the deletion
    # fmt: on

    assert shelf.version == "7"
    assert [book.spec.title for book in shelf] == ["Moby-Dick"]
    assert isinstance(outcome, kp.Status)
    assert outcome.success


def send(request: object) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    import kubeproto as kp

    assert isinstance(request, kp.RawRequest)
    status, body = ANSWERS[f"{request.method} {request.target}"]
    return status, (), body.encode()

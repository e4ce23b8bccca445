"""The three forms of the book informer as processes, on both servers; kubectl changes the books."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack

import pytest
from program_rig import Site

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

FORMS = ("books/on_asyncio.py", "books/on_trio.py", "books/blocking.py")


@pytest.fixture(scope="module")
def with_definition(cluster: Site) -> Generator[Site]:
    with cluster.with_kind(cluster.printed("books/book.py"), "books.example.technosophos.com") as site:
        yield site


def make_book(title: str) -> str:
    head = "apiVersion: example.technosophos.com/v1\nkind: Book\nmetadata: {name: moby}"
    return f"{head}\nspec: {{title: {title}}}\n"


@pytest.mark.thorough("three processes; tests/examples/test_books.py tests the same in process")
def test_each_form_prints_the_changes_of_kubectl(with_definition: Site, site: Site) -> None:
    with ExitStack() as stack:
        programs = [stack.enter_context(site.running(form)) for form in FORMS]
        for program in programs:
            program.until("^these were all there are; waiting for changes$")
        site.kubectl("apply -f -", make_book("Moby-Dick"))
        site.kubectl("apply -f -", make_book("Typee"))
        site.kubectl("delete book/moby")
        for program in programs:
            program.until("^deleted: Typee$")
            assert program.lines[-3:] == ["added: Moby-Dick", "modified: Typee", "deleted: Typee"]

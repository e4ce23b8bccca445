"""`kubeproto crd` and `generate`: from classes to a definition, and from definitions to classes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml
from command_processes import CommandLine

pytestmark = pytest.mark.one_python

ROOT: Final = Path(__file__).resolve().parents[2]
BOOKS: Final = '''
from datetime import datetime
from typing import Annotated

from msgspec import Meta

import kubeproto as kp


class Author(kp.Fields):
    """Who wrote it."""

    name: str
    born: datetime | None = None


class BookSpec(kp.Fields):
    title: Annotated[str, Meta(min_length=1)]
    authors: list[Author] = []
    labels: dict[str, int] = {}


class BookStatus(kp.Fields):
    copies: int | None = None


class Book(kp.Object[BookSpec, BookStatus], group="example.com", version="v1"):
    """A book."""


class Shelf(kp.Object[BookSpec, None], group="example.com", version="v1", plural="shelves"):
    """A shelf."""


class Open(kp.KubeObject):
    """Of any kind."""


number = 3
'''


@pytest.fixture
def books(cli: CommandLine) -> CommandLine:
    (cli.folder / "books.py").write_text(BOOKS)
    return cli


def test_crd_writes_a_definition_of_a_class_that_a_server_accepts(books: CommandLine) -> None:
    text = books.run("crd", "books:Book", "books.py:Shelf").stdout
    book_definition, shelf_definition = yaml.safe_load_all(text)
    assert list(book_definition)[:3] == ["apiVersion", "kind", "metadata"]
    assert (book_definition["metadata"]["name"], shelf_definition["metadata"]["name"]) == (
        "books.example.com",
        "shelves.example.com",
    )
    assert books.call("apply", "-f", "-", stdin=text).stdout.splitlines() == [
        "customresourcedefinition.apiextensions.k8s.io/books.example.com created",
        "customresourcedefinition.apiextensions.k8s.io/shelves.example.com created",
    ]
    assert yaml.safe_load(books.call("crd", "books:Book", "-o", "json").stdout) == book_definition


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["crd"], 2, "missing argument 'MODULE:CLASS…'"),
        (["crd", "books:Open"], 1, "books:Open has no group, version and kind: it has no definition"),
        (["crd", "books:number"], 1, "books:number is not a class of objects"),
        (["crd", "books:Bok"], 2, "books has no Bok; it defines Author, Book, BookSpec"),
        (["crd", "nothing:Book"], 2, "there is no module nothing here"),
        (["generate"], 2, "expected either --filename"),
        (["generate", "x", "-f", "y"], 2, "expected either --filename"),
        (["generate", "-f", "none.yaml"], 1, "none.yaml: No such file or directory"),
        (["generate", "-f", "-"], 1, "contain no CustomResourceDefinition"),
        (["generate", "books.example.com"], 1, "no definition books.example.com, and none of a group"),
    ],
)
def test_an_error_is_a_single_line(
    books: CommandLine, arguments: list[str], status: int, message: str
) -> None:
    result = books.call(*arguments)
    assert result.returncode == status
    assert message in result.stderr
    assert (result.stderr.count("\n"), result.stdout) == (1, "")


_ROUND_TRIP: Final = """
import kubeproto as kp
import books, library
for name in ("Book", "Shelf"):
    original, generated = getattr(books, name), getattr(library, name)
    assert generated.resource.gvk == original.resource.gvk
    assert generated.resource.plural == original.resource.plural
    text = b'{"apiVersion":"example.com/v1","kind":"%s","metadata":{"name":"a"},"spec":{"title":"Moby",' \\
        b'"authors":[{"name":"Herman","born":"1819-08-01T00:00:00Z"}],"labels":{"pages":635},"new":[1]}}'
    text = text % name.encode()
    book = kp.decode(text, generated)
    assert book.spec.authors[0].name == "Herman" and book.spec.labels == {"pages": 635}
    assert kp.encode(book) == text
    book.spec.title = "Dick"
    assert b'"title":"Dick"' in kp.encode(book)
"""


@pytest.mark.thorough("mypy reads the whole project when nothing is in its cache")
def test_a_generated_module_passes_mypy_strict(books: CommandLine) -> None:
    (books.folder / "crds.yaml").write_text(books.call("crd", "books:Book", "books:Shelf").stdout)
    books.call("generate", "-f", "crds.yaml", "-o", "library.py", status=0)
    mypy_result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "library.py"],
        cwd=books.folder, capture_output=True, text=True, check=False,
        env={**books.environment, "MYPYPATH": str(ROOT)},
    )  # fmt: skip
    assert mypy_result.returncode == 0, mypy_result.stdout


def test_generate_writes_a_module_whose_classes_keep_unknown_fields(books: CommandLine) -> None:
    text = books.call("crd", "books:Book", "books:Shelf").stdout
    (books.folder / "crds.yaml").write_text(text)
    result = books.run("generate", "-f", "crds.yaml", "-o", "library.py")
    assert (result.stdout, result.stderr.startswith("library.py is written: ")) == ("", True)
    from_file = (books.folder / "library.py").read_text()
    books.call("apply", "-f", "crds.yaml")
    assert books.call("generate", "example.com").stdout == from_file
    shelf_module = books.call("generate", "shelves.example.com").stdout
    assert "class Shelf(" in shelf_module
    assert "class Book(" not in shelf_module
    subprocess.run([sys.executable, "-c", _ROUND_TRIP], cwd=books.folder, check=True)

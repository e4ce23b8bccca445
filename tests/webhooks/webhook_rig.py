"""Shared by the tests of webhooks: a kind in two versions, its webhooks, and reviews of a server."""

from __future__ import annotations

import json
from typing import Any, Final

import kubeproto as kp
from kubeproto.crd import Violation
from kubeproto_runtime.webhooks import Admission, Webhooks

GROUP: Final = "webhooks.test"


class Name(kp.Fields):
    first: str = ""
    last: str = ""


class Spec(kp.Fields):
    title: str
    pages: int | None = None
    author: Name | None = None
    isbn: str = ""


class Book(kp.Object[Spec, None], group=GROUP, version="v2", plural="books"):
    """A book in the storage version."""


class OldSpec(kp.Fields):
    title: str
    author: str = ""


class OldBook(kp.Object[OldSpec, None], group=GROUP, version="v1", plural="books", kind="Book"):
    """A book in the old version, whose author is a string."""


def check(admission: Admission[Book]) -> list[Violation]:
    """Require a title, and forbid changes of the ISBN."""
    spec, violations = admission.object.spec, list[Violation]()
    if not spec.title.strip():
        violations.append(Violation("FieldValueRequired", "spec.title", detail="a book has a title"))
    if admission.old is not None and spec.isbn != admission.old.spec.isbn:
        violations.append(Violation("FieldValueForbidden", "spec.isbn", detail="a book keeps its number"))
    if spec.pages is not None and spec.pages > 2000:
        admission.warn(f"{spec.pages} pages are a lot")
    return violations


def fill(admission: Admission[Book]) -> None:
    """Set a missing number of pages to 1."""
    spec = admission.object.spec
    spec.pages = spec.pages or 1


def up(book: OldBook) -> Book:
    if book.spec.author == "nobody":
        raise ValueError("nobody writes no books")
    first, _, last = book.spec.author.rpartition(" ")
    author = Name(first=first, last=last) if book.spec.author else None
    return Book(metadata=book.metadata, spec=Spec(title=book.spec.title, author=author))


def down(book: Book) -> OldBook:
    author = book.spec.author
    text = " ".join(part for part in (author.first, author.last) if part) if author else ""
    return OldBook(metadata=book.metadata, spec=OldSpec(title=book.spec.title, author=text))


def make_webhooks() -> Webhooks[Book]:
    return Webhooks(Book).validate(check).default(fill).convert(OldBook, up=up, down=down)


VALIDATE: Final = f"/validate/books.{GROUP}/v2"
DEFAULT: Final = f"/default/books.{GROUP}/v2"
CONVERT: Final = f"/convert/books.{GROUP}"


def book(name: str = "moby", *, version: str = "v2", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Book",
        "metadata": {"name": name, "namespace": "default", "uid": "u1"},
        "spec": {"title": "Moby-Dick", **spec},
    }


def review(
    new: dict[str, Any] | None,
    old: dict[str, Any] | None = None,
    *,
    operation: str = "",
    **request_fields: Any,
) -> bytes:
    """Return an AdmissionReview of a write."""
    kind = {"group": GROUP, "version": "v2", "kind": "Book"}
    resolved = operation or ("DELETE" if new is None else "CREATE" if old is None else "UPDATE")
    request = {
        "uid": "r1", "kind": kind, "resource": {"group": GROUP, "version": "v2", "resource": "books"},
        "requestKind": kind, "name": "moby", "namespace": "default", "operation": resolved,
        "userInfo": {"username": "ann", "groups": ["readers"]}, "object": new, "oldObject": old,
        "dryRun": False, **request_fields,
    }  # fmt: skip
    document = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(document).encode()


def conversion(version: str, *objects: dict[str, Any]) -> bytes:
    """Return a ConversionReview."""
    request = {"uid": "c1", "desiredAPIVersion": f"{GROUP}/{version}", "objects": objects}
    document = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
    return json.dumps(document).encode()

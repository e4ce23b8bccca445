"""Operators of books with webhooks, for the tests of their manifests."""

from __future__ import annotations

from typing import Final

import librarian
from librarian import Book

import kubeproto as kp
from kubeproto.crd import Violation
from kubeproto.kinds.admissionregistration_v1 import MatchCondition
from kubeproto_runtime import Client, Context, Controller, Operator
from kubeproto_runtime.manifests import Packaging, RequiredAccess
from kubeproto_runtime.webhooks import (
    Admission,
    CertificateFiles,
    ManagedCertificates,
    WebhookAddress,
    WebhookOptions,
    Webhooks,
    WebhookServer,
)

PACKAGING: Final = Packaging(
    name="books", namespace="library", image="registry.example.com/books:1.2",
    access=frozenset([RequiredAccess("", "configmaps", "patch")]),
)  # fmt: skip


class OldBook(
    kp.Object[librarian.BookSpec, None], group="manifests.example.com", version="v1alpha1", plural="books",
    kind="Book",
):  # fmt: skip
    """A book in the old version."""


def check(admission: Admission[Book]) -> Violation | None:
    return None


def fill(admission: Admission[Book]) -> None:
    pass


WEBHOOKS: Final = Webhooks(Book).validate(check).default(fill)


def upgrade(old_book: OldBook) -> Book:
    return Book(metadata=old_book.metadata, spec=old_book.spec)


def downgrade(new_book: Book) -> OldBook:
    return OldBook(metadata=new_book.metadata, spec=new_book.spec)


CERTIFICATE: Final = CertificateFiles("/certificates/tls.crt", "/certificates/tls.key")
# Helm would interpret the braces as an expression.
BRACES: Final = WebhookOptions(
    match_conditions=(MatchCondition(name="odd", expression="object.metadata.name != '{{ .Values.odd }}'"),)
)


def with_files(client: Client) -> Operator:
    operator = Operator(webhooks=WebhookServer(WEBHOOKS, CERTIFICATE))
    operator.add(Controller(client, Book).run(librarian.label))  # type: ignore[arg-type]
    return operator


async def do_nothing(book: kp.KubeObject, ctx: Context[None]) -> None:
    pass


def with_two_versions(client: Client, webhooks: Webhooks[Book] | None = None) -> Operator:
    """An operator whose controllers follow two versions of a kind."""
    server = WebhookServer(webhooks, CERTIFICATE) if webhooks is not None else None
    operator = Operator(webhooks=server)
    operator.add(
        Controller(client, Book).run(do_nothing), Controller(client, OldBook, name="old").run(do_nothing)
    )
    return operator


def with_conversion(client: Client) -> Operator:
    webhooks = Webhooks(Book, options=BRACES).validate(check)
    return with_two_versions(client, webhooks.convert(OldBook, up=upgrade, down=downgrade))


def with_managed_certificates(client: Client) -> Operator:
    address = WebhookAddress(namespace="library", service="books-webhooks")
    managed_certificates = ManagedCertificates(
        client,
        address,
        secret="certificate",
        configurations=WEBHOOKS.configurations("books-books", address),
    )
    return Operator(webhooks=WebhookServer(WEBHOOKS, managed_certificates))

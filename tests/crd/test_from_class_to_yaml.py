"""Twenty lines convert a class to YAML for `kubectl apply`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.objects import Column, Definition, Rule


class BookSpec(kp.Fields):
    title: Annotated[str, Meta(description="As on the cover.")]
    pages: Annotated[int, Meta(ge=1), Rule("self >= oldSelf", "a book never loses pages")]
    authors: list[str] = []


class Book(
    kp.Object[BookSpec, None],
    group="library.example.com",
    version="v1",
    definition=Definition(columns=(Column("Pages", ".spec.pages", "integer"),)),
):
    """A book on a shelf."""


YAML = """\
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata:
  name: books.library.example.com
spec:
  group: library.example.com
  names:
    plural: books
    singular: book
    kind: Book
    listKind: BookList
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A book on a shelf.
        properties:
          spec:
            type: object
            properties:
              title:
                type: string
                description: As on the cover.
              pages:
                type: integer
                format: int64
                minimum: 1
                x-kubernetes-validations:
                - rule: self >= oldSelf
                  message: a book never loses pages
              authors:
                type: array
                items:
                  type: string
                default: []
            required:
            - title
            - pages
        required:
        - spec
    additionalPrinterColumns:
    - name: Pages
      type: integer
      jsonPath: .spec.pages
"""


def test_the_readme_shows_the_definition_of_a_class() -> None:
    assert definition_of(Book).to_yaml() == YAML

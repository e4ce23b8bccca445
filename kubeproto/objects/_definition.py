"""Declarations of a class about its kind and fields besides types: `Definition`, markers for `Annotated[…]`.

::

    class BookSpec(kp.Fields):
        pages: Annotated[int, kp.Rule("self >= oldSelf", message="a book never loses pages")]
        chapters: Annotated[list[Chapter], kp.ListMap("title")] = []

    class Book(
        kp.Object[BookSpec, None], group="library.example.com", version="v1",
        definition=kp.Definition(columns=(kp.Column("Pages", ".spec.pages", "integer"),)),
    ): ...
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

ColumnType = Literal["boolean", "date", "integer", "number", "string"]
RuleReason = Literal[
    "", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"
]


class Column(Struct, frozen=True):
    """A column of `kubectl get`. A column with a priority above 0 is shown by ``-o wide`` only."""

    name: str
    json_path: str
    type: ColumnType = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Scale(Struct, frozen=True):
    """The paths of the fields that `kubectl scale` and autoscalers read and write."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


class ConversionWebhook(Struct, frozen=True, kw_only=True):
    """The webhook that converts objects between versions: a URL, or a Service by namespace and name."""

    url: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    port: int = 443
    ca_bundle: bytes = b""


class Rule(Struct, frozen=True):
    """A CEL rule on a field, a class (``__rules__``) or a whole object (`Definition.rules`).

    `message_expression` computes the message, `field_path` names the invalid field below. A rule
    that reads `oldSelf` is checked on updates; with `optional_old_self` also when there is no old value.
    """

    rule: str
    message: str = ""
    message_expression: str = msgspec.field(default="", name="messageExpression")
    reason: RuleReason = ""
    field_path: str = msgspec.field(default="", name="fieldPath")
    optional_old_self: bool | None = msgspec.field(default=None, name="optionalOldSelf")


class ListMap:
    """A marker for lists of Structs: server-side apply merges the elements that agree in these keys."""

    __slots__ = ("keys",)

    def __init__(self, *keys: str) -> None:
        if not keys:
            raise TypeError("a ListMap needs the wire name of at least one key field")
        self.keys = keys


class ListSet:
    """A marker for lists without duplicates: server-side apply tracks the owner of each element."""

    __slots__ = ()


class Atomic:
    """A marker for lists, dicts and Structs that a single manager owns as a whole."""

    __slots__ = ()


class PreserveUnknown:
    """A marker for dicts and Structs that keep fields which their schema does not name."""

    __slots__ = ()


class Embedded:
    """A marker for fields that hold a whole object with apiVersion, kind and metadata."""

    __slots__ = ()


class Definition(Struct, frozen=True, kw_only=True):
    """The parts of a CustomResourceDefinition besides names, scope and schema.

    Names, categories, labels, annotations and conversion belong to the kind, the rest to the version.
    `versions` are the classes of other versions; if there are several, exactly one of them has
    `storage=True`. `status` and `scale` are subresources; `status` is on for a class that types its status.
    `deprecated` may be the text of the warning.
    """

    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    list_kind: str = ""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    conversion: ConversionWebhook | None = None
    versions: tuple[type[Any], ...] = ()
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    status: bool | None = None
    scale: Scale | None = None
    deprecated: bool | str = False
    served: bool = True
    storage: bool | None = None

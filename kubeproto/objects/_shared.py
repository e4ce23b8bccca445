"""What the packages of the core share for reading objects in stages, and the rules of names; not public."""

from ._codec import FRONT_MARKS, FRONT_SKIP, LONG
from ._malformed import Malformed
from ._name_faults import (
    LABEL,
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    is_subdomain,
    key_faults,
    label_faults,
    service_label_faults,
    subdomain_faults,
    value_faults,
)
from ._nulls import without_nulls
from ._reading import reader
from ._spans import ListedText, ListTexts, Span, whole
from ._values import dec_hook, enc_hook
from ._views import NEXT_NUMBER, SOURCE, text_of

__all__ = [
    "FRONT_MARKS",
    "FRONT_SKIP",
    "LABEL",
    "LABEL_TEXT",
    "LONG",
    "NEXT_NUMBER",
    "SOURCE",
    "SUBDOMAIN_TEXT",
    "ListTexts",
    "ListedText",
    "Malformed",
    "Span",
    "dec_hook",
    "enc_hook",
    "is_subdomain",
    "key_faults",
    "label_faults",
    "reader",
    "service_label_faults",
    "subdomain_faults",
    "text_of",
    "value_faults",
    "whole",
    "without_nulls",
]

"""What the packages of the core share for reading objects in stages, and the rules of names; not public."""

from ._codec import FRONT_MARKS, FRONT_SKIP, LONG, identified, kept_text, read_whole, shows_all
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
from ._scanning import check_json, elements, is_json
from ._sources import joined
from ._spans import LineInPlace, ListedText, ListTexts, Span, object_in, whole
from ._values import dec_hook, enc_hook
from ._views import NEXT_NUMBER, SOURCE, KindViews, text_of, views_of

__all__ = [
    "FRONT_MARKS",
    "FRONT_SKIP",
    "LABEL",
    "LABEL_TEXT",
    "LONG",
    "NEXT_NUMBER",
    "SOURCE",
    "SUBDOMAIN_TEXT",
    "KindViews",
    "LineInPlace",
    "ListTexts",
    "ListedText",
    "Malformed",
    "Span",
    "check_json",
    "dec_hook",
    "elements",
    "enc_hook",
    "identified",
    "is_json",
    "is_subdomain",
    "joined",
    "kept_text",
    "key_faults",
    "label_faults",
    "object_in",
    "read_whole",
    "reader",
    "service_label_faults",
    "shows_all",
    "subdomain_faults",
    "text_of",
    "value_faults",
    "views_of",
    "whole",
    "without_nulls",
]

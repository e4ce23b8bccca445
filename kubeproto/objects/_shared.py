"""Functions for reading objects in stages that other packages of the core use; not public."""

from ._codec import (
    LONG_TEXT,
    MIN_PREFIX,
    PREFIX_ENDS,
    encode_for_store,
    excludes_namespace,
    fill_in_kind,
    read_object,
)
from ._json_hooks import dec_hook, enc_hook
from ._json_reader import reader_of
from ._json_values import copy_json
from ._lazy_views import NEXT_NUMBER, SOURCE, KindViews, received_text, views_of
from ._object_list import Malformed
from ._scanning import check_json, is_json, join_members, split_array
from ._spans import LineInPlace, PageItem, PageItems, Span, extract_object, span_of_object

__all__ = [
    "LONG_TEXT",
    "MIN_PREFIX",
    "NEXT_NUMBER",
    "PREFIX_ENDS",
    "SOURCE",
    "KindViews",
    "LineInPlace",
    "Malformed",
    "PageItem",
    "PageItems",
    "Span",
    "check_json",
    "copy_json",
    "dec_hook",
    "enc_hook",
    "encode_for_store",
    "excludes_namespace",
    "extract_object",
    "fill_in_kind",
    "is_json",
    "join_members",
    "read_object",
    "reader_of",
    "received_text",
    "span_of_object",
    "split_array",
    "views_of",
]

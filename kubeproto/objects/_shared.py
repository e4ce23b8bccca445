"""Functions that the packages of the core share for reading objects in stages; not public."""

from ._codec import FRONT_MARKS, FRONT_SKIP, LONG, identified, kept_text, read_whole, shows_all
from ._json_hooks import dec_hook, enc_hook
from ._json_values import copy_json
from ._list import Malformed
from ._reading import reader
from ._scanning import check_json, elements, is_json
from ._sources import joined
from ._spans import LineInPlace, ListedText, ListTexts, Span, object_in, whole
from ._views import NEXT_NUMBER, SOURCE, KindViews, text_of, views_of

__all__ = [
    "FRONT_MARKS",
    "FRONT_SKIP",
    "LONG",
    "NEXT_NUMBER",
    "SOURCE",
    "KindViews",
    "LineInPlace",
    "ListTexts",
    "ListedText",
    "Malformed",
    "Span",
    "check_json",
    "copy_json",
    "dec_hook",
    "elements",
    "enc_hook",
    "identified",
    "is_json",
    "joined",
    "kept_text",
    "object_in",
    "read_whole",
    "reader",
    "shows_all",
    "text_of",
    "views_of",
    "whole",
]

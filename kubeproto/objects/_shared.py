"""What reading objects in stages is made of, for the packages of the core alone: no public name."""

from ._codec import FRONT_MARKS, FRONT_SKIP, LONG
from ._reading import reader
from ._spans import UNREAD, Span, whole
from ._values import dec_hook, enc_hook
from ._views import text_of

__all__ = [
    "FRONT_MARKS",
    "FRONT_SKIP",
    "LONG",
    "UNREAD",
    "Span",
    "dec_hook",
    "enc_hook",
    "reader",
    "text_of",
    "whole",
]

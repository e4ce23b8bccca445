"""`Pattern`: a regular expression that is compiled when it is first used."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, AnyStr, Generic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Pattern(Generic[AnyStr]):
    """A regular expression. Compiling all of them at import would take a tenth of the core's import time."""

    def __init__(self, text: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._text: AnyStr = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._text, self._flags)

    @cached_property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """The method of the same name of `re.Pattern`, as the next three are."""
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Match all of a text."""
        return self._compiled.fullmatch

    @cached_property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Find the first place that matches."""
        return self._compiled.search

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[AnyStr]]]:
        """Find all places that match."""
        return self._compiled.finditer

"""What a client's write has to pass beside the rules of its kind; the server's own writes pass freely."""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]


class Gate:
    """Lets every write pass as it is."""

    def check(self, obj: Json, old: Json | None) -> None:
        """Refuse an object that its writer may not write; before its kind's own rules are looked at."""


OPEN: Final = Gate()

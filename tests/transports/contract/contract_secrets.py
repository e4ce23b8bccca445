"""A secret, and the variables of a traceback that show it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Final

SECRET: Final = "hunter" + "2"  # tracebacks show lines of this file as well


def secret_variables(error: BaseException | None) -> Iterator[str]:
    """Yield the variables that contain the secret, in the frames of this project that an error has passed."""
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if "kubeproto" in frame.f_globals["__name__"]:
                for name, value in frame.f_locals.items():
                    if SECRET in repr(value).replace(f"?private={SECRET}", ""):
                        yield f"{frame.f_code.co_name}: {name}"
        error = error.__cause__ or error.__context__

"""The README for a package index: hatchling calls this hook at each build, and links become absolute.

In the repository they are relative, so that they work in a checkout, on the forge and in each branch. An
index shows only the page, so links must lead to the files of its version on the forge.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or a picture with a path: without a scheme, and not an anchor.
_RELATIVE: Final = re.compile(r"(?<=\]\()(?![a-z][a-z0-9+.-]*:|#|/)(?=[^)\s])")


def absolute_links(text: str, source: str, version: str) -> str:
    """Return a page whose relative links lead to the files of a version in the repository at `source`."""
    release = "main" if ".dev" in version else f"v{version}"
    return _RELATIVE.sub(f"{source}/blob/{release}/", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the readme, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme of the distribution."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, metadata["urls"]["Source"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

"""The README for a package index: hatchling runs this at each build, and makes its links absolute.

In the repository they are relative, so that they work in a checkout, on the forge and in each branch. An
index shows the page alone: there they lead to the forge, to the files of the version that is described.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or a picture whose target is a path: it has no scheme, and is not a part of the page.
_RELATIVE: Final = re.compile(r"(?<=\]\()(?![a-z][a-z0-9+.-]*:|#|/)(?=[^)\s])")


def absolute_links(text: str, source: str, version: str) -> str:
    """Return a page whose relative links lead to the files of a version in the repository at `source`."""
    release = "main" if ".dev" in version else f"v{version}"
    return _RELATIVE.sub(f"{source}/blob/{release}/", text)


class ReadmeHook(MetadataHookInterface):
    """Fills in the readme, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme of the distribution."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, metadata["urls"]["Source"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

"""Without the plugin of `make real`, the tests that need the server are not collected."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    real = config.pluginmanager.hasplugin("realserver.fixtures")
    return True if collection_path.name.startswith("test_real_") and not real else None

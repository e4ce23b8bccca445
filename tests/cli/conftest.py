"""The fixture `cli`: the command line against the simulated cluster of a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_processes import CommandLine

from kubeproto_serve import SimServer


@pytest.fixture
def cli(sim_server: SimServer, tmp_path: Path) -> CommandLine:
    """Run commands as processes against `sim_cluster` on a port."""
    return CommandLine(sim_server, tmp_path)

"""The example programs on two servers: the served simulator in `make test`, a real one in `make real`."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from pathlib import Path

import pytest
import yaml
from program_rig import Site

from kubeproto import sim
from kubeproto_serve import serving

PLUGIN = "realserver.fixtures"  # which `make real` loads
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """The server that all programs share."""
    folder: Path = tmp_path_factory.mktemp("programs")
    if request.config.pluginmanager.hasplugin(PLUGIN):
        document = yaml.safe_load(request.getfixturevalue("real_server").kubeconfig.read_text())
        document["current-context"] = "admin"
        yield Site(folder, yaml.safe_dump(document), real=True)
        return
    # It has controllers and no nodes, as the real one has: pods are made, and do not run.
    with serving(sim.Cluster(populated=True, controllers=True)) as server:
        yield Site(folder, server.kubeconfig, real=False)


@pytest.fixture
def site(cluster: Site) -> Generator[Site]:
    """That server, in a namespace of its own."""
    with cluster.within(f"programs-{next(_numbers)}") as site:
        yield site

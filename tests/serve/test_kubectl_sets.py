"""On the served simulator, kubectl applies and prunes sets that kubeproto planned, and kubeproto those of
kubectl.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kubectl_commands.sets import take_turns

import kubeproto_sim as sim
from kubeproto_serve import serving

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]


@pytest.mark.parametrize(
    "parent",
    [
        "configmaps/shop",
        pytest.param("secrets/shop", marks=pytest.mark.thorough("the same, on another kind")),
    ],
)
def test_kubectl_and_kubeproto_apply_the_same_set_in_turn(parent: str, tmp_path: Path) -> None:
    with serving(sim.Cluster(populated=True, controllers=True)) as server:
        config = tmp_path / "config"
        config.write_text(server.kubeconfig)
        take_turns(config, "", parent)

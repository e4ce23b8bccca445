"""kubectl and kubeproto alternate on sets of the real server, as on the simulator."""

from __future__ import annotations

import pytest
from kubectl_commands.sets import take_turns

from ._real_server import RealServer


@pytest.mark.needs("kubectl")
@pytest.mark.parametrize("parent", ["configmaps/shop", "secrets/shop"])
def test_kubectl_and_kubeproto_alternate_on_a_real_set(real_server: RealServer, parent: str) -> None:
    take_turns(real_server.kubeconfig, "admin", parent)

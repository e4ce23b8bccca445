"""A real Kubernetes control plane for tests: see README.md."""

from ._real_build import build
from ._real_server import RealServer, start

__all__ = ["RealServer", "build", "start"]

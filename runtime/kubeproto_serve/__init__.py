"""A simulated Kubernetes API server on a port, for kubectl and for programs in any language.

In a test: ``async with serve(cluster) as url``. By hand: ``kubeproto serve``.
"""

from ._journal import StateUnusable
from ._limits import Limits
from ._requestlog import RequestLog
from ._security import Security, from_files, read_token_file, self_made
from ._serve import ServingUrl, serve

__all__ = [
    "Limits",
    "RequestLog",
    "Security",
    "ServingUrl",
    "StateUnusable",
    "from_files",
    "read_token_file",
    "self_made",
    "serve",
]

"""A simulated Kubernetes API server on a port, for kubectl and for programs in any language.

In a test: the fixture `sim_server`, or ``with serving(cluster) as server``. On an event loop: ``async with
serve(cluster) as url``. On the command line: ``kubeproto serve``.
"""

from ._journal import UnusableState
from ._port_server import ServingUrl, serve
from ._replaying import prepare_replay, replay
from ._request_reports import RequestLog
from ._server_security import Security, certificate_files, read_token_file, self_signed
from ._socket_channel import Limits
from ._thread_server import SimServer, serving

__all__ = [
    "Limits",
    "RequestLog",
    "Security",
    "ServingUrl",
    "SimServer",
    "UnusableState",
    "certificate_files",
    "prepare_replay",
    "read_token_file",
    "replay",
    "self_signed",
    "serve",
    "serving",
]

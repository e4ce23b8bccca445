"""The kubelet of a pod: its address, and what a server says if it cannot be reached there."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from .._rejections import Rejection, failure, not_found
from .._state import ServerState
from ..nodes._commands import CommandStreams
from ..nodes._kubelets import PodRun
from ..nodes._nodes import Nodes
from ..nodes._programs import Behaviour
from ..reading._routes import Route
from ..storage._json_values import listed, member
from ._server_responses import ServerRequest
from ._subresource_bodies import stored_object

Json = dict[str, Any]
_PORT: Final = 10250  # of kubelets, if the status of the node has none
# As kubeadm sets --kubelet-preferred-address-types.
_PREFERRED: Final = ("InternalIP", "ExternalIP", "Hostname")
# In the order in which a server sends them.
_OF_LOGS: Final = (
    "follow", "limitBytes", "previous", "sinceSeconds", "sinceTime", "tailLines", "timestamps",
)  # fmt: skip


class Backend(msgspec.Struct, frozen=True):
    """The kubelet of a pod. `pod` is what it runs and how, None if the kubelet does not answer."""

    address: str
    error: str
    pod: tuple[Behaviour, PodRun] | None

    @property
    def reason(self) -> str:
        """Why it could not be reached."""
        return f"dial tcp {self.address}: connect: {self.error}"

    def refused(self, what: str) -> Rejection:
        """Return the error of a server that could not reach it."""
        return Rejection(failure(500, f"{what}{self.reason}", reason=""))


def find_backend(state: ServerState, route: Route, node: str) -> Backend:
    """Return the kubelet of the pod that a request names; or what a server says of a node without one."""
    address = _address(state, node)
    nodes, stored = state.nodes, stored_object(route)
    if not isinstance(nodes, Nodes) or (run := nodes.find(stored.key, stored.uid)) is None:
        return Backend(address, "connection refused", None)
    if not nodes.answers(run.node):
        return Backend(address, "no route to host", None)
    return Backend(address, "", (nodes.behaviour, run))


def _address(state: ServerState, name: str) -> str:
    served = state.kinds.of_storage("nodes")
    assert served is not None  # a kind of the server's own
    stored = served.storage.objects.get(name)
    if stored is None:
        raise not_found("pods", "", name)  # it says "pods", and means the node
    status = member(msgspec.json.decode(stored.data), "status")
    known = listed(status, "addresses")
    host = next((one["address"] for kind in _PREFERRED for one in known if one.get("type") == kind), None)
    if host is None:
        shown = " ".join(f"{{{one.get('type')} {one.get('address')}}}" for one in known)
        raise Rejection(failure(500, f"no preferred addresses found; known addresses: [{shown}]", reason=""))
    return f"{host}:{member(member(status, 'daemonEndpoints'), 'kubeletEndpoint').get('Port') or _PORT}"


def log_url(backend: Backend, route: Route, container: str, request: ServerRequest) -> str:
    """Return where a server asks a kubelet for a log."""
    query = urlencode([(name, value) for name in _OF_LOGS if (value := request.query.get(name))])
    return _url(backend, "containerLogs", route, container, query)


def command_url(
    backend: Backend, route: Route, container: str, streams: CommandStreams, command: tuple[str, ...]
) -> str:
    """Return where a server asks a kubelet for a command, or for what a container writes."""
    wanted = {
        "error": streams.stderr, "input": streams.stdin, "output": streams.stdout, "tty": streams.tty,
    }  # fmt: skip
    flags = [(name, "1") for name, value in wanted.items() if value]
    query = urlencode([*(("command", word) for word in command), *flags])
    return _url(backend, route.subresource, route, container, query)


def _url(backend: Backend, what: str, route: Route, container: str, query: str) -> str:
    path = f"/{what}/{route.namespace}/{route.name}/{container}"
    return f"https://{backend.address}{path}{f'?{query}' if query else ''}"

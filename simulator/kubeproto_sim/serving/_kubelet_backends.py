"""The kubelet of a pod: its address, and the errors of a server that cannot reach it."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from .._rejections import Rejection, failure, not_found
from .._state import ServerState
from ..nodes._container_commands import CommandStreams
from ..nodes._container_programs import Behaviour
from ..nodes._kubelets import PodRun
from ..nodes._simulated_nodes import Nodes
from ..reading._routes import Route
from ..storage._json_values import member, objects_in
from ._server_responses import ServerRequest
from ._subresource_bodies import stored_object

Json = dict[str, Any]
_PORT: Final = 10250  # of kubelets, if the status of the node names no port
# As kubeadm sets --kubelet-preferred-address-types.
_ADDRESS_TYPES: Final = ("InternalIP", "ExternalIP", "Hostname")
# In the order of a server's request to a kubelet.
_LOG_PARAMETERS: Final = (
    "follow", "limitBytes", "previous", "sinceSeconds", "sinceTime", "tailLines", "timestamps",
)  # fmt: skip


class Backend(msgspec.Struct, frozen=True):
    """The kubelet of a pod. `pod` is the running pod and its behaviour; None if it is unreachable."""

    address: str
    error: str
    pod: tuple[Behaviour, PodRun] | None

    @property
    def reason(self) -> str:
        """The reason for which the kubelet cannot be reached, in the words of Go."""
        return f"dial tcp {self.address}: connect: {self.error}"

    def refused(self, context: str) -> Rejection:
        """Return the error of a server that could not reach the kubelet."""
        return Rejection(failure(500, f"{context}{self.reason}", reason=""))


def find_backend(state: ServerState, route: Route, node: str) -> Backend:
    """Return the kubelet of the requested pod, or refuse like a server whose node has no address."""
    address = _address(state, node)
    nodes, stored = state.nodes, stored_object(route)
    if not isinstance(nodes, Nodes) or (run := nodes.find(stored.key, stored.uid)) is None:
        return Backend(address, "connection refused", None)
    if not nodes.is_running(run.node):
        return Backend(address, "no route to host", None)
    return Backend(address, "", (nodes.behaviour, run))


def _address(state: ServerState, name: str) -> str:
    served = state.kinds.of_storage("nodes")
    assert served is not None  # a built-in kind
    stored = served.storage.objects.get(name)
    if stored is None:
        raise not_found("pods", "", name)  # a server names "pods" here, although the node is missing
    status = member(msgspec.json.decode(stored.data), "status")
    addresses = objects_in(status, "addresses")
    host = next(
        (
            address["address"]
            for kind in _ADDRESS_TYPES
            for address in addresses
            if address.get("type") == kind
        ),
        None,
    )
    if host is None:
        listing = " ".join(f"{{{address.get('type')} {address.get('address')}}}" for address in addresses)
        raise Rejection(
            failure(500, f"no preferred addresses found; known addresses: [{listing}]", reason="")
        )
    return f"{host}:{member(member(status, 'daemonEndpoints'), 'kubeletEndpoint').get('Port') or _PORT}"


def log_url(backend: Backend, route: Route, container: str, request: ServerRequest) -> str:
    """Return the URL at which a server requests a log from a kubelet."""
    query = urlencode([(name, value) for name in _LOG_PARAMETERS if (value := request.query.get(name))])
    return _url(backend, "containerLogs", route, container, query)


def command_url(
    backend: Backend, route: Route, container: str, streams: CommandStreams, command: tuple[str, ...]
) -> str:
    """Return the kubelet URL for exec or attach."""
    streams_by_name = {
        "error": streams.stderr, "input": streams.stdin, "output": streams.stdout, "tty": streams.tty,
    }  # fmt: skip
    flags = [(name, "1") for name, value in streams_by_name.items() if value]
    query = urlencode([*(("command", argument) for argument in command), *flags])
    return _url(backend, route.subresource, route, container, query)


def _url(backend: Backend, action: str, route: Route, container: str, query: str) -> str:
    path = f"/{action}/{route.namespace}/{route.name}/{container}"
    return f"https://{backend.address}{path}{f'?{query}' if query else ''}"

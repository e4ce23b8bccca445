"""The verbs that only pods have, and the token of service accounts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar, Unpack

from .._errors import InvalidRequest
from ..objects import Dynamic, HasToken, KubeObject, Metadata, ObjectMeta, RunsContainers, Status, format_time
from ..wire import UpgradeRequest
from ._bodies import as_json, is_sequence
from ._headers import JSON, accept_anything, accept_media, content
from ._logs import FollowedLog
from ._offers import PODS, check_subresource
from ._parameters import (
    LogOptions,
    Propagation,
    Timeout,
    check_choice,
    check_whole,
    deletion_options,
    duration,
    write_query,
)
from ._readings import DeletedReading, One, Text
from ._request import Request, StreamRequest
from ._targets import Query, Target, given

if TYPE_CHECKING:
    from ..kinds.authentication_v1 import BoundObjectReference, TokenRequest

    # For whom the checkers allow it: the kinds that can, the metadata of these, and what may be any kind.
    Running: TypeAlias = "PodVerbs[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    Tokened: TypeAlias = "PodVerbs[HasToken | Metadata[HasToken] | Dynamic]"

K_co = TypeVar("K_co", bound=KubeObject, covariant=True)

# v5 can close only stdin, which a command such as `cat` waits for; v4 is for servers before 1.30.
_CHANNELS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
# Ports as channels of one WebSocket; the other way, SPDY inside it, offers nothing more.
_PORTS: Final = ("v4.channel.k8s.io",)
_MOST_PORTS: Final = 128
_SHORTEST_TOKEN: Final = (
    600  # seconds; https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/
)


class PodVerbs(Generic[K_co]):
    """The verbs of a pod besides reading and writing it."""

    kind: type[K_co]
    _place: Target

    def log(self: Running, name: str, **options: Unpack[LogOptions]) -> Request[str]:
        """Read the log of a container; it may end in the middle of a line."""
        return Request(
            "GET",
            self._of_pod(name, "log", _log_query(**options)),
            accept_anything(),
            verb="get",
            reading=Text(),
        )

    def follow_log(self: Running, name: str, **options: Unpack[LogOptions]) -> StreamRequest[bytes]:
        """Follow the log of a container: its lines, until it ends."""
        query = given(("follow", True)) + _log_query(**options)
        return StreamRequest(
            "GET", self._of_pod(name, "log", query), accept_anything(), verb="get", opening=FollowedLog()
        )

    def exec(
        self: Running,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool | None = None,
        tty: bool = False,
    ) -> UpgradeRequest:
        """Run a command in a container. With a terminal there is no stderr: it comes as stdout."""
        if not is_sequence(command):
            raise InvalidRequest(f"a command is a list of words, not {command!r}")
        if not command:
            raise InvalidRequest("exec needs a command")
        query = _stream_query(container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        words = tuple(("command", word) for word in command)
        return self._upgrade(name, "exec", words + query, _CHANNELS)

    def attach(
        self: Running,
        name: str,
        *,
        container: str = "",
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool | None = None,
        tty: bool = False,
    ) -> UpgradeRequest:
        """Attach to the streams of a running container."""
        query = _stream_query(container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        return self._upgrade(name, "attach", query, _CHANNELS)

    def port_forward(self: Running, name: str, ports: Sequence[int]) -> UpgradeRequest:
        """Forward ports of a pod."""
        if not 1 <= len(ports) <= _MOST_PORTS or len(set(ports)) != len(ports):
            raise InvalidRequest(f"port_forward takes 1 to {_MOST_PORTS} ports, each once, not {ports!r}")
        for port in ports:
            if type(port) is not int or not 0 < port < 1 << 16:
                raise InvalidRequest(f"{port!r} is not a port")
        return self._upgrade(name, "portforward", given(*[("ports", port) for port in ports]), _PORTS)

    def evict(
        self: Running,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        dry_run: bool = False,
        timeout: Timeout = None,
    ) -> Request[Status]:
        """Delete a pod if its disruption budgets allow it; if not, `TooManyRequests`: retry later."""
        from ..kinds.policy_v1 import Eviction

        options = deletion_options(
            uid=uid, resource_version=resource_version, propagation=propagation, grace_period=grace_period
        )
        return Request(
            "POST",
            self._of_pod(name, "eviction", write_query(dry_run=dry_run, timeout=timeout)),
            (*accept_media(JSON), *content(JSON)),
            as_json(Eviction(metadata=self._named(name), delete_options=options)),
            verb="create",
            reading=DeletedReading(),
            guarded=bool(uid or resource_version),
        )

    def bind(self: Running, name: str, node: str, *, dry_run: bool = False) -> Request[Status]:
        """Bind a pod to a node, as a scheduler does."""
        from ..kinds.core_v1 import Binding, ObjectReference

        target = ObjectReference(api_version="v1", kind="Node", name=node)
        return Request(
            "POST",
            self._of_pod(name, "binding", write_query(dry_run=dry_run)),
            (*accept_media(JSON), *content(JSON)),
            as_json(Binding(metadata=self._named(name), target=target)),
            verb="create",
            reading=DeletedReading(),
        )

    def create_token(
        self: Tokened,
        name: str,
        *,
        audiences: Sequence[str] = (),
        expiration_seconds: int | None = None,
        bound_to: BoundObjectReference | None = None,
        timeout: Timeout = None,
    ) -> Request[TokenRequest]:
        """Request a token of a service account; without audiences it is for the API server itself.

        The server may give another lifetime: look at `status.expiration_timestamp`.
        """
        from ..kinds.authentication_v1 import TokenRequest, TokenRequestSpec

        if expiration_seconds is not None:
            check_whole("expiration_seconds", expiration_seconds, at_least=_SHORTEST_TOKEN)
        if not is_sequence(audiences):
            raise InvalidRequest(f"audiences is a list of texts, not {audiences!r}")
        spec = TokenRequestSpec(
            audiences=list(audiences), expiration_seconds=expiration_seconds, bound_object_ref=bound_to
        )
        check_subresource(self.kind, self._place.resource, "token", ("", "serviceaccounts"))
        return Request(
            "POST",
            self._place.member(name, "token", given(("timeout", duration(timeout)))),
            (*accept_media(JSON), *content(JSON)),
            as_json(TokenRequest(spec=spec)),
            verb="create",
            reading=One(TokenRequest),
        )

    def _named(self, name: str) -> ObjectMeta:
        return ObjectMeta(name=name, namespace=self._place.namespace)

    def _of_pod(self, name: str, subresource: str, query: Query) -> str:
        check_subresource(self.kind, self._place.resource, subresource, PODS)
        return self._place.member(name, subresource, query)

    def _upgrade(self, name: str, verb: str, query: Query, protocols: tuple[str, ...]) -> UpgradeRequest:
        return UpgradeRequest(
            "GET", self._of_pod(name, verb, query), accept_anything(), verb=verb, protocols=protocols
        )


def _log_query(
    *,
    container: str = "",
    previous: bool = False,
    since_seconds: int | None = None,
    since_time: datetime | None = None,
    tail_lines: int | None = None,
    limit_bytes: int | None = None,
    timestamps: bool = False,
    stream: Literal["", "All", "Stdout", "Stderr"] = "",
) -> Query:
    check_choice("stream", stream, ("All", "Stdout", "Stderr"))
    if since_seconds is not None and since_time is not None:
        raise InvalidRequest("a log begins at since_seconds or at since_time, not at both")
    if since_seconds is not None:
        check_whole("since_seconds", since_seconds, at_least=1)
    if tail_lines is not None:
        check_whole("tail_lines", tail_lines, at_least=0)
        if stream not in ("", "All"):
            raise InvalidRequest(f"tail_lines counts the lines of all streams: not with stream {stream!r}")
    if limit_bytes is not None:
        check_whole("limit_bytes", limit_bytes, at_least=1)
    return given(
        ("container", container),
        ("previous", previous),
        ("sinceSeconds", since_seconds),
        ("sinceTime", _instant(since_time)),
        ("tailLines", tail_lines),
        ("limitBytes", limit_bytes),
        ("timestamps", timestamps),
        ("stream", stream),
    )


def _instant(time: datetime | None) -> str:
    if time is None:
        return ""
    try:
        return format_time(time)
    except ValueError as error:
        raise InvalidRequest(f"since_time: {error}") from None


def _stream_query(container: str, *, stdin: bool, stdout: bool, stderr: bool | None, tty: bool) -> Query:
    if tty and stderr:
        raise InvalidRequest(
            "a terminal has one stream for both outputs: stderr cannot be asked for beside tty"
        )
    errors = not tty if stderr is None else stderr
    if not (stdin or stdout or errors):
        raise InvalidRequest("at least one of stdin, stdout and stderr must be asked for")
    return given(
        ("stdin", stdin), ("stdout", stdout), ("stderr", errors), ("tty", tty), ("container", container)
    )

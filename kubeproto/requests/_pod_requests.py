"""`PodVerbs`: the requests that only pods support, and the token of service accounts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar, Unpack

from .._errors import InvalidRequest
from ..objects import Dynamic, HasToken, KubeObject, Metadata, ObjectMeta, RunsContainers, Status, format_time
from ..wire import UpgradeRequest
from ._headers import JSON, accept_anything, accept_media, content_type
from ._kind_checks import PODS, check_subresource
from ._log_lines import LogOpener
from ._parameters import (
    LogOptions,
    Propagation,
    Timeout,
    check_choice,
    check_integer,
    deletion_options,
    duration,
    write_query,
)
from ._request import Request, StreamRequest
from ._request_bodies import encode_body, is_sequence
from ._response_parsers import ObjectParser, StatusParser, TextParser
from ._targets import Query, Target, make_query

if TYPE_CHECKING:
    from ..kinds.authentication_v1 import BoundObjectReference, TokenRequest

    # Type checkers allow these verbs for kinds with the capability, for their metadata, and for `Dynamic`.
    PodApi: TypeAlias = "PodVerbs[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    TokenApi: TypeAlias = "PodVerbs[HasToken | Metadata[HasToken] | Dynamic]"

K_co = TypeVar("K_co", bound=KubeObject, covariant=True)

# v5 can close stdin alone, for which a command such as `cat` waits; v4 is for servers before 1.30.
_COMMAND_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
# Ports as channels of a WebSocket; the alternative, SPDY inside a WebSocket, has no advantage.
_PORT_PROTOCOLS: Final = ("v4.channel.k8s.io",)
_MAX_PORTS: Final = 128

# Seconds; https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/
_MIN_TOKEN_LIFETIME: Final = 600


class PodVerbs(Generic[K_co]):
    """The requests for a pod besides reading and writing it."""

    kind: type[K_co]
    _target: Target

    def log(self: PodApi, name: str, **options: Unpack[LogOptions]) -> Request[str]:
        """Read the log of a container; it may end within a line."""
        return Request(
            "GET",
            self._pod_target(name, "log", _log_query(**options)),
            accept_anything(),
            verb="get",
            parser=TextParser(),
        )

    def follow_log(self: PodApi, name: str, **options: Unpack[LogOptions]) -> StreamRequest[bytes]:
        """Follow the log of a container, line by line, until it ends."""
        query = make_query(("follow", True)) + _log_query(**options)
        return StreamRequest(
            "GET", self._pod_target(name, "log", query), accept_anything(), verb="get", opener=LogOpener()
        )

    def exec(
        self: PodApi,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool | None = None,
        tty: bool = False,
    ) -> UpgradeRequest:
        """Run a command in a container. With a terminal, its stderr arrives as stdout."""
        if not is_sequence(command):
            raise InvalidRequest(f"exec: the command must be a list of words, not {command!r}")
        if not command:
            raise InvalidRequest("exec: the command is empty")
        query = _stream_query(container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        words = tuple(("command", word) for word in command)
        return self._upgrade(name, "exec", words + query, _COMMAND_PROTOCOLS)

    def attach(
        self: PodApi,
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
        return self._upgrade(name, "attach", query, _COMMAND_PROTOCOLS)

    def port_forward(self: PodApi, name: str, ports: Sequence[int]) -> UpgradeRequest:
        """Forward ports of a pod."""
        if not 1 <= len(ports) <= _MAX_PORTS or len(set(ports)) != len(ports):
            raise InvalidRequest(f"port_forward needs 1 to {_MAX_PORTS} different ports, not {ports!r}")
        for port in ports:
            if type(port) is not int or not 0 < port < 1 << 16:
                raise InvalidRequest(f"port_forward: {port!r} is not a port number from 1 to 65535")
        return self._upgrade(
            name, "portforward", make_query(*[("ports", port) for port in ports]), _PORT_PROTOCOLS
        )

    def evict(
        self: PodApi,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        dry_run: bool = False,
        timeout: Timeout = None,
    ) -> Request[Status]:
        """Delete a pod if its disruption budgets allow it; otherwise retry the `TooManyRequests` later."""
        from ..kinds.policy_v1 import Eviction

        options = deletion_options(
            uid=uid, resource_version=resource_version, propagation=propagation, grace_period=grace_period
        )
        return Request(
            "POST",
            self._pod_target(name, "eviction", write_query(dry_run=dry_run, timeout=timeout)),
            (*accept_media(JSON), *content_type(JSON)),
            encode_body(Eviction(metadata=self._pod_metadata(name), delete_options=options)),
            verb="create",
            parser=StatusParser(),
            guarded=bool(uid or resource_version),
        )

    def bind(self: PodApi, name: str, node: str, *, dry_run: bool = False) -> Request[Status]:
        """Bind a pod to a node, as a scheduler does."""
        from ..kinds.core_v1 import Binding, ObjectReference

        target = ObjectReference(api_version="v1", kind="Node", name=node)
        return Request(
            "POST",
            self._pod_target(name, "binding", write_query(dry_run=dry_run)),
            (*accept_media(JSON), *content_type(JSON)),
            encode_body(Binding(metadata=self._pod_metadata(name), target=target)),
            verb="create",
            parser=StatusParser(),
        )

    def create_token(
        self: TokenApi,
        name: str,
        *,
        audiences: Sequence[str] = (),
        expiration_seconds: int | None = None,
        bound_to: BoundObjectReference | None = None,
        timeout: Timeout = None,
    ) -> Request[TokenRequest]:
        """Request a token of a service account; without audiences it is for the API server itself.

        The server may choose another lifetime, which is in `status.expiration_timestamp`.
        """
        from ..kinds.authentication_v1 import TokenRequest, TokenRequestSpec

        if expiration_seconds is not None:
            check_integer("expiration_seconds", expiration_seconds, minimum=_MIN_TOKEN_LIFETIME)
        if not is_sequence(audiences):
            raise InvalidRequest(f"create_token: audiences must be a list of strings, not {audiences!r}")
        spec = TokenRequestSpec(
            audiences=list(audiences), expiration_seconds=expiration_seconds, bound_object_ref=bound_to
        )
        check_subresource(self.kind, self._target.resource, "token", ("", "serviceaccounts"))
        return Request(
            "POST",
            self._target.member(name, "token", make_query(("timeout", duration(timeout)))),
            (*accept_media(JSON), *content_type(JSON)),
            encode_body(TokenRequest(spec=spec)),
            verb="create",
            parser=ObjectParser(TokenRequest),
        )

    def _pod_metadata(self, name: str) -> ObjectMeta:
        return ObjectMeta(name=name, namespace=self._target.namespace)

    def _pod_target(self, name: str, subresource: str, query: Query) -> str:
        check_subresource(self.kind, self._target.resource, subresource, PODS)
        return self._target.member(name, subresource, query)

    def _upgrade(self, name: str, verb: str, query: Query, protocols: tuple[str, ...]) -> UpgradeRequest:
        return UpgradeRequest(
            "GET", self._pod_target(name, verb, query), accept_anything(), verb=verb, protocols=protocols
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
        raise InvalidRequest("log: use since_seconds or since_time, not both")
    if since_seconds is not None:
        check_integer("since_seconds", since_seconds, minimum=1)
    if tail_lines is not None:
        check_integer("tail_lines", tail_lines, minimum=0)
        if stream not in ("", "All"):
            raise InvalidRequest(
                f"log: tail_lines counts all streams, so it cannot be used with stream {stream!r}"
            )
    if limit_bytes is not None:
        check_integer("limit_bytes", limit_bytes, minimum=1)
    return make_query(
        ("container", container),
        ("previous", previous),
        ("sinceSeconds", since_seconds),
        ("sinceTime", _format_since(since_time)),
        ("tailLines", tail_lines),
        ("limitBytes", limit_bytes),
        ("timestamps", timestamps),
        ("stream", stream),
    )


def _format_since(time: datetime | None) -> str:
    if time is None:
        return ""
    try:
        return format_time(time)
    except ValueError as error:
        raise InvalidRequest(f"since_time: {error}") from None


def _stream_query(container: str, *, stdin: bool, stdout: bool, stderr: bool | None, tty: bool) -> Query:
    if tty and stderr:
        raise InvalidRequest("a terminal has a single output stream: use tty without stderr")
    stderr = not tty if stderr is None else stderr
    if not (stdin or stdout or stderr):
        raise InvalidRequest("at least one of stdin, stdout and stderr must be requested")
    return make_query(
        ("stdin", stdin), ("stdout", stdout), ("stderr", stderr), ("tty", tty), ("container", container)
    )

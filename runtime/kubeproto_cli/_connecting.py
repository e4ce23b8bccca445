"""The options for the server, the user and the namespace, and the client that they describe.

Every command that connects to a server declares the options with `@connection_options`, receives them as a
`ConnectionOptions`, and runs in `asyncio_run`, within ``async with connected(options) as client``.
"""

from __future__ import annotations

import logging
import sys
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from ._output import YELLOW, styled, use_color

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator

    from kubeproto.requests import AllNamespaces
    from kubeproto_runtime import Client
    from kubeproto_runtime.client import ConnectOptions

T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., Any]")

# A person waits for a command. Two retries are enough for a connection that the server has closed meanwhile;
# a client's four would take three seconds to report that nothing listens on a port.
_MAX_RETRIES: Final = 2
_TIMEOUT: Final = 60.0


class ConnectionOptions(NamedTuple):
    """The server, the user and the namespace of a command line."""

    kubeconfig: str | None = None
    context: str | None = None
    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False
    impersonated: str | None = None
    groups: tuple[str, ...] = ()
    uid: str | None = None
    request_timeout: float = _TIMEOUT
    server: str | None = None
    token: str | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        # Tracebacks may print variables. A URL may have a user and a password before an @, and a token in its
        # query.
        server = self.server.rpartition("@")[2].partition("?")[0] if self.server else None
        redacted = self._replace(token="…" if self.token else None, server=server)
        return f"ConnectionOptions{tuple(redacted)}"

    @property
    def parameters(self) -> ConnectOptions:
        """The parameters of `connect` and similar functions."""
        from kubeproto.config import Impersonation

        impersonation = Impersonation(user=self.impersonated or "", uid=self.uid or "", groups=self.groups)
        return {
            "kubeconfig": self.kubeconfig or "",
            "context": self.context or "",
            "cluster": self.cluster or "",
            "user": self.user or "",
            "namespace": self.namespace or "",
            "impersonate": impersonation if impersonation.user else "",
            "server": self.server or "",
            "token": self.token or "",
            "insecure": self.insecure,
        }

    @property
    def arguments(self) -> list[str]:
        """The options as arguments of another process."""
        values = {
            "--kubeconfig": self.kubeconfig, "--context": self.context, "--cluster": self.cluster,
            "--user": self.user, "--namespace": self.namespace, "--as": self.impersonated,
            "--as-uid": self.uid, "--server": self.server, "--token": self.token,
        }  # fmt: skip
        arguments: list[str] = []
        for option, value in values.items():
            arguments += [option, value] if value else []
        for group in self.groups:
            arguments += ["--as-group", group]
        return [*arguments, "--insecure-skip-tls-verify"] if self.insecure else arguments

    @property
    def scope(self) -> str | AllNamespaces:
        """The namespace to read, or all of them; empty for the namespace of the context."""
        if self.all_namespaces:
            from kubeproto import ALL

            return ALL
        return self.namespace or ""


def seconds(text: str) -> float:
    """Parse a duration in kubectl's form: ``90s``, ``1m30s``, or a number of seconds."""
    try:
        return float(text)
    except ValueError:
        pass
    from kubeproto import Duration

    try:
        return Duration.parse(text).seconds
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a duration: expected 30, 30s or 1m30s") from None


def connection_options(
    *, all_namespaces: bool = False, namespace: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add kubectl's connection options to a command, which receives them as its argument `connection`.

    `all_namespaces` adds ``-A``; without `namespace`, there is no ``-n``, for cluster-scoped objects.
    """
    options = list(_COMMON)
    if namespace:
        options.insert(0, _NAMESPACE)
    if all_namespaces:
        options.insert(1, _ALL_NAMESPACES)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(**arguments: Any) -> Any:
            names = [name for name in ConnectionOptions._fields if name in arguments]
            connection = ConnectionOptions(**{name: arguments.pop(name) for name in names})
            if connection.namespace and connection.all_namespaces:
                raise click.UsageError("--namespace and --all-namespaces are mutually exclusive")
            return function(connection=connection, **arguments)

        for option in reversed(options):
            wrapper = option(wrapper)
        return wrapper

    return decorate


_NAMESPACE: Final = click.option(
    "--namespace", "-n", metavar="NAME", help="The namespace; that of the context by default."
)
_ALL_NAMESPACES: Final = click.option("--all-namespaces", "-A", is_flag=True, help="All namespaces.")
_COMMON: Final = (
    click.option(
        "--kubeconfig", type=click.Path(), metavar="FILE",
        help="The kubeconfig, in place of $KUBECONFIG and ~/.kube/config.",
    ),
    click.option("--context", metavar="NAME", help="The context of the kubeconfig."),
    click.option("--cluster", metavar="NAME", help="The cluster of the kubeconfig."),
    click.option("--user", metavar="NAME", help="The user of the kubeconfig."),
    click.option(
        "--server", "-s", metavar="URL",
        help="The server's URL, in place of the cluster's; needs no kubeconfig.",
    ),
    click.option(
        "--token", metavar="TOKEN",
        help="The token for the server, in place of the user's. Other users see it in the list of processes.",
    ),
    click.option(
        "--insecure-skip-tls-verify", "insecure", is_flag=True,
        help="Do not verify the server's certificate: anybody on the network can read everything.",
    ),
    click.option("--as", "impersonated", metavar="USER", help="Act as this user."),
    click.option("--as-group", "groups", metavar="GROUP", multiple=True, help="With --as: in this group."),
    click.option("--as-uid", "uid", metavar="UID", help="With --as: with this uid."),
    click.option(
        "--request-timeout", type=seconds, default=_TIMEOUT, metavar="DURATION",
        help="The maximum duration of a request, such as 30s; 60s by default.",
    ),
)  # fmt: skip


@asynccontextmanager
async def connected(options: ConnectionOptions, *, warnings: int = logging.WARNING) -> AsyncGenerator[Client]:
    """Connect with the options. Log records of at least the level `warnings` go to standard error."""
    from kubeproto.wire import RetryPolicy
    from kubeproto_runtime import connect

    with warnings_to_stderr(warnings):
        async with connect(
            client={
                "retries": RetryPolicy(max_retries=_MAX_RETRIES),
                "timeout": options.request_timeout or None,
            },
            **options.parameters,
        ) as client:
            yield client


def asyncio_run(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Run the asynchronous part of a command. Ctrl-C cancels it, so that connections are closed."""
    import asyncio

    return asyncio.run(function(*args))


class _WarningHandler(logging.Handler):
    """Writes warnings as kubectl does: ``Warning: …``."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line."""
        line = " ".join(record.getMessage().splitlines())
        print(f"{styled('Warning:', YELLOW, use_color(sys.stderr))} {line}", file=sys.stderr)  # noqa: T201


@contextmanager
def warnings_to_stderr(level: int = logging.WARNING) -> Generator[None]:
    """Write the log records of the project to standard error, as warnings."""
    log, handler = logging.getLogger("kubeproto"), _WarningHandler(level)
    propagated, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagated

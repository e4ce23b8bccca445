"""`connect()`: a client with the configuration of kubectl, its credentials and an installed transport."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypedDict, Unpack

from kubeproto.config import Config, ConfigError, Impersonation, Overrides, PluginPolicy

from ..credentials._authorized_transport import AuthorizedTransport, Opener
from ..credentials._files import LocatedConfig, find_config, write_tokens
from ..tasks._event_loop import event_loop
from ._client import Client
from ._installed import entry_points, load

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
    from types import TracebackType

    from kubeproto import Headers
    from kubeproto.config import credentials as c
    from kubeproto.control import Rate
    from kubeproto.wire import RetryPolicy

    from ..calls._body_limits import BodyLimits

TRANSPORTS: Final = "kubeproto.transports"
BLOCKING_TRANSPORTS: Final = "kubeproto.blocking_transports"

# In order of preference: the transport for the event loop, then httpx, which many programs have anyway.
PREFERRED: Final = {"asyncio": ("asyncio", "httpx"), "trio": ("trio", "httpx"), "threads": ("httpx",)}

_log: Final = logging.getLogger("kubeproto.connect")


class ConnectOptions(TypedDict, total=False):
    """The options of `connect` that override settings of the files."""

    kubeconfig: str | os.PathLike[str]
    context: str
    cluster: str
    user: str
    namespace: str
    user_agent: str
    impersonate: str | Impersonation
    headers: Mapping[str, str] | Headers
    plugins: PluginPolicy
    server: str
    insecure: bool
    token: str


class ClientOptions(TypedDict, total=False):
    """The parameters of a client besides its transport and namespace."""

    retries: RetryPolicy
    timeout: float | None
    rate: Rate | None
    limits: BodyLimits


def connect(
    *,
    config: Config | None = None,
    transport: str | Opener | None = None,
    client: ClientOptions | None = None,
    **overrides: Unpack[ConnectOptions],
) -> AbstractAsyncContextManager[Client]:
    """Connect to the cluster of the kubeconfig, or to that of this pod: ``async with connect() as client:``.

    `kubeconfig` is the path of the only file to read. `context`, `cluster`, `user` and `namespace` select
    entries of the files. `server`, `insecure` (its certificate is not checked) and `token` override the
    files; with a `server` no file is needed. `impersonate` acts as another user. `headers` and `user_agent`
    are sent with every request. `plugins` restricts the programs that are started for credentials. With a
    `config` no files are read. `transport` is the name of an installed transport, or a function that returns
    a transport for a `Connection`; the default is the preferred transport for the running event loop.
    `client` has further parameters of `Client`.
    """
    # Converted here, so that no later frame has a token in a variable, which tracebacks may print.
    return ConnectContext(_connected(config, transport, client, overrides_of(**overrides), tuple(overrides)))


class ConnectContext(AbstractAsyncContextManager[Client]):
    """The result of `connect`, whose context is a client. Any other use is an error."""

    def __init__(self, connection: AbstractAsyncContextManager[Client]) -> None:
        self._connection = connection

    async def __aenter__(self) -> Client:
        return await self._connection.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._connection.__aexit__(kind, error, trace)

    if not TYPE_CHECKING:  # type checkers find these mistakes by themselves

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(_CONNECT_MISUSE.format(f"has no {name!r}"))

        def __await__(self) -> NoReturn:
            raise TypeError(_CONNECT_MISUSE.format("cannot be awaited"))

        def __enter__(self) -> NoReturn:
            raise TypeError(_CONNECT_MISUSE.format("needs `async with`, or use connect_blocking()"))

        def __exit__(self, *exc_info: object) -> None:
            pass


_CONNECT_MISUSE: Final = (
    "connect() itself {}: write `async with connect() as client:` and use the client inside"
)


@asynccontextmanager
async def _connected(
    config: Config | None,
    transport: str | Opener | None,
    client: ClientOptions | None,
    overrides: Overrides,
    override_names: tuple[str, ...],
) -> AsyncGenerator[Client]:
    opener = find_opener(transport, TRANSPORTS, event_loop())
    source = resolve_config(config, overrides, override_names)
    async with AuthorizedTransport(source.config, opener, save_tokens=token_writer(source)) as authorized:
        yield Client(authorized, namespace=source.config.namespace, **(client or {}))


def resolve_config(
    config: Config | None, overrides: Overrides, override_names: tuple[str, ...]
) -> LocatedConfig:
    """Return the argument `config`, or the configuration from files. Log its warnings."""
    if config is None:
        source = find_config(overrides)
    elif override_names:
        raise ConfigError(f"{', '.join(override_names)} cannot be combined with config: set them in it")
    else:
        source = LocatedConfig(config)
    for warning in source.config.warnings:
        _log.warning("%s: %s", source.config.source or "the configuration", warning)
    return source


def overrides_of(
    *,
    kubeconfig: str | os.PathLike[str] = "",
    context: str = "",
    cluster: str = "",
    user: str = "",
    namespace: str = "",
    user_agent: str = "",
    impersonate: str | Impersonation = "",
    headers: Mapping[str, str] | Headers = (),
    plugins: PluginPolicy | None = None,
    server: str = "",
    insecure: bool = False,
    token: str = "",
) -> Overrides:
    """Convert options of `connect` to `Overrides`."""
    if isinstance(impersonate, str):
        impersonation = Impersonation(user=impersonate) if impersonate else None
    else:
        impersonation = impersonate
    return Overrides(
        path=os.path.expanduser(os.fspath(kubeconfig)),
        context=context,
        cluster=cluster,
        user=user,
        namespace=namespace,
        impersonation=impersonation,
        user_agent=user_agent,
        headers=headers if isinstance(headers, tuple) else tuple(headers.items()),
        policy=plugins or PluginPolicy(),
        server=server,
        insecure=insecure,
        token=token,
    )


def token_writer(source: LocatedConfig) -> Callable[[c.SaveTokens], None] | None:
    """Return a function that writes renewed tokens to the file of the login; None without such a file."""
    if source.login is None:
        return None
    login = source.login

    def save(tokens: c.SaveTokens) -> None:
        nonlocal login
        login = write_tokens(login, tokens)

    return save


def find_opener(
    transport: str | Callable[..., Any] | None,
    group: str,
    event_loop: str,
) -> Any:
    """Return the function that opens a transport for a `Connection`: the argument, or an entry point."""
    if transport is not None and not isinstance(transport, str):
        return transport
    names = PREFERRED[event_loop] if transport is None else (transport,)
    installed = entry_points(group, among=names)
    if isinstance(transport, str) and transport not in installed:
        names_text = ", ".join(sorted(installed)) or "none"
        raise ConfigError(f"the transport {transport!r} is not installed; installed: {names_text}")
    if transport in PREFERRED and transport != event_loop:
        raise ConfigError(
            f"the transport {transport!r} does not support {event_loop}, the running event loop"
        )
    problem = "it is not installed"
    for name in names:
        if name not in installed:
            continue
        try:
            return load(installed[name])
        except ImportError as error:  # the package is installed, but its dependency is not
            problem = str(error)
    raise ConfigError(f"there is no transport for {event_loop} ({problem}): {_advice(names)}")


def _advice(names: Iterable[str]) -> str:
    return " or ".join(f"pip install 'kubeproto[{name}]'" for name in names)

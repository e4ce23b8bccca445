"""`connect()`: a client from the configuration that kubectl would use, with credentials and a transport."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypedDict, Unpack

from kubeproto.config import Config, ConfigError, Impersonation, Overrides, PluginPolicy

from ..credentials._authorized import Authorized, Opener
from ..credentials._files import LocatedConfig, find, keep
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

    from ..calls._bodies import BodyLimits

TRANSPORTS: Final = "kubeproto.transports"
BLOCKING_TRANSPORTS: Final = "kubeproto.blocking_transports"

# The best one first: the transport for the event loop, then httpx, which many programs have anyway.
PREFERRED: Final = {"asyncio": ("asyncio", "httpx"), "trio": ("trio", "httpx"), "threads": ("httpx",)}

_log: Final = logging.getLogger("kubeproto.connect")


class ConnectOptions(TypedDict, total=False):
    """Settings that override those in the files: see `connect`."""

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
    **wanted: Unpack[ConnectOptions],
) -> AbstractAsyncContextManager[Client]:
    """Connect to the cluster that kubectl would use, or to that of this pod.

    ``async with connect() as client:`` gives the client, until the context is left.

    `kubeconfig` is a path that replaces all other files; `context`, `cluster`, `user` and `namespace` select
    from them; `server`, `insecure` (its certificate is not checked) and `token` override them, and with a
    `server` no file is needed; `impersonate` acts as another user; `headers` and `user_agent` go with every
    request; `plugins` says which programs may be started for credentials. With a `config` no files are read.
    `transport` is the name of an installed one, or a function that makes one from a `Connection`; by default
    the best that is installed for the running event loop. `client` has further parameters of `Client`.
    """
    # At once, so that no later frame has a token in a variable, which tracebacks may print.
    return NotEntered(_connected(config, transport, client, overrides_of(**wanted), tuple(wanted)))


class NotEntered(AbstractAsyncContextManager[Client]):
    """What `connect` returns: it becomes a client when it is entered. Using it before that is an error."""

    def __init__(self, entered: AbstractAsyncContextManager[Client]) -> None:
        self._entered = entered

    async def __aenter__(self) -> Client:
        return await self._entered.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._entered.__aexit__(kind, error, trace)

    if not TYPE_CHECKING:  # the checkers find these mistakes by themselves

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(_NOT_ENTERED.format(f"has no {name!r}"))

        def __await__(self) -> NoReturn:
            raise TypeError(_NOT_ENTERED.format("cannot be awaited"))

        def __enter__(self) -> NoReturn:
            raise TypeError(_NOT_ENTERED.format("needs `async with`, or use connect_blocking()"))

        def __exit__(self, *exc_info: object) -> None:
            pass


_NOT_ENTERED: Final = "connect() itself {}: write `async with connect() as client:` and use the client inside"


@asynccontextmanager
async def _connected(
    config: Config | None,
    transport: str | Opener | None,
    client: ClientOptions | None,
    overrides: Overrides,
    wanted: tuple[str, ...],
) -> AsyncGenerator[Client]:
    opener = find_opener(transport, TRANSPORTS, event_loop())
    found = found_by(config, overrides, wanted)
    async with Authorized(found.config, opener, keep=keeping(found)) as authorized:
        yield Client(authorized, namespace=found.config.namespace, **(client or {}))


def found_by(config: Config | None, overrides: Overrides, wanted: tuple[str, ...]) -> LocatedConfig:
    """Return the configuration that was given or is found, and log its warnings."""
    if config is None:
        found = find(overrides)
    elif wanted:
        raise ConfigError(
            f"a config leaves nothing to be looked for: {', '.join(wanted)} make no sense beside"
        )
    else:
        found = LocatedConfig(config)
    for warning in found.config.warnings:
        _log.warning("%s: %s", found.config.source or "the configuration", warning)
    return found


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


def keeping(found: LocatedConfig) -> Callable[[c.SaveTokens], None] | None:
    """Return the function that writes renewed tokens back to their file; None if they are from no file."""
    if found.login is None:
        return None
    login = found.login

    def put(tokens: c.SaveTokens) -> None:
        nonlocal login
        login = keep(login, tokens)

    return put


def find_opener(
    wanted: str | Callable[..., Any] | None,
    group: str,
    runs_on: str,
) -> Any:
    """Return the function that makes a transport from a `Connection`: as given, by its name, or the best."""
    if wanted is not None and not isinstance(wanted, str):
        return wanted
    names = PREFERRED[runs_on] if wanted is None else (wanted,)
    there = entry_points(group, among=names)
    if isinstance(wanted, str) and wanted not in there:
        raise ConfigError(f"there is no transport {wanted!r}; there is {', '.join(sorted(there)) or 'none'}")
    if wanted in PREFERRED and wanted != runs_on:
        raise ConfigError(f"the transport {wanted!r} does not run on {runs_on}, which runs here")
    problem = "it is not installed"
    for name in names:
        if name not in there:
            continue
        try:
            return load(there[name])
        except ImportError as error:  # the package is installed, but its dependency is not
            problem = str(error)
    raise ConfigError(f"there is no transport for {runs_on} ({problem}): {_advice(names)}")


def _advice(names: Iterable[str]) -> str:
    return " or ".join(f"pip install 'kubeproto[{name}]'" for name in names)

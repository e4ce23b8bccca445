"""`diagnose`: the checks in order; a failed check ends those that depend on it."""

from __future__ import annotations

import os
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from kubeproto import ApiError, RemoteProtocolError, TransportError
from kubeproto.config import ConcealedVariables, ConfigError, CredentialsError
from kubeproto.wire import NO_RETRIES, printable

from ..client import Client
from ..client._connect import TRANSPORTS, find_opener, overrides_of, token_writer
from ..credentials import AuthorizedTransport
from ..tasks._event_loop import event_loop
from ._check import failed, skipped
from ._configuration import examine_configuration
from ._credentials import examine_credentials
from ._failures import explain_failure
from ._server import examine_account, examine_namespace, examine_permissions, examine_server
from ._server_certificate import read_server_certificate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from kubeproto.config import Overrides

    from .._access import RequiredAccess
    from ..client._connect import ConnectOptions
    from ..credentials._authorized_transport import Opener
    from ..credentials._files import LocatedConfig
    from ._check import Check

_TIMEOUT: Final = 10.0


class DiagnoseOptions(TypedDict, total=False):
    """Options of `diagnose` besides those of `connect`.

    `needed` are the permissions that the account must have, as an operator's tests recorded them. `timeout`
    is for each request. `notify` is called with each check when it is complete. `transport` is as in
    `connect`. The server's clock is compared with `wall_clock`.
    """

    needed: Iterable[RequiredAccess]
    timeout: float
    notify: Callable[[Check], object]
    transport: str | Opener | None
    wall_clock: Callable[[], float]


async def diagnose(
    options: DiagnoseOptions | None = None, **connect_options: Unpack[ConnectOptions]
) -> tuple[Check, ...]:
    """Check each step of a connection to a server, in order, and return the checks.

    They cover the files of the configuration, its credentials, the connection, the server, the account and
    its permissions. Problems are not raised. The only written objects are reviews, which no server stores.
    The parameters of `connect` choose the configuration; see `DiagnoseOptions` for the others.
    """
    options = options or {}
    notify = options.get("notify", _ignore)
    checks: list[Check] = []
    async with aclosing(
        _checks(options, overrides_of(**connect_options))
    ) as results:  # otherwise an error in `notify` would leave a connection open
        async for check in results:
            checks.append(check)
            notify(check)
    return tuple(checks)


def _ignore(check: Check) -> None:
    pass


async def _checks(options: DiagnoseOptions, overrides: Overrides) -> AsyncGenerator[Check]:
    wall_clock = options.get("wall_clock", time.time)
    steps = examine_configuration(overrides, ConcealedVariables(os.environ))
    config: LocatedConfig | None = None
    try:
        while True:
            yield next(steps)
    except StopIteration as end:
        config = end.value
    if config is None:
        return
    credentials_ok = True
    for check in examine_credentials(config.config, wall_clock()):
        credentials_ok = credentials_ok and check.outcome != "failed"
        yield check
    try:
        opener = find_opener(options.get("transport"), TRANSPORTS, event_loop())
    except ConfigError as error:
        yield failed("transport", str(error), "install one of these")
        return
    async with aclosing(_server_checks(config, opener, options, wall_clock)) as server_checks:
        async for check in server_checks:
            if (
                credentials_ok or check.name != "credentials"
            ):  # otherwise the same problem would be reported twice
                yield check


async def _server_checks(
    source: LocatedConfig, opener: Any, options: DiagnoseOptions, wall_clock: Callable[[], float]
) -> AsyncGenerator[Check]:
    """Run the checks that need the server."""
    config = source.config
    async with AuthorizedTransport(config, opener, save_tokens=token_writer(source)) as authorized:
        client = Client(
            authorized,
            namespace=config.namespace,
            retries=NO_RETRIES,
            timeout=options.get("timeout", _TIMEOUT),
        )
        steps = (
            examine_server(client, config, wall_clock),
            examine_account(client, config),
            examine_namespace(client, config.namespace),
            examine_permissions(client, config.namespace, options.get("needed", ())),
        )
        for step in steps:
            stop = False
            try:
                async for check in step:
                    stop = check.outcome == "failed" and check.name in ("server", "account")
                    yield check
            except (CredentialsError, ConfigError) as error:
                yield failed("credentials", str(error), _plugin_advice(config.identity.plugin is not None))
                return
            except TransportError as error:
                problem, remedy = explain_failure(
                    error, config.connection, await read_server_certificate(config.connection)
                )
                yield failed("connection", problem, remedy)
                return
            except (ApiError, RemoteProtocolError) as error:
                yield skipped("server", f"a check was impossible: {printable(str(error), 200)}")
            if stop:
                return


def _plugin_advice(plugin: bool) -> str:
    if plugin:
        return "run the plugin's command yourself: its standard error is above"
    return "log in again with the tool of the cluster's provider, or get the kubeconfig again"

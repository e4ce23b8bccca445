"""Which errors are the outcome of a request: for watches, elections and event recording, which retry alone.

An outcome is something to wait out: the server refused, the connection broke, a credential plugin failed. Any
other error is a bug on this side and must come out. The three used to keep a list each, and a plugin that
failed for a second ended those whose list was the shorter one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from kubeproto import ApiError, RemoteProtocolError, TransportError
from kubeproto.config import ConfigError, CredentialsError
from kubeproto.wire import Refused, Unreachable, classify

from ._metered import LeaseLost

if TYPE_CHECKING:
    from kubeproto.wire import Outcome

OutcomeError: TypeAlias = (
    ApiError | TransportError | RemoteProtocolError | ConfigError | CredentialsError | LeaseLost
)

OUTCOMES: Final = (ApiError, TransportError, RemoteProtocolError, ConfigError, CredentialsError, LeaseLost)


def outcome_of(error: OutcomeError) -> Outcome:
    """Return what an error means to a machine that decides when to retry."""
    match error:
        case ConfigError() | CredentialsError():
            # A plugin that fails or a file that is half written: people fix that, as they fix a 401.
            return Refused(" ".join(str(error).split()), 401)
        case LeaseLost():
            return Unreachable(str(error))  # nothing was sent
        case _:
            return classify(error)

"""Which errors are the outcome of a request: for watches, elections and event recording.

An outcome is something to retry after: the server refused, the connection broke, a credential plugin failed.
Any other error is a bug on this side and must propagate. One list serves all three: with a shorter list of
its own, one of them would end when a plugin fails for a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from kubeproto import ApiError, RemoteProtocolError, TransportError
from kubeproto.config import ConfigError, CredentialsError
from kubeproto.wire import Refused, Unreachable, classify

from ._outgoing import LeaseLost

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
            # A plugin that fails, or a half-written file: somebody has to fix that, as for a 401.
            return Refused(" ".join(str(error).split()), 401)
        case LeaseLost():
            return Unreachable(str(error))  # nothing was sent
        case _:
            return classify(error)

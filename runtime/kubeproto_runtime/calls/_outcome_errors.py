"""The errors that are outcomes of a request: for watches, elections and event recording.

They are retried after an outcome: the server refused, the connection broke, a credential plugin failed. Any
other error is a bug on this side and must propagate. All three share one list: with a shorter list, a watch
would end when a plugin fails for a second.
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
    """Return the outcome for a machine that decides when to retry."""
    match error:
        case ConfigError() | CredentialsError():
            # A failing plugin or an incomplete file: a person has to correct it, as after a 401.
            return Refused(" ".join(str(error).split()), 401)
        case LeaseLost():
            return Unreachable(str(error))  # nothing was sent
        case _:
            return classify(error)

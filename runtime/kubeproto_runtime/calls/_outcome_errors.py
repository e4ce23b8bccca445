"""The errors that are outcomes of a request, after which watches, elections and event recording continue.

Examples are a refusal, a broken connection and a failing credential plugin. Any other error is a bug of this
program and must propagate. All callers share one list, because a watch with a shorter list would end when a
plugin fails for a second.
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
            # A failing plugin or an incomplete file: a person must correct it, as after a 401.
            return Refused(" ".join(str(error).split()), 401)
        case LeaseLost():
            return Unreachable(str(error))  # nothing was outgoing
        case _:
            return classify(error)

"""Authentication and authorization: from the headers of a request to a user, and what the user may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto.wire import Head

from .._rejections import Rejection, failure, forbidden_for
from .._state import ServerState
from ..reading._query import Query
from ._account_tokens import ISSUER, BadToken, is_ours, verify_token
from ._attributes import Attributes, denied, read_attributes
from ._escalation import check_escalation
from ._impersonated_users import Impersonator, impersonates, wanted_user
from ._rbac import Decision, Rbac
from ._users import NOBODY, User, authenticated

Mode = Literal["AlwaysAllow", "RBAC"]
# The user of a request without credentials where every request is allowed.
_ANYBODY: Final = User("sim", groups=("system:authenticated",))
_ALLOWED: Final = Decision(allowed=True)


class Access:
    """Authenticates and authorizes the requests to a cluster."""

    def __init__(self, state: ServerState, mode: Mode, tokens: Mapping[str, User]) -> None:
        self.state = state
        self.mode: Mode = mode
        self.tokens = dict(tokens)
        self.rbac = Rbac(state)
        self._impersonation = Impersonator(self.decide)

    def decide(self, user: User, asked: Attributes) -> Decision:
        """Return whether a user may do something."""
        return _ALLOWED if self.mode == "AlwaysAllow" else self.rbac.decide(user, asked)

    def admit(
        self, head: Head, headers: Mapping[str, str], path: str, query: Query, known: User | None
    ) -> Caller:
        """Return who makes a request, if it is allowed; or 401, or 403.

        `headers` are those of the request by their lower-case names; `known` comes from the transport.
        """
        user = authenticated(known) if known is not None else self._authenticate(head, headers)
        wanted = wanted_user(head.headers) if impersonates(headers) else None
        if wanted is None and self.mode == "AlwaysAllow":
            return Caller(self, user, None)
        asked = read_attributes(head.method, path, query)
        if wanted is not None:
            user = self._impersonation.act_as(user, wanted, asked)
        decision = self.decide(user, asked)
        if not decision.allowed:
            raise denied(asked, user.name, decision.reason)
        return Caller(self, user, asked)

    def _authenticate(self, head: Head, headers: Mapping[str, str]) -> User:
        token = _bearer_token(head.headers) if "authorization" in headers else None
        if token is None:
            return _ANYBODY if self.mode == "AlwaysAllow" else NOBODY
        user = self.user_of(token)
        if user is None and self.mode == "AlwaysAllow" and not self.tokens and not is_ours(token):
            return _ANYBODY
        if user is None:
            raise Rejection(failure(401, "Unauthorized"))
        return user

    def user_of(self, token: str) -> User | None:
        """Return the user of a token that is valid for this cluster; None for any other."""
        try:
            return self.review_token(token, [ISSUER])[0]
        except BadToken:
            return None

    def review_token(self, token: str, audiences: list[str]) -> tuple[User, list[str]]:
        """Return the user of a token, and the audiences for which it is valid; or `BadToken`."""
        if (user := self.tokens.get(token)) is not None:
            return authenticated(user), [ISSUER] if ISSUER in audiences else []
        if not is_ours(token):
            raise BadToken("invalid bearer token")
        user, meant = verify_token(self.state, token, audiences)
        return authenticated(user), meant


class Caller(Struct, frozen=True):
    """A user, and what their request is about; None where that was not asked, since all is allowed."""

    access: Access
    user: User
    asked: Attributes | None

    def check_creation(self) -> None:
        """Refuse to create by a patch or an update, unless the caller may create as well."""
        asked = self.asked
        if asked is None or self.access.mode == "AlwaysAllow" or asked.verb not in ("patch", "update"):
            return
        decision = self.access.decide(self.user, msgspec.structs.replace(asked, verb="create"))
        if not decision.allowed:
            raise forbidden_for(asked.resource, asked.group, asked.name, decision.reason)

    def check_escalation(self, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        """Refuse a role or binding that grants more than the caller holds."""
        if self.asked is not None and self.access.mode == "RBAC":
            check_escalation(self.access.rbac, self.user, self.asked, obj, old)


def _bearer_token(headers: tuple[tuple[str, str], ...]) -> str | None:
    """Return the bearer token of a request; None if there is none."""
    for name, value in headers:
        if name.lower() == "authorization":
            scheme, _, token = value.strip().partition(" ")
            return token.strip() if scheme.lower() == "bearer" else None
    return None

"""`Authorizer`: determines the user of a request, and whether the user may make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto.wire import RawRequest

from .._rejections import Rejection, failure, forbidden_for
from .._state import ServerState
from ..reading._query import Query
from ._account_tokens import ISSUER, InvalidToken, is_ours, verify_token
from ._attributes import Attributes, denied, read_attributes
from ._escalation import check_escalation
from ._impersonated_users import Impersonator, impersonated_user, impersonates
from ._rbac import Decision, Rbac
from ._users import NOBODY, User, authenticated

Mode = Literal["AlwaysAllow", "RBAC"]
# The user of a request without credentials where every request is allowed.
_ANYBODY: Final = User("sim", groups=("system:authenticated",))
_ALLOWED: Final = Decision(allowed=True)


class Authorizer:
    """Authenticates and authorizes the requests to a cluster."""

    def __init__(self, state: ServerState, mode: Mode, tokens: Mapping[str, User]) -> None:
        self.state = state
        self.mode: Mode = mode
        self.tokens = dict(tokens)
        self.rbac = Rbac(state)
        self._impersonation = Impersonator(self.decide)

    def decide(self, user: User, attributes: Attributes) -> Decision:
        """Return whether a user may make a request."""
        return _ALLOWED if self.mode == "AlwaysAllow" else self.rbac.decide(user, attributes)

    def admit(
        self,
        request: RawRequest,
        headers: Mapping[str, str],
        path: str,
        query: Query,
        transport_user: User | None,
    ) -> Caller:
        """Return the caller of an allowed request, or refuse it with 401 or 403.

        `headers` are those of the request by their lower-case names.
        """
        user = (
            authenticated(transport_user)
            if transport_user is not None
            else self._authenticate(request, headers)
        )
        target = impersonated_user(request.headers) if impersonates(headers) else None
        if target is None and self.mode == "AlwaysAllow":
            return Caller(self, user, None)
        attributes = read_attributes(request.method, path, query)
        if target is not None:
            user = self._impersonation.act_as(user, target, attributes)
        decision = self.decide(user, attributes)
        if not decision.allowed:
            raise denied(attributes, user.name, decision.reason)
        return Caller(self, user, attributes)

    def _authenticate(self, request: RawRequest, headers: Mapping[str, str]) -> User:
        token = _bearer_token(request.headers) if "authorization" in headers else None
        if token is None:
            return _ANYBODY if self.mode == "AlwaysAllow" else NOBODY
        user = self.user_of(token)
        if user is None and self.mode == "AlwaysAllow" and not self.tokens and not is_ours(token):
            return _ANYBODY
        if user is None:
            raise Rejection(failure(401, "Unauthorized"))
        return user

    def user_of(self, token: str) -> User | None:
        """Return the user of a token for this cluster; None if it is invalid."""
        try:
            return self.review_token(token, [ISSUER])[0]
        except InvalidToken:
            return None

    def review_token(self, token: str, audiences: list[str]) -> tuple[User, list[str]]:
        """Return the user of a token and its valid audiences, or raise `InvalidToken`."""
        if (user := self.tokens.get(token)) is not None:
            return authenticated(user), [ISSUER] if ISSUER in audiences else []
        if not is_ours(token):
            raise InvalidToken("invalid bearer token")
        user, valid_audiences = verify_token(self.state, token, audiences)
        return authenticated(user), valid_audiences


class Caller(Struct, frozen=True):
    """A user and the attributes of the request, which are None if every request is allowed."""

    access: Authorizer
    user: User
    attributes: Attributes | None

    def authorize(self, check: Mapping[str, str]) -> tuple[bool, str]:
        """Decide a check of a CEL expression: whether it is allowed, and the reason."""
        user = self.user
        if account := check.get("serviceAccount"):
            namespace, _, name = account.partition("/")
            user = authenticated(User(f"system:serviceaccount:{namespace}:{name}"))
        if "path" in check:
            attributes = Attributes(verb=check["verb"], path=check["path"], is_resource_request=False)
        else:
            attributes = Attributes(
                verb=check["verb"], group=check.get("group", ""), resource=check.get("resource", ""),
                subresource=check.get("subresource", ""), name=check.get("name", ""),
                namespace=check.get("namespace", ""),
            )  # fmt: skip
        decision = self.access.decide(user, attributes)
        return decision.allowed, decision.reason

    def check_creation(self) -> None:
        """Refuse a creation by a patch or an update, unless the caller may also create."""
        attributes = self.attributes
        if (
            attributes is None
            or self.access.mode == "AlwaysAllow"
            or attributes.verb not in ("patch", "update")
        ):
            return
        decision = self.access.decide(self.user, msgspec.structs.replace(attributes, verb="create"))
        if not decision.allowed:
            raise forbidden_for(attributes.resource, attributes.group, attributes.name, decision.reason)

    def check_escalation(self, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        """Refuse a role or binding that grants more than the caller holds."""
        if self.attributes is not None and self.access.mode == "RBAC":
            check_escalation(self.access.rbac, self.user, self.attributes, obj, old)


def _bearer_token(headers: tuple[tuple[str, str], ...]) -> str | None:
    """Return the bearer token of a request; None if there is none."""
    for name, value in headers:
        if name.lower() == "authorization":
            scheme, _, token = value.strip().partition(" ")
            return token.strip() if scheme.lower() == "bearer" else None
    return None

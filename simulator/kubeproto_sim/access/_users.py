"""`User`, and the names and groups of service accounts."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Struct

ANONYMOUS: Final = "system:anonymous"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"
_ACCOUNT: Final = re.compile(
    r"system:serviceaccount:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?):([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)"
)


class User(Struct, frozen=True):
    """The user who makes a request, as authentication determines it.

    ``User("alice", groups=("dev",))``. A user named like a service account needs no groups: they follow from
    the name. ``system:authenticated`` is added when the user makes a request.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}

    @property
    def info(self) -> dict[str, Any]:
        """Return the user in the form of reviews."""
        info: dict[str, Any] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {name: list(values) for name, values in sorted(self.extra.items())}
        return info


NOBODY: Final = User(ANONYMOUS, groups=(UNAUTHENTICATED,))


def account_of(username: str) -> tuple[str, str] | None:
    """Return the namespace and name of the service account of a user name; None for other users."""
    match = _ACCOUNT.fullmatch(username)
    return (match[1], match[2]) if match else None


def account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of every service account of a namespace."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def authenticated(user: User) -> User:
    """Return the user with the groups of an authenticated user."""
    if user.name == ANONYMOUS:
        return user
    groups = user.groups
    if not groups and (account := account_of(user.name)):
        groups = account_groups(account[0])
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return User(user.name, user.uid, groups, user.extra)
    return User(user.name, user.uid, (*groups, AUTHENTICATED), user.extra)

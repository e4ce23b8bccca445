"""Impersonation: the Impersonate headers, and the permissions to send them.

A server first tries the constrained modes (verbs such as ``impersonate:user-info`` together with
``impersonate-on:user-info:get``, on by default since Kubernetes 1.36), then the old verb ``impersonate``. The
response is the refusal of the first mode.
https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from .._rejections import Rejection, bad_request
from ..storage._json_values import quoted
from ._attributes import Attributes, denied
from ._rbac import Decision
from ._users import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups, account_of

Decide = Callable[[User, Attributes], Decision]
_GROUP: Final = "authentication.k8s.io"
_NODE: Final = "system:node:"
_EXTRA: Final = "impersonate-extra-"
# With at least this many groups or values, a permission for all of them is checked first.
_MIN_FOR_WILDCARD: Final = 4


class ImpersonationTarget(Struct, frozen=True):
    """The user in the headers, without the groups that a server adds."""

    name: str
    uid: str
    groups: tuple[str, ...]
    extra: dict[str, list[str]]

    @property
    def has_only_name(self) -> bool:
        """Whether the headers name only a user."""
        return not (self.uid or self.groups or self.extra)


def impersonates(names: Iterable[str]) -> bool:
    """Return whether one of these lower-case names of headers requests impersonation."""
    for name in names:  # noqa: SIM110 - twice as fast as `any`, once for each request
        if name.startswith("impersonate-"):
            return True
    return False


def impersonated_user(headers: Sequence[tuple[str, str]]) -> ImpersonationTarget | None:
    """Return the effective user of a request; None without impersonation."""
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    has_attributes = False
    for header, value in headers:
        match header.lower():
            case "impersonate-user":
                name = name or value
            case "impersonate-uid":
                uid, has_attributes = uid or value, True
            case "impersonate-group":
                groups.append(value)
                has_attributes = True
            case key if key.startswith(_EXTRA):
                extra.setdefault(unquote(key.removeprefix(_EXTRA)), []).append(value)
                has_attributes = True
            case _:
                pass
    if name:
        return ImpersonationTarget(name, uid, tuple(groups), extra)
    if has_attributes:
        raise bad_request(f"requested {_go_user(uid, groups, extra)} without impersonating a user name")
    return None


def _go_user(uid: str, groups: list[str], extra: dict[str, list[str]]) -> str:
    """Return a user as Go's %#v prints it."""

    def strings(values: list[str]) -> str:
        return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"

    entries = ", ".join(
        f"{quoted(key)}:[]string{{{', '.join(map(quoted, extra[key]))}}}" for key in sorted(extra)
    )
    extra_text = f"map[string][]string{{{entries}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{strings(groups)}, Extra:{extra_text}}}'


class Impersonator:
    """Decides who may impersonate which user. It first tries the mode that was the last to allow a user."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._last: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def act_as(self, requestor: User, target: ImpersonationTarget, attributes: Attributes) -> User:
        """Return the effective user of a request, or raise the refusal of the first mode."""
        key = (requestor.name, requestor.uid, requestor.groups)
        modes = list(_modes(target))
        if (last_mode := self._last.get(key)) in modes:
            modes.remove(last_mode)
            modes.insert(0, last_mode)
        first_refusal: Rejection | None = None
        for mode in modes:
            try:
                user = self._try(mode, requestor, target, attributes)
            except Rejection as rejection:
                first_refusal = first_refusal or rejection
            else:
                self._last[key] = mode
                return user
        assert first_refusal is not None  # the old verb is always tried
        raise first_refusal

    def _try(self, mode: str, requestor: User, target: ImpersonationTarget, attributes: Attributes) -> User:
        if mode:
            self._require(
                requestor,
                msgspec.structs.replace(attributes, verb=f"impersonate-on:{mode}:{attributes.verb}"),
            )
        verb = f"impersonate:{mode}" if mode else "impersonate"
        group = _GROUP if mode else ""
        groups = target.groups
        identity = Attributes(verb=verb, group=group, resource="users", name=target.name)
        if mode == "arbitrary-node":
            node = target.name.removeprefix(_NODE)
            identity = msgspec.structs.replace(identity, resource="nodes", name=node)
            groups = ("system:nodes",)
        elif account := account_of(target.name):
            identity = msgspec.structs.replace(
                identity, resource="serviceaccounts", namespace=account[0], name=account[1]
            )
            groups = groups or account_groups(account[0])
        self._require(requestor, identity)
        if target.uid:
            self._require(requestor, Attributes(verb=verb, group=_GROUP, resource="uids", name=target.uid))
        self._check_groups(requestor, Attributes(verb=verb, group=group, resource="groups"), target, mode)
        self._check_extra(requestor, Attributes(verb=verb, group=_GROUP, resource="userextras"), target, mode)
        return User(target.name, target.uid, _with_authentication_group(target.name, groups), target.extra)

    def _check_groups(
        self, requestor: User, attributes: Attributes, target: ImpersonationTarget, mode: str
    ) -> None:
        if mode and "" in target.groups:
            raise denied(attributes, requestor.name, "impersonating the empty string group is not allowed")
        if mode and MASTERS in target.groups:
            masters = msgspec.structs.replace(attributes, name=MASTERS)
            raise denied(masters, requestor.name, "impersonating the system:masters group is not allowed")
        if mode and len(target.groups) >= _MIN_FOR_WILDCARD:
            all_groups = msgspec.structs.replace(attributes, name="*")
            if self._decide(requestor, all_groups).allowed:
                return
        for group in target.groups:
            self._require(requestor, msgspec.structs.replace(attributes, name=group))

    def _check_extra(
        self, requestor: User, attributes: Attributes, target: ImpersonationTarget, mode: str
    ) -> None:
        count = sum(map(len, target.extra.values()))
        if mode and count >= _MIN_FOR_WILDCARD:
            all_extra = msgspec.structs.replace(attributes, subresource="*", name="*")
            if self._decide(requestor, all_extra).allowed:
                return
        for key, values in target.extra.items():
            for value in values:
                if mode and not value:
                    problem = "impersonating the empty string value in extra is not allowed"
                    raise denied(attributes, requestor.name, problem)
                self._require(requestor, msgspec.structs.replace(attributes, subresource=key, name=value))

    def _require(self, requestor: User, attributes: Attributes) -> None:
        decision = self._decide(requestor, attributes)
        if not decision.allowed:
            raise denied(attributes, requestor.name, decision.reason)


def _modes(target: ImpersonationTarget) -> Iterator[str]:
    """Return the modes that apply to the user; the empty mode is the old verb."""
    is_node = target.name.startswith(_NODE) and target.name != _NODE
    is_account = account_of(target.name) is not None
    if is_node or is_account:
        if target.has_only_name:
            yield "arbitrary-node" if is_node else "serviceaccount"
    else:
        yield "user-info"
    yield ""


def _with_authentication_group(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the groups, including the group of all authenticated or unauthenticated users."""
    group = UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED
    if group in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, group)

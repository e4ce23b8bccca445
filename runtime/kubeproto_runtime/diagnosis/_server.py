"""Checks of a server that responds: its release, its clock, who the account is, and its rights."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from kubeproto import ApiError, BadRequest, Forbidden, NotFound, ObjectMeta, RemoteProtocolError, Unauthorized
from kubeproto.kinds import table
from kubeproto.requests import version
from kubeproto.wire import header, printable

from ._check import failed, passed, skipped, warned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from kubeproto.config import Config
    from kubeproto.kinds.authorization_v1 import ResourceRule

    from .._access import RequiredAccess
    from ..client import Client
    from ._check import Check

# A header has whole seconds, and a response takes some time. For leases, tokens and certificates minutes
# matter.
_SKEW: Final = 60.0
_WRONG_SERVER: Final = (
    "correct the server of the kubeconfig: the host, the port, and the path if a gateway wants one"
)
_REFUSED: Final = "log in again as the cluster's provider says, or get the kubeconfig again"
_SHOWN: Final = 6
# What every account is allowed to ask about itself.
_ABOUT_ITSELF: Final = ("authentication.k8s.io", "authorization.k8s.io")


async def examine_server(client: Client, config: Config, wall: Callable[[], float]) -> AsyncGenerator[Check]:
    """Check the version and the clock of a server; the last check has failed if it is not an API server."""
    before = wall()
    try:
        reply = await client.call(version())
    except Unauthorized as error:
        yield failed("server", f"it does not accept the credentials: {_described(error)}", _REFUSED)
        return
    except Forbidden:
        yield skipped("server", "it does not say its version to this account")
        return
    except BadRequest as error:
        if config.connection.secure or "HTTPS" not in str(error):
            yield failed("server", f"this is not a Kubernetes API server: {_described(error)}", _WRONG_SERVER)
        else:
            yield failed(
                "server", "it speaks TLS, and the kubeconfig says http", "write https:// into its server"
            )
        return
    except (ApiError, RemoteProtocolError) as error:
        yield failed("server", f"this is not a Kubernetes API server: {_described(error)}", _WRONG_SERVER)
        return
    yield _release(reply.value.release, reply.value.git_version)
    if (date := header(reply.headers, "date")) and (check := _clock(date, (before + wall()) / 2)):
        yield check


def _described(error: Exception) -> str:
    return printable(str(error), 200)


def _release(release: tuple[int, int], name: str) -> Check:
    known = sorted(_numbers(one) for one in (*table().releases, table().kubernetes))
    oldest, newest = known[0], known[-1]
    name = printable(name, 40)
    bounds = f"{'.'.join(map(str, oldest))} to {'.'.join(map(str, newest))}"
    if release < oldest:
        return warned(
            "server", f"it is Kubernetes {name}, older than what kubeproto is tested with ({bounds})",
            "update the cluster, or try what you need: docs/releases.md says what older releases lack",
        )  # fmt: skip
    if release > newest:
        return passed(
            "server", f"it is Kubernetes {name}, newer than what kubeproto was tested with ({bounds})"
        )
    return passed("server", f"it is Kubernetes {name}")


def _numbers(version: str) -> tuple[int, ...]:
    """Return major and minor."""
    return tuple(int(part) for part in version.split(".")[:2])


def _clock(date: str, now: float) -> Check | None:
    try:
        skew = now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
    if abs(skew) < _SKEW:
        return passed("clock", "that of this machine and that of the server agree")
    ahead = "ahead of" if skew > 0 else "behind"
    return warned(
        "clock", f"that of this machine is {_span(abs(skew))} {ahead} that of the server",
        "set both by a time server (`timedatectl set-ntp true`): tokens, certificates and leases go by them",
    )  # fmt: skip


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"


async def examine_account(client: Client, config: Config) -> AsyncGenerator[Check]:
    """Check who the account is to the server; the last check has failed if it is not accepted."""
    from kubeproto.kinds.authentication_v1 import SelfSubjectReview

    try:
        review = await client.api(SelfSubjectReview).create(SelfSubjectReview(metadata=ObjectMeta()))
    except Unauthorized as error:
        yield failed("account", f"the server does not accept the credentials: {_described(error)}", _REFUSED)
        return
    except NotFound:
        yield skipped(
            "account", "the server does not say who the account is, which Kubernetes does since 1.28"
        )
        return
    except ApiError as error:
        yield skipped("account", _described(error))
        return
    user = review.status.user_info if review.status else None
    name = printable(user.username or "", 200) if user else ""
    groups = ", ".join(printable(one, 80) for one in (user.groups or ())[:_SHOWN]) if user else ""
    if name == "system:anonymous" and config.identity.has_secret:
        yield failed(
            "account",
            "the server takes the account for system:anonymous, as if it had no credentials",
            _REFUSED,
        )
    else:
        yield passed("account", f"{name or 'without a name'}{f', of {groups}' if groups else ''}")


async def examine_namespace(client: Client, namespace: str) -> AsyncGenerator[Check]:
    """Check whether the namespace of the context exists."""
    from kubeproto.kinds.core_v1 import Namespace

    try:
        await client.api(Namespace).get(namespace)
    except NotFound:
        yield failed(
            "namespace", f"{namespace} does not exist",
            f"`kubectl create namespace {namespace}`, or choose another:"
            " `kubectl config set-context --current --namespace=NAME`",
        )  # fmt: skip
    except ApiError:
        yield skipped("namespace", f"this account may not look whether {namespace} exists")
    else:
        yield passed("namespace", f"{namespace} exists")


async def examine_rights(
    client: Client, namespace: str, needed: Iterable[RequiredAccess]
) -> AsyncGenerator[Check]:
    """Check the rights of the account in a namespace, and whether they are the needed ones."""
    from kubeproto.kinds.authorization_v1 import SelfSubjectRulesReview, SelfSubjectRulesReviewSpec

    asked = SelfSubjectRulesReview(
        metadata=ObjectMeta(), spec=SelfSubjectRulesReviewSpec(namespace=namespace)
    )
    try:
        review = await client.api(SelfSubjectRulesReview).create(asked)
    except ApiError as error:
        yield skipped("rights", _described(error))
        return
    rules = [
        rule
        for rule in (review.status.resource_rules or () if review.status else ())
        if not set(rule.api_groups or ()) <= set(_ABOUT_ITSELF)
    ]
    if rules:
        more = ", …" if len(rules) > _SHOWN else ""
        yield passed("rights", f"in {namespace}: {', '.join(map(_rule, rules[:_SHOWN]))}{more}")
    elif not (review.status and review.status.incomplete):
        yield failed(
            "rights", f"the account may do nothing in {namespace}",
            f"ask somebody who may grant it: `kubectl create rolebinding NAME -n {namespace}"
            " --clusterrole=view --user=ACCOUNT` (a ServiceAccount: --serviceaccount=NAMESPACE:NAME)",
        )  # fmt: skip
    else:
        yield skipped("rights", "the server's authorizer does not list what an account may do")
    async for check in _needed(client, namespace, sorted(set(needed))):
        yield check


def _rule(rule: ResourceRule) -> str:
    resources = "/".join(printable(one, 60) for one in (rule.resources or ())[:4])
    return f"{' '.join(printable(one, 20) for one in rule.verbs[:8])} {resources}"


async def _needed(client: Client, namespace: str, needed: list[RequiredAccess]) -> AsyncGenerator[Check]:
    from kubeproto.kinds.authorization_v1 import (
        ResourceAttributes,
        SelfSubjectAccessReview,
        SelfSubjectAccessReviewSpec,
    )

    lacking = 0
    for one in needed:
        resource, _, subresource = one.resource.partition("/")
        everywhere = one.scope == "cluster"
        attributes = ResourceAttributes(
            group=one.group, resource=resource, subresource=subresource or None, verb=one.verb,
            name=one.name or None, namespace=None if everywhere else namespace,
        )  # fmt: skip
        spec = SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        review = await client.api(SelfSubjectAccessReview).create(
            SelfSubjectAccessReview(metadata=ObjectMeta(), spec=spec)
        )
        if review.status is None or not review.status.allowed:
            lacking += 1
            where = "in all namespaces" if everywhere else f"in {namespace}"
            group = f".{one.group}" if one.group else ""
            yield failed(
                "rights", f"the account may not {one.verb} {one.resource}{group} {where}",
                "apply the roles that `kubeproto manifests` prints, and bind them to this account",
            )  # fmt: skip
    if needed and not lacking:
        yield passed("rights", f"all {len(needed)} that are needed are there")

"""Checks of a server that responds: its release, its clock, the account and its permissions."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from kubeproto import ApiError, BadRequest, Forbidden, NotFound, ObjectMeta, RemoteProtocolError, Unauthorized
from kubeproto.kinds import kind_table
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

# A header has whole seconds, and a response takes some time. Minutes matter for leases, tokens and
# certificates.
_MAX_SKEW: Final = 60.0
_WRONG_SERVER: Final = (
    "correct the server of the kubeconfig: the host, the port, and the path if a gateway needs it"
)
_LOG_IN: Final = "log in again with the tool of the cluster's provider, or get the kubeconfig again"
_MAX_LISTED: Final = 6
# Every account may send reviews of itself.
_SELF_REVIEW_GROUPS: Final = ("authentication.k8s.io", "authorization.k8s.io")


async def examine_server(
    client: Client, config: Config, wall_clock: Callable[[], float]
) -> AsyncGenerator[Check]:
    """Check the version and the clock of a server; end with a failed check if it is not an API server."""
    started = wall_clock()
    try:
        reply = await client.call(version())
    except Unauthorized as error:
        yield failed("server", f"it does not accept the credentials: {_describe(error)}", _LOG_IN)
        return
    except Forbidden:
        yield skipped("server", "it does not report its version to this account")
        return
    except BadRequest as error:
        if config.connection.secure or "HTTPS" not in str(error):
            yield failed("server", f"this is not a Kubernetes API server: {_describe(error)}", _WRONG_SERVER)
        else:
            yield failed(
                "server", "it speaks TLS, and the kubeconfig has http://", "write https:// into its server"
            )
        return
    except (ApiError, RemoteProtocolError) as error:
        yield failed("server", f"this is not a Kubernetes API server: {_describe(error)}", _WRONG_SERVER)
        return
    yield _check_release(reply.value.release, reply.value.git_version)
    if (date := header(reply.headers, "date")) and (
        check := _check_clock(date, (started + wall_clock()) / 2)
    ):
        yield check


def _describe(error: Exception) -> str:
    return printable(str(error), 200)


def _check_release(release: tuple[int, int], name: str) -> Check:
    releases = sorted(
        _major_and_minor(release_name) for release_name in (*kind_table().releases, kind_table().kubernetes)
    )
    oldest, newest = releases[0], releases[-1]
    name = printable(name, 40)
    bounds = f"{'.'.join(map(str, oldest))} to {'.'.join(map(str, newest))}"
    if release < oldest:
        return warned(
            "server", f"it is Kubernetes {name}, older than the tested releases ({bounds})",
            "update the cluster, or try it: docs/releases.md lists the features that older releases lack",
        )  # fmt: skip
    if release > newest:
        return passed(
            "server",
            f"it is Kubernetes {name}, newer than the tested releases ({bounds})",
        )
    return passed("server", f"it is Kubernetes {name}")


def _major_and_minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _check_clock(date: str, now: float) -> Check | None:
    try:
        skew = now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
    if abs(skew) < _MAX_SKEW:
        return passed("clock", "the clocks of this machine and of the server agree")
    ahead = "ahead of" if skew > 0 else "behind"
    return warned(
        "clock", f"the clock of this machine is {_format_span(abs(skew))} {ahead} the clock of the server",
        "synchronize both with a time server (`timedatectl set-ntp true`): tokens and leases depend on them",
    )  # fmt: skip


def _format_span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"


async def examine_account(client: Client, config: Config) -> AsyncGenerator[Check]:
    """Check the account by a SelfSubjectReview; end with a failed check if the account is refused."""
    from kubeproto.kinds.authentication_v1 import SelfSubjectReview

    try:
        review = await client.api(SelfSubjectReview).create(SelfSubjectReview(metadata=ObjectMeta()))
    except Unauthorized as error:
        yield failed("account", f"the server does not accept the credentials: {_describe(error)}", _LOG_IN)
        return
    except NotFound:
        yield skipped("account", "the server does not report the account, which Kubernetes does since 1.28")
        return
    except ApiError as error:
        yield skipped("account", _describe(error))
        return
    user = review.status.user_info if review.status else None
    name = printable(user.username or "", 200) if user else ""
    groups = ", ".join(printable(group, 80) for group in (user.groups or ())[:_MAX_LISTED]) if user else ""
    if name == "system:anonymous" and config.identity.has_credentials:
        yield failed(
            "account",
            "the server treats the account as system:anonymous, as if it had no credentials",
            _LOG_IN,
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
        yield skipped("namespace", f"this account may not read the namespace {namespace}")
    else:
        yield passed("namespace", f"{namespace} exists")


async def examine_permissions(
    client: Client, namespace: str, needed: Iterable[RequiredAccess]
) -> AsyncGenerator[Check]:
    """Check the permissions of the account in a namespace, and whether it has the needed ones."""
    from kubeproto.kinds.authorization_v1 import SelfSubjectRulesReview, SelfSubjectRulesReviewSpec

    review_request = SelfSubjectRulesReview(
        metadata=ObjectMeta(), spec=SelfSubjectRulesReviewSpec(namespace=namespace)
    )
    try:
        review = await client.api(SelfSubjectRulesReview).create(review_request)
    except ApiError as error:
        yield skipped("permissions", _describe(error))
        return
    rules = [
        rule
        for rule in (review.status.resource_rules or () if review.status else ())
        if not set(rule.api_groups or ()) <= set(_SELF_REVIEW_GROUPS)
    ]
    if rules:
        more = ", …" if len(rules) > _MAX_LISTED else ""
        yield passed(
            "permissions", f"in {namespace}: {', '.join(map(_format_rule, rules[:_MAX_LISTED]))}{more}"
        )
    elif not (review.status and review.status.incomplete):
        yield failed(
            "permissions", f"the account may do nothing in {namespace}",
            f"ask an administrator for a role: `kubectl create rolebinding NAME -n {namespace}"
            " --clusterrole=view --user=ACCOUNT` (a ServiceAccount: --serviceaccount=NAMESPACE:NAME)",
        )  # fmt: skip
    else:
        yield skipped("permissions", "the server's authorizer does not list the permissions of accounts")
    async for check in _check_needed(client, namespace, sorted(set(needed))):
        yield check


def _format_rule(rule: ResourceRule) -> str:
    resources = "/".join(printable(text, 60) for text in (rule.resources or ())[:4])
    return f"{' '.join(printable(text, 20) for text in rule.verbs[:8])} {resources}"


async def _check_needed(
    client: Client, namespace: str, needed: list[RequiredAccess]
) -> AsyncGenerator[Check]:
    from kubeproto.kinds.authorization_v1 import (
        ResourceAttributes,
        SelfSubjectAccessReview,
        SelfSubjectAccessReviewSpec,
    )

    missing_count = 0
    for access in needed:
        resource, _, subresource = access.resource.partition("/")
        cluster_wide = access.scope == "cluster"
        attributes = ResourceAttributes(
            group=access.group, resource=resource, subresource=subresource or None, verb=access.verb,
            name=access.name or None, namespace=None if cluster_wide else namespace,
        )  # fmt: skip
        spec = SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        review = await client.api(SelfSubjectAccessReview).create(
            SelfSubjectAccessReview(metadata=ObjectMeta(), spec=spec)
        )
        if review.status is None or not review.status.allowed:
            missing_count += 1
            scope = "in all namespaces" if cluster_wide else f"in {namespace}"
            group = f".{access.group}" if access.group else ""
            yield failed(
                "permissions", f"the account may not {access.verb} {access.resource}{group} {scope}",
                "apply the roles that `kubeproto manifests` prints, and bind them to this account",
            )  # fmt: skip
    if needed and not missing_count:
        yield passed("permissions", f"the account has all {len(needed)} needed permissions")

"""Tokens of service accounts: JSON Web Tokens that this cluster signs and verifies.

They carry what a real server's tokens carry and live as long. Only the signature differs: HS256 with a key
derived from the cluster's seed, where a real server signs with a private key, so only the cluster can
verify one. Clients never do; they use a TokenReview.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any, Final, cast

import msgspec

from .._rejections import quoted
from .._state import ServerState
from ..storage._storage import Stored
from ._policy_rules import go_list
from ._users import User, account_groups

ISSUER: Final = "https://kubernetes.default.svc"
_LEEWAY: Final = 60.0  # seconds by which clocks may differ
_HEADER: Final = {"alg": "HS256", "kid": "sim"}
_decode: Final = msgspec.json.Decoder().decode


class BadToken(Exception):
    """A token that is not valid; the message is a server's."""


def make_token(
    state: ServerState, account: Stored, audiences: list[str], lifetime: int, bound: tuple[str, Stored] | None
) -> str:
    """Return a token of a service account; `bound` is the object with which it ends, and its kind."""
    now = int(state.clock.time)
    claims: dict[str, Any] = {
        "namespace": account.namespace,
        "serviceaccount": {"name": account.name, "uid": account.uid},
    }
    if bound is not None:
        kind, stored = bound
        claims[kind.lower()] = {"name": stored.name, "uid": stored.uid}
        if kind == "Pod" and (node := _decode(stored.data)["spec"].get("nodeName")):
            there = state.storage.resource("nodes").objects.get(node)
            claims["node"] = {"name": node} | ({"uid": there.uid} if there else {})
    payload = {
        "aud": audiences, "exp": now + lifetime, "iat": now, "iss": ISSUER, "jti": state.rng.uid(),
        "kubernetes.io": claims, "nbf": now,
        "sub": f"system:serviceaccount:{account.namespace}:{account.name}",
    }  # fmt: skip
    text = f"{_encoded(msgspec.json.encode(_HEADER))}.{_encoded(msgspec.json.encode(payload))}"
    return f"{text}.{_signature(state, text)}"


def is_ours(token: str) -> bool:
    """Return whether a token says that this cluster issued it."""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        payload = _decode(_decoded(parts[1]))
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return False
    return isinstance(payload, dict) and cast("dict[str, Any]", payload).get("iss") == ISSUER


def verify_token(state: ServerState, token: str, audiences: list[str]) -> tuple[User, list[str]]:
    """Return the service account of a token, and which of the audiences it is for; or `BadToken`."""
    text, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(state, text).encode()):
        raise BadToken("go-jose/go-jose: error in cryptographic primitive")
    payload: dict[str, Any] = _decode(_decoded(text.partition(".")[2]))
    meant = [one for one in audiences if one in payload["aud"]]
    if not meant:
        offered, wanted = go_list(payload["aud"]), go_list(audiences)
        raise BadToken(f"token audiences {offered} is invalid for the target audiences {wanted}")
    now = state.clock.time
    if now - _LEEWAY > payload["exp"]:
        raise BadToken("service account token has expired")
    claims: dict[str, Any] = payload["kubernetes.io"]
    account = _account(state, claims)
    extra = {"authentication.kubernetes.io/credential-id": [f"JTI={payload['jti']}"]}
    extra |= _bound(state, claims)
    name = f"system:serviceaccount:{account.namespace}:{account.name}"
    return User(name, account.uid, account_groups(account.namespace), extra), meant


def _account(state: ServerState, claims: dict[str, Any]) -> Stored:
    namespace, held = claims["namespace"], claims["serviceaccount"]
    account = state.storage.resource("serviceaccounts").objects.get(f"{namespace}/{held['name']}")
    if account is None:
        raise BadToken(f"serviceaccounts {quoted(held['name'])} not found")
    if account.uid != held["uid"]:
        raise BadToken(f"service account UID ({account.uid}) does not match claim ({held['uid']})")
    return account


def _bound(state: ServerState, claims: dict[str, Any]) -> dict[str, list[str]]:
    """Return what a token that is bound to an object adds to its user; the token ends with that object."""
    extra: dict[str, list[str]] = {}
    for kind in ("pod", "secret", "node"):
        held: dict[str, str] | None = claims.get(kind)
        if held is None:
            continue
        if kind != "node" or "pod" not in claims:
            key = held["name"] if kind == "node" else f"{claims['namespace']}/{held['name']}"
            stored = state.storage.resource(f"{kind}s").objects.get(key)
            if stored is None:
                raise BadToken("service account token has been invalidated")
            if stored.uid != held["uid"]:
                claim = f"service account {kind} ref claim ({held['uid']})"
                raise BadToken(f"{kind} UID ({stored.uid}) does not match {claim}")
        if kind != "secret":
            extra[f"authentication.kubernetes.io/{kind}-name"] = [held["name"]]
            if "uid" in held:
                extra[f"authentication.kubernetes.io/{kind}-uid"] = [held["uid"]]
    return extra


def _signature(state: ServerState, text: str) -> str:
    return _encoded(hmac.digest(state.signing_key, text.encode(), hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

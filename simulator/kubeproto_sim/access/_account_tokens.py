"""Tokens of service accounts: JSON Web Tokens that this cluster signs and verifies.

They have the claims and the lifetime of a real server's tokens. Only the signature differs: HS256 with a key
derived from the cluster's seed, where a real server signs with a private key. So only the cluster can verify
a token. Clients do not verify tokens; they send a TokenReview.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any, Final, cast

import msgspec

from .._state import ServerState
from ..storage._json_values import go_list, quoted
from ..storage._storage import StoredRecord
from ._users import User, account_groups

ISSUER: Final = "https://kubernetes.default.svc"
_LEEWAY: Final = 60.0  # seconds by which clocks may differ
_HEADER: Final = {"alg": "HS256", "kid": "sim"}
_decode: Final = msgspec.json.Decoder().decode


class InvalidToken(Exception):
    """A token is invalid; the message is that of a server."""


def make_token(
    state: ServerState,
    account: StoredRecord,
    audiences: list[str],
    lifetime: int,
    bound: tuple[str, StoredRecord] | None,
) -> str:
    """Return a token of a service account; `bound` is the kind and object with whose deletion it ends."""
    now = int(state.clock.time)
    claims: dict[str, Any] = {
        "namespace": account.namespace,
        "serviceaccount": {"name": account.name, "uid": account.uid},
    }
    if bound is not None:
        kind, stored = bound
        claims[kind.lower()] = {"name": stored.name, "uid": stored.uid}
        if kind == "Pod" and (node := _decode(stored.data)["spec"].get("nodeName")):
            stored_node = state.storage.resource("nodes").objects.get(node)
            claims["node"] = {"name": node} | ({"uid": stored_node.uid} if stored_node else {})
    payload = {
        "aud": audiences, "exp": now + lifetime, "iat": now, "iss": ISSUER, "jti": state.rng.uid(),
        "kubernetes.io": claims, "nbf": now,
        "sub": f"system:serviceaccount:{account.namespace}:{account.name}",
    }  # fmt: skip
    text = f"{_encoded(msgspec.json.encode(_HEADER))}.{_encoded(msgspec.json.encode(payload))}"
    return f"{text}.{_signature(state, text)}"


def is_ours(token: str) -> bool:
    """Return whether the issuer of a token is this cluster."""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        payload = _decode(_decoded(parts[1]))
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return False
    return isinstance(payload, dict) and cast("dict[str, Any]", payload).get("iss") == ISSUER


def verify_token(state: ServerState, token: str, audiences: list[str]) -> tuple[User, list[str]]:
    """Return the service account of a token and its valid audiences, or raise `InvalidToken`."""
    text, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(state, text).encode()):
        raise InvalidToken("go-jose/go-jose: error in cryptographic primitive")
    payload: dict[str, Any] = _decode(_decoded(text.partition(".")[2]))
    valid_audiences = [audience for audience in audiences if audience in payload["aud"]]
    if not valid_audiences:
        offered, requested = go_list(payload["aud"]), go_list(audiences)
        raise InvalidToken(f"token audiences {offered} is invalid for the target audiences {requested}")
    now = state.clock.time
    if now - _LEEWAY > payload["exp"]:
        raise InvalidToken("service account token has expired")
    claims: dict[str, Any] = payload["kubernetes.io"]
    account = _account(state, claims)
    extra = {"authentication.kubernetes.io/credential-id": [f"JTI={payload['jti']}"]}
    extra |= _bound(state, claims)
    name = f"system:serviceaccount:{account.namespace}:{account.name}"
    return User(name, account.uid, account_groups(account.namespace), extra), valid_audiences


def _account(state: ServerState, claims: dict[str, Any]) -> StoredRecord:
    namespace, claim = claims["namespace"], claims["serviceaccount"]
    account = state.storage.resource("serviceaccounts").objects.get(f"{namespace}/{claim['name']}")
    if account is None:
        raise InvalidToken(f"serviceaccounts {quoted(claim['name'])} not found")
    if account.uid != claim["uid"]:
        raise InvalidToken(f"service account UID ({account.uid}) does not match claim ({claim['uid']})")
    return account


def _bound(state: ServerState, claims: dict[str, Any]) -> dict[str, list[str]]:
    """Return the extra attributes of a user from the object to which the token is bound."""
    extra: dict[str, list[str]] = {}
    for kind in ("pod", "secret", "node"):
        claim: dict[str, str] | None = claims.get(kind)
        if claim is None:
            continue
        if kind != "node" or "pod" not in claims:
            key = claim["name"] if kind == "node" else f"{claims['namespace']}/{claim['name']}"
            stored = state.storage.resource(f"{kind}s").objects.get(key)
            if stored is None:
                raise InvalidToken("service account token has been invalidated")
            if stored.uid != claim["uid"]:
                raise InvalidToken(
                    f"{kind} UID ({stored.uid}) does not match service account {kind} ref claim"
                    f" ({claim['uid']})"
                )
        if kind != "secret":
            extra[f"authentication.kubernetes.io/{kind}-name"] = [claim["name"]]
            if "uid" in claim:
                extra[f"authentication.kubernetes.io/{kind}-uid"] = [claim["uid"]]
    return extra


def _signature(state: ServerState, text: str) -> str:
    return _encoded(hmac.digest(state.signing_key, text.encode(), hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

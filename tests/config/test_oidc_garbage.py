"""A renewal and its requests end for any response of an identity provider and any content of a token."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from kubeproto.config import CredentialsError, Identity, Oidc, credentials as c

OIDC = Oidc(issuer="https://issuer.test", client_id="me", refresh_token="r")
PROVIDER = b'{"token_endpoint": "https://issuer.test/token"}'
DEEP = b"[" * 100_000
BODIES = [b'{"id_token": "\xff"}', b'{"\xff": 1}', b"\xff", DEEP, b'{"id_token": ' + DEEP, b"", b"null"]


def start_renewal(*bodies: bytes) -> c.State:
    state, _ = c.step(c.begin(Identity(oidc=OIDC), 0.0), c.CredentialsRequested(), 0.0)
    for body in bodies:
        assert isinstance(state, c.Renewing)
        state, _ = c.step(state, c.Responded(200, (), body), 1.0)
    return state


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("earlier_bodies", [(), (PROVIDER,)])
def test_garbage_from_a_provider_ends_the_renewal_and_the_waiting_requests(
    earlier_bodies: tuple[bytes, ...], body: bytes
) -> None:
    state, actions = c.step(start_renewal(*earlier_bodies, body), c.CredentialsRequested(), 1.5)
    [action] = actions
    assert isinstance(action, c.RefuseRequest)
    assert isinstance(action.error, CredentialsError)
    assert isinstance(state, c.BackingOff)


@pytest.mark.parametrize("payload", [DEEP, b'{"x": ' + DEEP, b'{"exp": "\xff"}', b"\xff"])
def test_a_token_with_any_payload_is_accepted(payload: bytes) -> None:
    token = f"a.{urlsafe_b64encode(payload).decode().rstrip('=')}.b"
    oidc = Oidc(issuer="https://issuer.test", client_id="me", refresh_token="r", id_token=token)
    assert isinstance(c.begin(Identity(oidc=oidc), 0.0), c.NoCredentials)
    granted = b'{"id_token": "%s"}' % token.encode()
    assert isinstance(start_renewal(PROVIDER, granted), c.Active)

"""The output of an exec plugin in YAML or JSON becomes credentials."""

from __future__ import annotations

from typing import Final

import pytest

from kubeproto.config import Identity, Plugin, credentials as c

V1: Final = "client.authentication.k8s.io/v1"
BETA: Final = "client.authentication.k8s.io/v1beta1"
PEM: Final = "-----BEGIN X-----"


def parse_output(stdout: str | bytes, version: str = V1) -> c.State:
    identity = Identity(plugin=Plugin(command="login", api_version=version))
    renewing, [task, _] = c.step(c.begin(identity, 0.0), c.CredentialsRequested(), 0.0)
    assert isinstance(task, c.RunPlugin)
    content = stdout.encode() if isinstance(stdout, str) else stdout
    return c.step(renewing, c.PluginExited(0, content), 0.0)[0]


@pytest.mark.parametrize(
    ("stdout", "version"),
    [
        (f'{{"kind":"ExecCredential","apiVersion":"{V1}","spec":{{}},"status":{{"token":"t"}}}}', V1),
        (f'\n {{"kind":"ExecCredential","apiVersion":"{BETA}","status":{{"token":"t"}}}}\n', BETA),
        (f"kind: ExecCredential\napiVersion: {V1}\nstatus:\n  token: t\n", V1),
        (f"---\nkind: ExecCredential\napiVersion: {V1}\nstatus: {{token: t, clientKeyData: null}}\n", V1),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_yaml_and_json_are_read(stdout: str, version: str, encoding: str) -> None:
    state = parse_output(stdout.encode(encoding), version)
    assert isinstance(state, c.Active)
    assert state.current.credentials == c.Credentials(authorization="Bearer t")


def test_a_certificate_needs_no_token_and_requires_a_key() -> None:
    front = f'{{"kind":"ExecCredential","apiVersion":"{V1}","status":'
    pair = f'"clientCertificateData":"{PEM}","clientKeyData":"{PEM}"'
    state = parse_output(f"{front}{{{pair}}}}}")
    assert isinstance(state, c.Active)
    assert (state.current.credentials.authorization, state.current.credentials.pair) == (
        "",
        (PEM.encode(), PEM.encode()),
    )
    state = parse_output(f'{front}{{{pair},"token":"t"}}}}')
    assert isinstance(state, c.Active)
    assert state.current.credentials.authorization == "Bearer t"


@pytest.mark.parametrize(
    ("time", "expires"),
    [
        ("1970-01-01T00:15:00Z", 900.0),
        ("1970-01-01T01:15:00+01:00", 900.0),
        ("1970-01-01T00:15:00.5Z", 900.5),
        ("0001-01-01T00:00:00Z", 10.0),
        ("9999-12-31T23:59:59Z", 253402300799.0),
    ],
)
def test_the_expiration_is_read(time: str, expires: float) -> None:
    state = parse_output(
        f"kind: ExecCredential\napiVersion: {V1}\nstatus: {{token: t, expirationTimestamp: '{time}'}}"
    )
    assert isinstance(state, c.Active)
    assert state.current.expires == expires


@pytest.mark.parametrize(
    ("stdout", "reason"),
    [
        ("", "is not a single document"),
        ("# nothing\n", "is not a single document"),
        ("a: b\n---\na: b\n", "is not a single document"),
        ("login first!", "Expected `object`, got `str`"),
        (f"apiVersion: {V1}\nstatus: {{token: t}}", "is not an ExecCredential"),
        (
            f"kind: ExecCredential\napiVersion: {BETA}\nstatus: {{token: t}}",
            "must have the configured apiVersion",
        ),
        (f"kind: ExecCredential\napiVersion: {V1}", "neither a token nor a client certificate"),
        (f"kind: ExecCredential\napiVersion: {V1}\nstatus: {{token: ''}}", "neither a token nor"),
        (
            f"kind: ExecCredential\napiVersion: {V1}\nstatus: {{token: t, clientKeyData: {PEM}}}",
            "a key without a certificate",
        ),
        (
            f"kind: ExecCredential\napiVersion: {V1}\nstatus: {{clientCertificateData: a, clientKeyData: b}}",
            "that is not PEM",
        ),
        (
            f"kind: ExecCredential\napiVersion: {V1}\nstatus: {{token: 5}}",
            "line 3: status.token: Expected `str",
        ),
        (
            f"kind: ExecCredential\napiVersion: {V1}\nstatus: {{token: t, expirationTimestamp: soon}}",
            "an expirationTimestamp that is not a time",
        ),
        ("\udcff".encode("utf-8", "surrogateescape"), "not UTF-8"),
    ],
)
def test_the_error_for_invalid_output_names_the_plugin(stdout: str | bytes, reason: str) -> None:
    state = parse_output(stdout)
    assert isinstance(state, c.BackingOff)
    assert state.reason.startswith("the output of the plugin 'login'")
    assert reason in state.reason

"""Every method of authentication, from the kubeconfig to a server that checks it, over real TLS."""

from __future__ import annotations

import base64
import json
import logging
import stat
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from contract_certificates import Certificates, context, pem
from contract_scripts import response_bytes
from contract_server import Peer, Server
from contract_transports import Rig, fetch, get, rigs
from contract_users import (
    Clock,
    Visit,
    as_user,
    guarded,
    kubeconfig,
    verifying_certificates,
)

from kubeproto import Transport
from kubeproto.config import CredentialsError, credentials
from kubeproto_runtime.credentials import AuthorizedTransport

Serve = Callable[..., Server]

SECRET: Final = "hunter" + "2"  # tracebacks show lines of this file as well


@pytest.fixture(params=rigs(is_async=True))
def rig(request: pytest.FixtureRequest) -> Rig:
    """Each async transport: the credentials of blocking ones go the same way."""
    parameter: object = request.param
    assert isinstance(parameter, Rig)
    return parameter


class Cluster:
    """A server that checks credentials, and the visits that it received."""

    def __init__(self, serve: Serve, certificates: Certificates, folder: Path) -> None:
        self.visits: list[Visit] = []
        self.good: set[str] = set()
        self.certificates = certificates
        self.folder = folder
        script = guarded(
            lambda visit: bool({visit.authorization, visit.certificate} & self.good), self.visits
        )
        self.server = serve(script, verifying_certificates(certificates))

    def config(self, **user: Any) -> Any:
        return kubeconfig(self.folder, self.server, self.certificates, user)

    def write(self, name: str, content: bytes | str) -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)


@pytest.fixture
def cluster(serve: Serve, certificates: Certificates, tmp_path: Path) -> Cluster:
    return Cluster(serve, certificates, tmp_path)


async def once(transport: Transport) -> tuple[int, bytes]:
    response = await fetch(transport, get("/version"))
    return response.status, response.body


def at_times(clock: Clock, *turns: Callable[[], object]) -> Callable[[AuthorizedTransport], Any]:
    """Send a request, then another a minute after each event."""

    async def body(transport: AuthorizedTransport) -> list[tuple[int, bytes]]:
        statuses = [await once(transport)]
        for turn in turns:
            turn()
            clock.now += 61
            statuses.append(await once(transport))
        return statuses

    return body


def test_a_token_is_sent(rig: Rig, cluster: Cluster) -> None:
    cluster.good = {"Bearer t1"}
    assert as_user(rig, cluster.config(token="t1"), once) == (200, b"|Bearer t1")
    assert as_user(rig, cluster.config(token="t2"), once)[0] == 401


def test_a_name_and_a_password_are_sent(rig: Rig, cluster: Cluster) -> None:
    authorization = "Basic " + base64.b64encode(f"jané:{SECRET}".encode()).decode()
    cluster.good = {authorization}
    assert as_user(rig, cluster.config(username="jané", password=SECRET), once) == (
        200,
        f"|{authorization}".encode(),
    )


def test_a_token_file_is_read_again_after_its_rotation(rig: Rig, cluster: Cluster) -> None:
    clock = Clock()
    path = cluster.write("token", "t1\n")
    cluster.good = {"Bearer t1"}

    def rotate() -> None:
        cluster.write("token", "t2\n")
        cluster.good = {"Bearer t2"}

    statuses = as_user(rig, cluster.config(tokenFile=path), at_times(clock, rotate), clock)
    assert statuses == [(200, b"|Bearer t1"), (200, b"|Bearer t2")]
    assert len(cluster.visits) == 2  # the file was read before the request, so no 401 was needed


def issued(certificates: Certificates, name: str) -> tuple[bytes, bytes]:
    return pem(certificates.ca.issue_cert(common_name=name))


def test_a_client_certificate_in_the_kubeconfig_is_presented(rig: Rig, cluster: Cluster) -> None:
    certificate, key = (base64.b64encode(part).decode() for part in issued(cluster.certificates, "jane"))
    cluster.good = {"jane"}
    config = cluster.config(**{"client-certificate-data": certificate, "client-key-data": key})
    assert as_user(rig, config, once) == (200, b"jane|")


def test_the_files_of_a_client_certificate_are_read_again_after_their_rotation(
    rig: Rig, cluster: Cluster
) -> None:
    clock = Clock()
    cluster.good = {"jane", "joan"}

    def put(name: str) -> dict[str, str]:
        certificate, key = issued(cluster.certificates, name)
        return {
            "client-certificate": cluster.write("client.crt", certificate),
            "client-key": cluster.write("client.key", key),
        }

    config = cluster.config(**put("jane"))
    statuses = as_user(rig, config, at_times(clock, lambda: None, lambda: put("joan")), clock)
    assert statuses == [(200, b"jane|"), (200, b"jane|"), (200, b"joan|")]
    # One connection for the old certificate, and one for the new.
    assert [visit.request.connection for visit in cluster.visits] == [0, 0, 1]


class Script:
    """A plugin as a shell script: it counts its runs, and prints the output of that number."""

    def __init__(self, folder: Path, *lines: str, more: str = "") -> None:
        self.outputs = folder / "outputs"
        self.runs = folder / "runs"
        self.info = folder / "info"
        self.path = folder / "login"
        self.outputs.write_text("\n".join(lines) + "\n")
        self.path.write_text(
            f"#!/bin/sh\necho run >> '{self.runs}'\nprintf %s \"$KUBERNETES_EXEC_INFO\" > '{self.info}'\n"
            f"sed -n \"$(wc -l < '{self.runs}' | tr -d ' ')p\" '{self.outputs}'\n{more}\n"
        )
        self.path.chmod(stat.S_IRWXU)

    def user(self, version: str = "v1") -> dict[str, Any]:
        return {
            "exec": {
                "apiVersion": f"client.authentication.k8s.io/{version}",
                "command": str(self.path),
                "interactiveMode": "Never",
                "provideClusterInfo": True,
            }
        }


def credential(version: str = "v1", **status: str) -> str:
    kind = {"kind": "ExecCredential", "apiVersion": f"client.authentication.k8s.io/{version}"}
    return json.dumps({**kind, "status": status})


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_runs_again_when_its_token_expires(rig: Rig, cluster: Cluster, version: str) -> None:
    clock = Clock()
    script = Script(
        cluster.folder,
        credential(version, token="t1", expirationTimestamp="1970-01-01T00:18:00Z"),  # 80 s from then
        credential(version, token="t2", expirationTimestamp="1970-01-01T01:00:00Z"),
    )
    cluster.good = {"Bearer t1", "Bearer t2"}
    statuses = as_user(
        rig, cluster.config(**script.user(version)), at_times(clock, lambda: None, lambda: None), clock
    )
    assert statuses == [(200, b"|Bearer t1"), (200, b"|Bearer t1"), (200, b"|Bearer t2")]
    plugin_info = json.loads(script.info.read_text())
    assert plugin_info["apiVersion"].endswith(f"/{version}")
    assert plugin_info["spec"]["cluster"]["server"] == cluster.server.url


def test_the_client_certificate_of_a_plugin_is_presented(rig: Rig, cluster: Cluster) -> None:
    certificate, key = (part.decode() for part in issued(cluster.certificates, "jane"))
    output = credential(clientCertificateData=certificate, clientKeyData=key)
    cluster.good = {"jane"}
    assert as_user(rig, cluster.config(**Script(cluster.folder, output).user()), once) == (200, b"jane|")


def test_headers_of_impersonation_are_sent(rig: Rig, cluster: Cluster) -> None:
    cluster.good = {"Bearer t1"}
    config = cluster.config(
        token="t1",
        **{
            "as": "jane",
            "as-uid": "42",
            "as-groups": ["readers", "writers"],
            "as-user-extra": {"scopes/x": ["a", "b"]},
        },
    )
    assert as_user(rig, config, once)[0] == 200
    [visit] = cluster.visits
    headers = [(name.lower(), value) for name, value in visit.request.headers]
    assert [(name, value) for name, value in headers if name.startswith("impersonate")] == [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "42"),
        ("impersonate-group", "readers"),
        ("impersonate-group", "writers"),
        ("impersonate-extra-scopes%2fx", "a"),
        ("impersonate-extra-scopes%2fx", "b"),
    ]


def jwt(expires: int, name: str) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return ".".join((part({"alg": "none"}), part({"exp": expires, "sub": name}), "c2lnbmVk"))


def test_a_login_at_an_identity_provider_is_renewed(
    rig: Rig, cluster: Cluster, serve: Serve, certificates: Certificates
) -> None:
    clock = Clock()
    old, new = jwt(1030, "old"), jwt(9000, "new")
    cluster.good = {f"Bearer {old}", f"Bearer {new}"}

    async def provide(peer: Peer) -> None:
        while True:
            request = await peer.request()
            if request.method == "GET":
                assert request.target == "/.well-known/openid-configuration"
                document: dict[str, Any] = {"issuer": provider.url, "token_endpoint": f"{provider.url}/token"}
            else:
                assert request.target == "/token"
                assert b"refresh_token=r1" in request.body
                document = {"id_token": new, "refresh_token": "r2", "token_type": "bearer"}
            await peer.send(
                response_bytes(json.dumps(document).encode(), ("Content-Type", "application/json"))
            )

    provider = serve(provide, context(certificates.server))
    settings = {
        "idp-issuer-url": provider.url,
        "client-id": "kubectl",
        "id-token": old,
        "refresh-token": "r1",
        "idp-certificate-authority-data": base64.b64encode(certificates.trusted).decode(),
    }
    config = cluster.config(**{"auth-provider": {"name": "oidc", "config": settings}})
    statuses = as_user(rig, config, at_times(clock, lambda: None), clock)
    assert [body for _, body in statuses] == [f"|Bearer {old}".encode(), f"|Bearer {new}".encode()]
    assert [request.method for request in provider.requests] == ["GET", "POST"]


def test_a_token_that_expires_in_the_middle_of_a_watch_ends_no_watch_and_costs_one_401(
    rig: Rig, cluster: Cluster
) -> None:
    script = Script(cluster.folder, credential(token="t1"), credential(token="t2"), credential(token="t3"))
    cluster.good = {"Bearer t1"}

    async def watch(transport: AuthorizedTransport) -> list[bytes]:
        pieces: list[bytes] = []
        for _ in range(2):
            async with transport.send(get("/pods?watch=true")) as incoming:
                assert incoming.status == 200
                async for chunk in incoming:
                    pieces.append(chunk)
                    # The server refuses the old token now, but continues the watch that it accepted.
                    cluster.good = {"Bearer t2"}
        return pieces

    assert b"".join(as_user(rig, cluster.config(**script.user()), watch)) == b"firstsecond" * 2
    assert [visit.authorization for visit in cluster.visits] == ["Bearer t1", "Bearer t1", "Bearer t2"]
    assert script.runs.read_text() == "run\n" * 2


PLUGINS: Final = {
    "fails": (f"echo '{SECRET}'; echo '{SECRET}' >&2; exit 3", "exited with 3"),
    "hangs": (f"echo '{SECRET}' >&2; exec sleep 60", "did not exit within"),
    "prints garbage": (f"echo '{{\"token\": \"{SECRET}\"'; echo '{SECRET}' >&2", "the output of the plugin"),
    "prints another document": (f'echo \'{{"kind": "{SECRET}"}}\'', "not an ExecCredential"),
    "prints nothing": (f"echo '{SECRET}' >&2", "not a single document"),
    "prints bytes": ("head -c 2000 /dev/zero", "the output of the plugin"),
}


@pytest.mark.parametrize("case", PLUGINS)
def test_the_error_of_a_broken_plugin_contains_no_secret(
    rig: Rig,
    cluster: Cluster,
    case: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    more, words = PLUGINS[case]
    if case == "hangs":
        monkeypatch.setattr(credentials, "TIMEOUT", 0.5)
    caplog.set_level(logging.DEBUG)
    script = Script(cluster.folder, more=more)
    texts: list[str] = []

    async def body(transport: AuthorizedTransport) -> None:
        texts.append(repr(transport))
        with pytest.raises(CredentialsError, match=words) as raised:
            await once(transport)
        texts.extend(traceback.format_exception(raised.value))

    as_user(rig, cluster.config(**script.user()), body)
    assert cluster.visits == []  # no request was sent without credentials
    assert SECRET not in "".join((*texts, caplog.text, capfd.readouterr().out))
    assert "plugin" in caplog.text


def test_an_error_of_a_refusal_contains_no_secret(
    rig: Rig, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = Script(cluster.folder, credential(token=SECRET), credential(token=f"{SECRET}{SECRET}"))
    assert as_user(rig, cluster.config(**script.user()), once)[0] == 401
    assert [visit.authorization for visit in cluster.visits] == [f"Bearer {SECRET}", f"Bearer {SECRET * 2}"]
    assert SECRET not in caplog.text

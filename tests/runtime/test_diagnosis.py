"""`diagnose` against broken set-ups: each is found, with what to do, and no secret is shown."""

from __future__ import annotations

import asyncio
import base64
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Any, Final, cast

import pytest

from kubeproto_runtime.diagnosis import Check, DiagnoseOptions, diagnose
from kubeproto_runtime.manifests import RequiredAccess
from kubeproto_serve import Security, SimServer, serving
from kubeproto_serve._server_certificates import Authority
from kubeproto_sim import Cluster, User

TOKEN: Final = "s3cret-t0ken"
PLUGIN_KIND: Final = "client.authentication.k8s.io/v1"
RBAC: Final = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "metadata": {"name": "reader", "namespace": "default"},
}
READER: Final = (
    {**RBAC, "kind": "Role", "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]},
    {
        **RBAC,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    },
)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("the authority of the cluster")


@pytest.fixture(scope="module")
def server(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Generator[SimServer]:
    """A cluster behind TLS, with a user who may do everything and one who may do nothing."""
    cluster = Cluster(authorization="RBAC", tokens={"n0b0dy": User("nobody"), "r34der": User("reader")})
    for granted in READER:
        cluster.put(granted)
    security = Security(
        context=server_context(authority, tmp_path_factory.mktemp("tls"), "localhost", "127.0.0.1"),
        authority=authority.certificate, tokens={TOKEN: "kubernetes-admin"},
    )  # fmt: skip
    with serving(cluster, security=security) as served:
        yield served


def server_context(authority: Authority, folder: Path, *names: str) -> ssl.SSLContext:
    made = authority.server(*names)
    path = folder / "server.pem"
    path.write_text(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


class Setup:
    """A kubeconfig that can be broken in one place at a time."""

    def __init__(self, folder: Path, document: dict[str, Any]) -> None:
        self.folder = folder
        self.path = folder / "kubeconfig"
        self.document = document

    @property
    def cluster(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["clusters"][0]["cluster"]
        return found

    @property
    def user(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["users"][0]["user"]
        return found

    @property
    def context(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["contexts"][0]["context"]
        return found

    def checks(self, **options: Any) -> tuple[Check, ...]:
        if not self.path.exists():
            self.path.write_text(json.dumps(self.document))
            self.path.chmod(0o600)
        return look(self.path, **options)


def look(path: Path, **options: Any) -> tuple[Check, ...]:
    return asyncio.run(diagnose(cast("DiagnoseOptions", options), kubeconfig=path))


@pytest.fixture
def setup(server: SimServer, tmp_path: Path) -> Setup:
    return Setup(tmp_path, json.loads(server.kubeconfig))


def jwt(expiry: float) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none'})}.{part({'exp': expiry, 'sub': 's3cret'})}.s3cret"


def use_plugin(setup: Setup, command: str, **more: Any) -> None:
    entry = {"apiVersion": PLUGIN_KIND, "command": command, "interactiveMode": "Never", **more}
    setup.document["users"][0]["user"] = {"exec": entry}


def use_failing_plugin(setup: Setup) -> None:
    plugin = setup.folder / "plugin"
    plugin.write_text("#!/bin/sh\nexit 3\n")
    plugin.chmod(0o755)
    use_plugin(setup, str(plugin))


def use_client_certificate(setup: Setup, *, days: int = 0, key: str = "") -> None:
    now = datetime.now(UTC) - timedelta(days=days)
    made = Authority("another", now=now).client("nobody")
    del setup.user["token"]
    setup.user["client-certificate-data"] = base64.b64encode(made.certificate.encode()).decode()
    setup.user["client-key-data"] = base64.b64encode((key or made.key).encode()).decode()


def use_other_key(setup: Setup) -> None:
    use_client_certificate(setup, key=Authority().client("nobody").key)


def use_other_authority(setup: Setup) -> None:
    other = Authority("another authority").certificate
    setup.cluster["certificate-authority-data"] = base64.b64encode(other.encode()).decode()


def use_missing_authority(setup: Setup) -> None:
    del setup.cluster["certificate-authority-data"]
    setup.cluster["certificate-authority"] = "ca.pem"


def use_missing_token_file(setup: Setup) -> None:
    setup.user.clear()
    setup.user["tokenFile"] = "token"


def use_refused_port(setup: Setup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    setup.cluster["server"] = f"https://127.0.0.1:{port}"


def write(content: bytes) -> Callable[[Setup], None]:
    def change(setup: Setup) -> None:
        setup.path.write_bytes(content)

    return change


def put(where: str, **values: Any) -> Callable[[Setup], None]:
    def change(setup: Setup) -> None:
        place = setup.document if where == "document" else getattr(setup, where)
        place.update(values)

    return change


# How it is broken, which check finds it, what it finds, and what is to be done.
BROKEN: Final[dict[str, tuple[Callable[[Setup], None], str, str, str]]] = {
    "invalid YAML": (write(b"a: [\n"), "kubeconfig", "line ", "correct that line"),
    "not a kubeconfig": (write(b"kind: Pod\n"), "kubeconfig", "not a Config of v1", "correct that line"),
    "no current context": (
        put("document", **{"current-context": ""}),
        "context",
        "no context is chosen",
        "--context NAME",
    ),
    "unknown context": (
        put("document", **{"current-context": "prod"}),
        "context",
        "the current context 'prod' does not exist",
        "choose one of kubeproto",
    ),
    "missing cluster": (
        put("context", cluster="gone"),
        "context",
        "refers to the cluster 'gone'",
        "set-cluster",
    ),
    "missing user": (put("context", user="gone"), "context", "refers to the user 'gone'", "set-credentials"),
    "missing authority": (
        use_missing_authority,
        "settings",
        "ca.pem cannot be read",
        "relative to its folder",
    ),
    "token and password": (
        put("user", username="me", password="s3cret"),
        "settings",
        "a token or a username",
        "correct this setting",
    ),
    "missing token file": (
        use_missing_token_file,
        "credentials",
        "token cannot be read",
        "put the file there",
    ),
    "expired token": (
        put("user", token=jwt(1_700_000_000)),
        "credentials",
        "expired at 2023-11-14",
        "log in again",
    ),
    "wrong token": (
        put("user", token="s3cret-wrong"),
        "server",
        "does not accept the credentials",
        "log in again",
    ),
    "expired client certificate": (
        lambda setup: use_client_certificate(setup, days=400),
        "credentials",
        "for nobody, which expired at",
        "get a new kubeconfig",
    ),
    "client certificate of the future": (
        lambda setup: use_client_certificate(setup, days=-400),
        "credentials",
        "is not valid before",
        "timedatectl",
    ),
    "key of another certificate": (
        use_other_key,
        "credentials",
        "a key of another certificate",
        "new kubeconfig",
    ),
    "unknown authority": (
        use_other_authority,
        "connection",
        "issued by 'the authority of the cluster', whom",
        "get the kubeconfig again",
    ),
    "wrong host name": (
        put("cluster", **{"tls-server-name": "kubernetes.example.com"}),
        "connection",
        "is for localhost, 127.0.0.1, and not for kubernetes.example.com",
        "tls-server-name: localhost",
    ),
    "refused port": (use_refused_port, "connection", "nothing listens at 127.0.0.1:", "start the cluster"),
    "unknown host": (
        put("cluster", server="https://no-such-host.invalid"),
        "connection",
        "no address for the name no-such-host",
        "check its spelling",
    ),
    "http to a port of TLS": (
        lambda setup: setup.cluster.update(server=setup.cluster["server"].replace("https", "http")),
        "connection",
        "",
        "write https://",
    ),
    "missing plugin": (
        lambda setup: use_plugin(setup, "no-such-plugin", installHint="apt install no-such-plugin"),
        "credentials",
        "'no-such-plugin' is not installed",
        "apt install no-such-plugin",
    ),
    "plugin that fails": (use_failing_plugin, "credentials", "3", "run the plugin's command yourself"),
    "no permissions": (
        put("user", token="n0b0dy"),
        "permissions",
        "may do nothing in default",
        "rolebinding",
    ),
    "missing namespace": (
        put("context", namespace="nowhere"),
        "namespace",
        "nowhere does not exist",
        "create namespace nowhere",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_wrong_is_found_with_what_to_do(fault: str, setup: Setup) -> None:
    breaking, name, found, advice = BROKEN[fault]
    breaking(setup)
    checks = setup.checks()
    failures = [check for check in checks if check.outcome == "failed"]
    assert name in [check.name for check in failures], checks
    (check,) = [check for check in failures if check.name == name]
    assert found in check.finding
    assert advice in check.advice
    assert check.advice
    # What stands before it on the way is well.
    well = {"ok", "skipped", "warning"} if fault.startswith("http") else {"ok", "skipped"}
    assert {one.outcome for one in checks[: checks.index(check)]} <= well, checks
    shown = "".join(map(str, checks))
    assert not {word for word in (TOKEN, "n0b0dy", "s3cret", "PRIVATE KEY") if word in shown}


def test_a_set_up_that_works_has_no_complaint(setup: Setup) -> None:
    checks = setup.checks()
    assert [(check.name, check.outcome) for check in checks] == [
        (name, "ok")
        for name in (
            "kubeconfig", "context", "settings", "credentials",
            "server", "account", "namespace", "permissions",
        )
    ]  # fmt: skip
    assert not any(check.advice for check in checks)


def test_a_file_that_does_not_exist_is_found_with_where_to_get_one(tmp_path: Path) -> None:
    (check,) = look(tmp_path / "gone")
    assert (check.name, check.outcome) == ("kubeconfig", "failed")
    assert check.finding == f"{tmp_path}/gone does not exist"
    assert "$KUBECONFIG" in check.advice


def test_in_a_pod_a_file_that_was_named_must_exist_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    [check] = look(tmp_path / "nothing")
    assert (check.name, check.outcome) == ("kubeconfig", "failed")


def test_a_server_that_is_asked_for_needs_no_file_and_no_context(
    server: SimServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").write_text("apiVersion: v1\nkind: Config\n")
    for kubeconfig in (tmp_path / "nothing", tmp_path / "empty"):
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        checks = asyncio.run(diagnose(server=server.url, token=TOKEN, insecure=True))
        assert [check for check in checks if check.outcome == "failed"] == []
        assert TOKEN not in repr(checks)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    checks = asyncio.run(diagnose(server=server.url, token="wr0ng", insecure=True))
    assert [check.name for check in checks if check.outcome == "failed"]
    assert "wr0ng" not in repr(checks)


def test_of_several_files_those_that_are_missing_are_named(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.checks()
    monkeypatch.setenv("KUBECONFIG", f"{setup.folder}/gone:{setup.path}")
    checks = asyncio.run(diagnose())
    assert checks[0].outcome == "warning"
    assert "gone does not exist" in checks[0].finding
    assert {check.outcome for check in checks[1:]} == {"ok"}


def test_a_file_that_others_can_read_and_a_server_that_is_not_verified_are_warned_of(setup: Setup) -> None:
    del setup.cluster["certificate-authority-data"]
    setup.cluster["insecure-skip-tls-verify"] = True
    setup.path.write_text(json.dumps(setup.document))
    setup.path.chmod(0o644)
    checks = setup.checks()
    warnings = {
        check.finding.partition(":")[0]: check.advice for check in checks if check.outcome == "warning"
    }
    assert warnings["insecure-skip-tls-verify is set"].startswith("set certificate-authority-data")
    (advice,) = [advice for found, advice in warnings.items() if "other users" in found]
    assert advice == f"chmod 600 {setup.path}"


def test_rights_that_are_needed_are_asked_for_one_by_one(setup: Setup) -> None:
    needed = [
        RequiredAccess("", "pods", "list", scope="cluster"),
        RequiredAccess("apps", "deployments/scale", "patch"),
    ]
    granted = setup.checks(needed=needed)
    assert granted[-1] == Check("permissions", "ok", "the account has all 2 needed permissions")
    setup.path.unlink()
    setup.user["token"] = "n0b0dy"
    refused = [check.finding for check in setup.checks(needed=needed)[-2:]]
    assert refused == [
        "the account may not list pods in all namespaces",
        "the account may not patch deployments/scale.apps in default",
    ]


def test_a_right_in_a_namespace_is_not_one_in_all(setup: Setup) -> None:
    setup.user["token"] = "r34der"
    needed = [RequiredAccess("", "pods", "list"), RequiredAccess("", "pods", "list", scope="cluster")]
    permissions = [check for check in setup.checks(needed=needed) if check.name == "permissions"]
    assert [(check.outcome, check.finding) for check in permissions] == [
        ("ok", "in default: list pods"),
        ("failed", "the account may not list pods in all namespaces"),
    ]


def test_the_newest_release_that_was_tested_is_not_newer_than_that(setup: Setup) -> None:
    with responding(body=version_of(36)) as url:
        setup.cluster["server"] = url
        assert Check("server", "ok", "it is Kubernetes v1.36.0") in setup.checks()


def test_each_check_is_reported_when_it_is_made(setup: Setup) -> None:
    reported: list[Check] = []
    assert tuple(reported) != setup.checks(notify=reported.append)
    assert tuple(reported) == setup.checks()


class Responses(http.server.BaseHTTPRequestHandler):
    """One body for every request."""

    body = b""
    media = "application/json"
    status = 200
    shift = 0.0

    def do_GET(self) -> None:
        self.send_response_only(self.status)
        self.send_header("Date", formatdate(time.time() + self.shift, usegmt=True))
        self.send_header("Content-Type", self.media)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def responding(**attributes: Any) -> Generator[str]:
    handler = type("Handler", (Responses,), attributes)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()


def version_of(minor: int) -> bytes:
    return json.dumps({"major": "1", "minor": str(minor), "gitVersion": f"v1.{minor}.0"}).encode()


@pytest.mark.parametrize(
    ("attributes", "name", "outcome", "found", "advice"),
    [
        ({"body": version_of(25)}, "server", "warning", "v1.25.0, older than", "docs/releases.md"),
        ({"body": version_of(99)}, "server", "ok", "v1.99.0, newer than", ""),
        (
            {"body": b"<html>", "media": "text/html"},
            "server",
            "failed",
            "not a Kubernetes API server",
            "host, the port",
        ),
        ({"status": 404, "body": b"no"}, "server", "failed", "not a Kubernetes API server", "host, the port"),
        ({"status": 502, "body": b"bad gateway"}, "server", "failed", "not a Kubernetes API server", "host"),
        (
            {"body": version_of(36), "shift": 3600},
            "clock",
            "warning",
            "60 min behind the clock of the server",
            "timedatectl",
        ),
        (
            {"body": version_of(36), "shift": -7200},
            "clock",
            "warning",
            "2 h ahead of the clock of",
            "timedatectl",
        ),
        ({"body": version_of(36)}, "clock", "ok", "agree", ""),
        ({"status": 403, "body": b"no"}, "server", "skipped", "it does not report its version", ""),
    ],
)
def test_what_a_server_says_of_itself(
    attributes: dict[str, Any], name: str, outcome: str, found: str, advice: str, setup: Setup
) -> None:
    with responding(**attributes) as url:
        setup.cluster.clear()
        setup.cluster["server"] = url
        setup.user.clear()
        checks = setup.checks()
    (check,) = [check for check in checks if check.name == name]
    assert (check.outcome, bool(check.advice)) == (outcome, bool(advice))
    assert found in check.finding
    assert advice in check.advice


def test_a_port_without_http_and_one_without_tls_are_distinguished(setup: Setup) -> None:
    def greet(listening: socket.socket) -> None:
        while True:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            with accepted:
                accepted.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 20)
                accepted.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=greet, args=(listening,))
        thread.start()
        port = listening.getsockname()[1]
        found: dict[str, str] = {}
        for scheme in ("http", "https"):
            setup.path.unlink(missing_ok=True)
            setup.cluster["server"] = f"{scheme}://127.0.0.1:{port}"
            found[scheme] = setup.checks()[-1].finding
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert "before the head of the response was complete" in found["http"]
    assert "does not speak TLS" in found["https"]


def test_an_expired_certificate_of_a_server_is_found(tmp_path: Path, setup: Setup) -> None:
    old = Authority("old", now=datetime.now(UTC) - timedelta(days=400))
    security = Security(context=server_context(old, tmp_path, "127.0.0.1"), authority=old.certificate)
    with serving(Cluster(), security=security) as served:
        document = json.loads(served.kubeconfig)
        setup.document.update(document)
        (check,) = [check for check in setup.checks() if check.outcome == "failed"]
    assert (check.name, check.finding) == ("connection", "the certificate of the server has expired")
    assert "clock of this machine" in check.advice


def test_a_server_that_never_responds_is_given_up(setup: Setup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        setup.cluster["server"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        checks = setup.checks(timeout=0.05)
    assert checks[-1].name == "connection"
    assert "did not respond in time" in checks[-1].finding


def test_the_clock_that_tells_what_has_expired_is_given(setup: Setup) -> None:
    setup.user["token"] = jwt(time.time() + 86400)
    checks = setup.checks(wall_clock=lambda: time.time() + 400 * 86400)
    assert "which expired at" in next(check.finding for check in checks if check.outcome == "failed")

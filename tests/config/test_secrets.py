"""No value and no error shows a secret: each is built with marked secrets and searched for the marker."""

from __future__ import annotations

import json
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest

from kubeproto import KubeprotoError, config as package
from kubeproto.config import (
    Config,
    ConfigError,
    Connection,
    Credentials,
    Identity,
    Impersonation,
    Kubeconfig,
    Oidc,
    Overrides,
    Plugin,
    PluginPolicy,
    RequiredFiles,
    UnreadableFile,
    Url,
    credentials,
    credentials as c,
    infer,
    proxy_for,
)

MARK: Final = "hunter2"
B64: Final = b64encode(MARK.encode()).decode()
PEM: Final = f"-----BEGIN PRIVATE KEY-----\n{MARK}".encode()
V1: Final = "client.authentication.k8s.io/v1"

CHOICE: Final = Kubeconfig.parse(
    json.dumps(
        {
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": "https://h",
                        "certificate-authority-data": b64encode(PEM).decode(),
                        "proxy-url": f"http://u:{MARK}@p",
                        "extensions": [{"name": "x", "extension": {"k": MARK}}],
                    },
                }
            ],
            "users": [
                {
                    "name": "u",
                    "user": {
                        "client-certificate-data": b64encode(PEM).decode(),
                        "client-key-data": b64encode(PEM).decode(),
                        "token": MARK,
                        "password": MARK,
                        "auth-provider": {"name": "oidc", "config": {"refresh-token": MARK}},
                        "exec": {"command": "x", "args": [MARK], "env": [{"name": "A", "value": MARK}]},
                    },
                }
            ],
        }
    ).encode()
).choose(cluster="c", user="u")
assert CHOICE is not None
CLUSTER: Final = CHOICE.cluster
USER: Final = CHOICE.user
CONNECTION: Final = Connection(
    server="https://h",
    client_certificate=PEM,
    client_key=PEM,
    proxy=f"http://u:{MARK}@p",
    headers=(("Authorization", MARK), ("Cookie", MARK)),
)
PLUGIN: Final = Plugin(command="x", args=(MARK,), env=(("A", MARK),), cluster=json.dumps(MARK).encode())
OIDC: Final = Oidc(
    issuer="https://id",
    client_id="me",
    client_secret=MARK,
    id_token=MARK,
    refresh_token=MARK,
    ca=PEM,
    proxy=f"http://u:{MARK}@p",
)
IDENTITY: Final = Identity(token=MARK, certificate=PEM, key=PEM)
CREDENTIALS: Final = Credentials(authorization=f"Bearer {MARK}", client_certificate=PEM, client_key=PEM)
COURSE: Final = c.RenewalContext(identity=Identity(plugin=PLUGIN))
OIDC_COURSE: Final = c.RenewalContext(identity=Identity(oidc=OIDC))
HOLDING: Final = c.CurrentCredentials(credentials=CREDENTIALS, accepted_since=0.0, renew_at=0.0)
KUBECONFIG: Final = Kubeconfig.parse(
    json.dumps(
        {"users": [{"name": "u", "user": {"token": MARK, "password": MARK}}], "unknown": MARK}
    ).encode()
)


def discover() -> c.Discover:
    _, [task, *_] = c.step(c.NoCredentials(OIDC_COURSE), c.CredentialsRequested(), 0.0)
    assert isinstance(task, c.Discover)
    return task


def redeem() -> c.Redeem:
    answer = c.Responded(200, (), b'{"token_endpoint": "https://id/t"}')
    _, [task] = c.step(c.Renewing(OIDC_COURSE, discover()), answer, 0.0)
    assert isinstance(task, c.Redeem)
    assert MARK.encode() in task.request.body
    return task


def run_plugin() -> c.RunPlugin:
    _, [task, *_] = c.step(c.NoCredentials(COURSE), c.CredentialsRequested(), 0.0)
    assert isinstance(task, c.RunPlugin)
    assert MARK in str(task.env[0][1])
    return task


VALUES: Final[tuple[object, ...]] = (
    CLUSTER, USER, *CLUSTER.extensions, USER.auth_provider, USER.exec, *(USER.exec.env if USER.exec else ()),
    CONNECTION, CONNECTION.proxy_url, PLUGIN, OIDC, IDENTITY, CREDENTIALS, HOLDING, KUBECONFIG,
    CHOICE,
    Config(connection=CONNECTION, identity=IDENTITY), Overrides(headers=(("Authorization", MARK),)),
    COURSE, c.Static(CREDENTIALS), c.NoCredentials(COURSE), c.Active(COURSE, HOLDING),
    run_plugin(), discover(), redeem(),
    c.Renewing(OIDC_COURSE, redeem(), HOLDING), c.BackingOff(COURSE, HOLDING, 1, 0.0, "why"),
    c.FilesRead((MARK.encode(),)), c.PluginExited(0, MARK.encode()),
    c.Responded(200, (("a", MARK),), MARK.encode()),
    c.UseCredentials(CREDENTIALS), c.SaveTokens(MARK, MARK),
)  # fmt: skip

# These never hold a secret.
WITHOUT_SECRETS: Final = (
    Impersonation, RequiredFiles, PluginPolicy, UnreadableFile, c.Cancelled,
    c.CloseConnections, c.Failed, c.PluginMissing, c.ReadFiles, c.RefuseRequest,
    c.CredentialsRejected, c.Wait, c.CredentialsRequested,
    c.Warn, c.ProviderRequest,
)  # fmt: skip


def structs() -> Iterator[type]:
    for module in (package, credentials):
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, msgspec.Struct):
                yield value


def rendered(value: object) -> str:
    """Return the output of a log, a debugger and a rich traceback for a value."""
    rich = repr(value.__rich_repr__()) if isinstance(value, msgspec.Struct) else ""
    return f"{value!r} {value!s} {value} {rich}"


def test_every_struct_is_tested_or_contains_no_secret() -> None:
    searched_types = {type(value) for value in VALUES} | set(WITHOUT_SECRETS)
    assert {kind.__name__ for kind in structs()} - {kind.__name__ for kind in searched_types} == set()


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_no_value_shows_a_secret(value: object) -> None:
    assert MARK not in rendered(value)
    assert B64 not in rendered(value)


def test_the_search_detects_a_secret() -> None:
    assert MARK in rendered(c.Failed(MARK))
    assert MARK.encode() in KUBECONFIG.dump()


def kubeconfig(user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Callable[[], object]:
    value = {
        "clusters": [{"name": "c", "cluster": {"server": "https://h"} | (cluster or {})}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    files = {"/f": json.dumps(value).encode()}
    return lambda: infer({"KUBECONFIG": "/f"}, files)


def fail_task(context: c.RenewalContext, task: c.Task, event: c.Event) -> Callable[[], object]:
    def run() -> object:
        state, actions = c.step(c.Renewing(context, task, HOLDING), event, 0.0)
        assert isinstance(state, c.BackingOff), "the task must fail"
        assert MARK not in rendered(state) + rendered(actions)
        raise c.RefuseRequest(state.reason, 0.0).error

    return run


def plugin_output(text: str | bytes) -> Callable[[], object]:
    return fail_task(
        COURSE, run_plugin(), c.PluginExited(0, text.encode() if isinstance(text, str) else text)
    )


def exec_credential(**status: Any) -> Callable[[], object]:
    return plugin_output(json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status}))


FILES: Final = c.RenewalContext(identity=Identity(token_file="/t", certificate_file="/c", key_file="/k"))
READ: Final = c.ReadFiles(("/t", "/c", "/k"))

MISTAKES: Final[dict[str, Callable[[], object]]] = {
    "server": lambda: Connection(server=f"https://u:{MARK}@h"),
    "server query": lambda: Connection(server=f"https://h?token={MARK}"),
    "server port": lambda: Connection(server=f"https://u:{MARK}@h:port"),
    "proxy": lambda: Connection(server="https://h", proxy=f"http://u:{MARK}@p:x"),
    "proxy in the environment": lambda: proxy_for("https://h", {"HTTPS_PROXY": f"u:{MARK}@p:x"}),
    "proxy with a slash": lambda: Connection(server="https://h", proxy=f"http://u:a/{MARK}@p"),
    "proxy with a blank": lambda: Connection(server="https://h", proxy=f"http://u:a {MARK}@p"),
    "header": lambda: Connection(server="https://h", headers=(("a", f"{MARK}\n"),)),
    "pem": lambda: Connection(server="https://h", client_certificate=PEM, client_key=MARK.encode()),
    "authorization": lambda: Credentials(authorization=f"Bearer {MARK}\n"),
    "yaml": lambda: Kubeconfig.parse(f"users:\n- user: {{token: {MARK}]".encode()),
    "yaml tag": lambda: Kubeconfig.parse(f"token: !{MARK}".encode()),
    "yaml anchor": lambda: Kubeconfig.parse(f"token: *{MARK}".encode()),
    "yaml key": lambda: Kubeconfig.parse(f"{MARK}: 1\n{MARK}: 2".encode()),
    "yaml quote": lambda: Kubeconfig.parse(f"token: '{MARK}".encode()),
    "yaml directive": lambda: Kubeconfig.parse(f"%{MARK} 1\n---\na: b".encode()),
    "json": lambda: Kubeconfig.parse(f'{{"token": "{MARK}'.encode()),
    "not utf-8": lambda: Kubeconfig.parse(f"token: {MARK}\xff".encode("latin-1")),
    "type": lambda: Kubeconfig.parse(f"users: [{{user: {{token: [{MARK}]}}}}]".encode()),
    "base64": lambda: Kubeconfig.parse(f"users: [{{user: {{client-key-data: '{MARK}!'}}}}]".encode()),
    "not an object": lambda: Kubeconfig.parse(MARK.encode()),
    "basic and token": kubeconfig({"token": MARK, "username": "u", "password": MARK}),
    "key alone": kubeconfig({"client-key-data": B64}),
    "key is not a pem": kubeconfig({"client-key-data": B64, "client-certificate-data": B64}),
    "cluster's proxy": kubeconfig({}, {"proxy-url": f"http://u:{MARK}@p:x"}),
    "cluster's server": kubeconfig({}, {"server": f"https://u:{MARK}@h"}),
    "provider's ca": kubeconfig(
        {"auth-provider": {"name": "oidc", "config": {"idp-certificate-authority-data": f"{MARK}!"}}}
    ),
    "token file": fail_task(FILES, READ, c.FilesRead((f"a\n{MARK}".encode(), PEM, PEM))),
    "token file in utf-8": fail_task(FILES, READ, c.FilesRead((f"{MARK}é".encode(), PEM, PEM))),
    "key file": fail_task(FILES, READ, c.FilesRead((b"a", PEM, MARK.encode()))),
    "plugin's garbage": plugin_output(f"Password for {MARK}:"),
    "plugin's yaml": plugin_output(f"token: !{MARK} x"),
    "plugin's json": plugin_output(f'{{"token": "{MARK}"'),
    "plugin's bytes": plugin_output(MARK.encode() + b"\xff"),
    "plugin's list": plugin_output(f"[{MARK}]"),
    "plugin's kind": plugin_output(json.dumps({"kind": MARK, "apiVersion": MARK, "status": {"token": MARK}})),
    "plugin's version": plugin_output(json.dumps({"kind": "ExecCredential", "apiVersion": MARK})),
    "plugin's types": exec_credential(token=[MARK]),
    "plugin's time": exec_credential(token="t", expirationTimestamp=MARK),
    "plugin's half pair": exec_credential(token=MARK, clientKeyData=MARK),
    "plugin's odd pair": exec_credential(clientCertificateData=MARK, clientKeyData=MARK),
    "plugin's line end": exec_credential(token=f"{MARK}\r\nx: y"),
    "plugin's nothing": plugin_output(""),
    "plugin's code": fail_task(COURSE, run_plugin(), c.PluginExited(1, MARK.encode())),
    "provider's refusal": fail_task(
        OIDC_COURSE, redeem(), c.Responded(400, (), f'{{"error": "{MARK}"}}'.encode())
    ),
    "provider's garbage": fail_task(OIDC_COURSE, redeem(), c.Responded(200, (), MARK.encode())),
    "provider's endpoint": fail_task(
        OIDC_COURSE, discover(), c.Responded(200, (), f'{{"token_endpoint": "https://{MARK}@x/"}}'.encode())
    ),
    "provider's types": fail_task(
        OIDC_COURSE, redeem(), c.Responded(200, (), f'{{"id_token": ["{MARK}"]}}'.encode())
    ),
    "an event out of place": lambda: c.step(c.NoCredentials(COURSE), c.PluginExited(0, MARK.encode()), 0.0),
}  # fmt: skip


def exception_parts(error: BaseException) -> Iterator[str]:
    """Yield an exception and its causes with their arguments and notes."""
    texts: list[BaseException | None] = [error]
    while texts:
        frame = texts.pop()
        if frame is not None:
            yield f"{frame} {frame!r} {frame.args} {vars(frame)} {getattr(frame, '__notes__', '')}"
            texts += [frame.__cause__, frame.__context__]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_error_shows_a_secret(mistake: str) -> None:
    with pytest.raises(KubeprotoError) as raised:
        MISTAKES[mistake]()
    assert not [text for text in exception_parts(raised.value) if MARK in text]
    lines = traceback.format_exception_only(raised.value)
    assert MARK not in "".join(lines)


def test_an_unknown_oauth_error_code_is_not_repeated() -> None:
    event = c.Responded(400, (), b'{"error": "' + b"x" * 50 + b'"}')
    state, _ = c.step(c.Renewing(OIDC_COURSE, redeem()), event, 0.0)
    assert isinstance(state, c.BackingOff)
    assert state.reason == "the response of the identity provider is 400"


def test_errors_in_settings_are_value_errors() -> None:
    assert issubclass(ConfigError, ValueError)
    assert isinstance(CONNECTION.proxy_url, Url)

"""The transition table of the credentials machine; every other pair of state and event is refused."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any, Final

import pytest
from diagrams import arrows
from msgspec.structs import replace

from kubeproto import LocalProtocolError
from kubeproto.config import ConfigError, Identity, Oidc, Plugin, UnreadableFile, credentials as c
from kubeproto.wire import RawRequest

NOW: Final = 1_000_000.0
CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----\none"
OTHER_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----\ntwo"
KEY: Final = b"-----BEGIN PRIVATE KEY-----"
V1: Final = "client.authentication.k8s.io/v1"


def jwt(exp: float | None, name: str = "") -> str:
    claims = {"sub": name} if exp is None else {"sub": name, "exp": exp}
    return f"e30.{urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c2ln"


def output(token: str = "", *, expires: str = "", certificate: bytes = b"") -> bytes:
    status: dict[str, Any] = {}
    if token:
        status["token"] = token
    if expires:
        status["expirationTimestamp"] = expires
    if certificate:
        status |= {"clientCertificateData": certificate.decode(), "clientKeyData": KEY.decode()}
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status}).encode()


FILES: Final = c.RenewalContext(identity=Identity(token_file="/token"))
PLUGIN: Final = c.RenewalContext(identity=Identity(plugin=Plugin(command="login", install_hint="get it")))
OIDC_CLIENT: Final = Oidc(issuer="https://id/realm", client_id="me", client_secret="s", refresh_token="r1")
OIDC: Final = c.RenewalContext(identity=Identity(oidc=OIDC_CLIENT))

READ: Final = c.ReadFiles(("/token",))
INFO: Final = f'{{"kind":"ExecCredential","apiVersion":"{V1}","spec":{{"interactive":false}}}}'
RUN: Final = c.RunPlugin(command="login", env=(("KUBERNETES_EXEC_INFO", INFO),))


def discover() -> c.Discover:
    renewing, actions = c.step(c.NoCredentials(OIDC), c.CredentialsRequested(), NOW)
    assert isinstance(renewing, c.Renewing)
    [task, wait] = actions
    assert isinstance(task, c.Discover)
    assert wait == c.Wait()
    return task


DISCOVER: Final = discover()
PROVIDER: Final = c.Responded(200, (), b'{"token_endpoint": "https://id:8443/token?x=1"}')


def redeem() -> c.Redeem:
    _, [task] = c.step(c.Renewing(OIDC, DISCOVER), PROVIDER, NOW)
    assert isinstance(task, c.Redeem)
    return task


REDEEM: Final = redeem()

ONE: Final = c.Credentials(generation=1, authorization="Bearer one")
TWO: Final = c.Credentials(generation=2, authorization="Bearer two")
HOLDING: Final = c.CurrentCredentials(credentials=ONE, accepted_since=NOW, renew_at=NOW + 60)
ENDING: Final = c.CurrentCredentials(
    credentials=ONE, accepted_since=NOW, renew_at=NOW + 540, expires=NOW + 600
)
ENDLESS: Final = c.CurrentCredentials(credentials=ONE, accepted_since=NOW, renew_at=float("inf"))

FIXED: Final = c.Static(ONE, "why")
VACANT: Final = c.NoCredentials(FILES)
HELD: Final = c.Active(PLUGIN, ENDING)
READING: Final = c.Renewing(FILES, READ)
RUNNING: Final = c.Renewing(PLUGIN, RUN, ENDING)
DISCOVERING: Final = c.Renewing(OIDC, DISCOVER)
REDEEMING: Final = c.Renewing(OIDC, REDEEM)
TROUBLED: Final = c.BackingOff(PLUGIN, ENDING, 3, NOW + 4, "because")
EMPTY: Final = c.BackingOff(PLUGIN, None, 1, NOW + 1, "because")

AT_900: Final = "1970-01-12T14:01:40Z"  # NOW + 900


def active(context: c.RenewalContext, **fields: Any) -> c.Active:
    return c.Active(context, replace(ENDLESS, **fields))


def backing_off(state: c.Renewing, reason: str, *, delay: float = 1.0) -> c.BackingOff:
    return c.BackingOff(state.context, state.current, state.failures + 1, NOW + delay, reason)


def fail_renewal(
    state: c.Renewing, reason: str, *, delay: float = 1.0
) -> tuple[c.State, tuple[c.Action, ...]]:
    return backing_off(state, reason, delay=delay), (c.Warn(reason),)


Row = tuple[str, c.State, c.Event, float, tuple[c.State, tuple[c.Action, ...]]]

ROWS: Final[list[Row]] = [
    # Fixed credentials.
    ("fixed credentials are used", FIXED, c.CredentialsRequested(), NOW, (FIXED, (c.UseCredentials(ONE),))),
    (
        "a 401 for fixed credentials is told, and nothing is done",
        FIXED,
        c.CredentialsRejected(1),
        NOW,
        (FIXED, (c.Warn("the server rejected the credentials, and why"),)),
    ),
    # The first request.
    (
        "the first request reads the files",
        VACANT,
        c.CredentialsRequested(),
        NOW,
        (c.Renewing(FILES, READ), (READ, c.Wait())),
    ),
    (
        "the first request runs the plugin",
        c.NoCredentials(PLUGIN),
        c.CredentialsRequested(),
        NOW,
        (c.Renewing(PLUGIN, RUN), (RUN, c.Wait())),
    ),
    ("the next ones wait", READING, c.CredentialsRequested(), NOW, (READING, (c.Wait(),))),
    # Files.
    (
        "a token file is stripped and looked at every minute",
        READING,
        c.FilesRead((b" one\n",)),
        NOW,
        (active(FILES, renew_at=NOW + 60), ()),
    ),
    (
        "a token that did not change keeps its generation",
        c.Renewing(FILES, READ, HOLDING),
        c.FilesRead((b"one",)),
        NOW + 70,
        (active(FILES, renew_at=NOW + 130), ()),
    ),
    (
        "a token that changed has the next generation",
        c.Renewing(FILES, READ, HOLDING),
        c.FilesRead((b"two",)),
        NOW + 70,
        (active(FILES, credentials=TWO, renew_at=NOW + 130), ()),
    ),
    (
        "a file that cannot be read keeps the old token",
        c.Renewing(FILES, READ, HOLDING),
        c.FilesRead((UnreadableFile("no such file", missing=True),)),
        NOW,
        fail_renewal(c.Renewing(FILES, READ, HOLDING), "/token cannot be read: no such file"),
    ),
    (
        "an empty file is not a token",
        READING,
        c.FilesRead((b" \n",)),
        NOW,
        fail_renewal(READING, "/token is empty"),
    ),
    (
        "two words are not one token",
        READING,
        c.FilesRead((b"MARK MARK",)),
        NOW,
        fail_renewal(READING, "/token does not contain a token"),
    ),
    (
        "two lines are not one token",
        READING,
        c.FilesRead((b"MARK\nMARK",)),
        NOW,
        fail_renewal(READING, "/token does not contain a token"),
    ),
    # Plugins.
    (
        "a plugin without an expiry is asked again after a 401 only",
        c.Renewing(PLUGIN, RUN),
        c.PluginExited(0, output("one")),
        NOW,
        (active(PLUGIN), ()),
    ),
    (
        "a plugin is asked again a minute before the end",
        c.Renewing(PLUGIN, RUN),
        c.PluginExited(0, output("one", expires=AT_900)),
        NOW,
        (active(PLUGIN, renew_at=NOW + 840, expires=NOW + 900), ()),
    ),
    (
        "a short life is renewed after nine tenths of it",
        c.Renewing(PLUGIN, RUN),
        c.PluginExited(0, output("one", expires=AT_900)),
        NOW + 800,
        (active(PLUGIN, accepted_since=NOW + 800, renew_at=NOW + 890, expires=NOW + 900), ()),
    ),
    (
        "what has expired on arrival is used for ten seconds",
        c.Renewing(PLUGIN, RUN),
        c.PluginExited(0, output("one", expires=AT_900)),
        NOW + 5000,
        (active(PLUGIN, accepted_since=NOW + 5000, renew_at=NOW + 5009, expires=NOW + 5010), ()),
    ),
    (
        "a new client certificate closes the connections that show the old one",
        c.Renewing(PLUGIN, RUN, ENDLESS),
        c.PluginExited(0, output("one", certificate=OTHER_CERTIFICATE)),
        NOW,
        (
            active(
                PLUGIN,
                credentials=replace(ONE, generation=2, client_certificate=OTHER_CERTIFICATE, client_key=KEY),
            ),
            (c.CloseConnections(),),
        ),
    ),
    (
        "a plugin that fails is named with its code",
        RUNNING,
        c.PluginExited(3, b"MARK"),
        NOW,
        fail_renewal(RUNNING, "the plugin 'login' exited with 3"),
    ),
    (
        "a plugin that prints garbage is told, and the garbage is not",
        RUNNING,
        c.PluginExited(0, b"MARK: [MARK\n"),
        NOW,
        fail_renewal(
            RUNNING,
            "the output of the plugin 'login', line 2: did not find expected ',' or ']'",
        ),
    ),
    (
        "a plugin that is not there says how to get it",
        RUNNING,
        c.PluginMissing(),
        NOW,
        fail_renewal(RUNNING, "the program 'login', which prints the credentials, does not exist; get it"),
    ),
    (
        "a plugin that hangs was killed",
        RUNNING,
        c.Failed("it did not end within 120 s"),
        NOW,
        fail_renewal(RUNNING, "the plugin 'login': it did not end within 120 s"),
    ),
    # OpenID Connect.
    ("the provider is asked twice", DISCOVERING, PROVIDER, NOW, (REDEEMING, (REDEEM,))),
    (
        "new tokens are kept, and the next renewal needs the new refresh token",
        REDEEMING,
        c.Responded(200, (), json.dumps({"id_token": jwt(NOW + 900), "refresh_token": "r2"}).encode()),
        NOW,
        (
            active(
                c.RenewalContext(
                    identity=Identity(oidc=replace(OIDC_CLIENT, id_token=jwt(NOW + 900), refresh_token="r2"))
                ),
                credentials=replace(ONE, authorization=f"Bearer {jwt(NOW + 900)}"),
                renew_at=NOW + 840,
                expires=NOW + 900,
            ),
            (c.SaveTokens(jwt(NOW + 900), "r2"),),
        ),
    ),
    (
        "a provider's refusal is told by its word",
        REDEEMING,
        c.Responded(400, (), b'{"error": "invalid_grant", "error_description": "MARK"}'),
        NOW,
        fail_renewal(REDEEMING, "the response of the identity provider is 400: invalid_grant"),
    ),
    (
        "a provider that cannot be reached is named",
        DISCOVERING,
        c.Failed("connection refused"),
        NOW,
        fail_renewal(DISCOVERING, "the request to the identity provider at id: connection refused"),
    ),
    # Renewal before the expiration.
    ("what holds is used", HELD, c.CredentialsRequested(), NOW + 539, (HELD, (c.UseCredentials(ONE),))),
    (
        "what is due is renewed and still used",
        HELD,
        c.CredentialsRequested(),
        NOW + 540,
        (c.Renewing(PLUGIN, RUN, ENDING), (RUN, c.UseCredentials(ONE))),
    ),
    (
        "and used by others too",
        RUNNING,
        c.CredentialsRequested(),
        NOW + 599,
        (RUNNING, (c.UseCredentials(ONE),)),
    ),
    ("but not beyond its end", RUNNING, c.CredentialsRequested(), NOW + 600, (RUNNING, (c.Wait(),))),
    (
        "what has expired is waited for",
        HELD,
        c.CredentialsRequested(),
        NOW + 600,
        (c.Renewing(PLUGIN, RUN, ENDING), (RUN, c.Wait())),
    ),
    # 401.
    (
        "a 401 for what is in hand renews it",
        HELD,
        c.CredentialsRejected(1),
        NOW,
        (c.Renewing(PLUGIN, RUN, ENDING, rejected=True), (RUN,)),
    ),
    (
        "a 401 for what was in hand before does nothing",
        c.Active(PLUGIN, replace(ENDING, credentials=TWO)),
        c.CredentialsRejected(1),
        NOW,
        (c.Active(PLUGIN, replace(ENDING, credentials=TWO)), ()),
    ),
    (
        "a 401 while the same is being renewed stops its use",
        RUNNING,
        c.CredentialsRejected(1),
        NOW,
        (replace(RUNNING, rejected=True), ()),
    ),
    (
        "a late 401 of an older generation does not",
        replace(RUNNING, current=replace(ENDING, credentials=TWO)),
        c.CredentialsRejected(1),
        NOW,
        (replace(RUNNING, current=replace(ENDING, credentials=TWO)), ()),
    ),
    (
        "what was refused is not used while others are being had",
        replace(RUNNING, rejected=True),
        c.CredentialsRequested(),
        NOW,
        (replace(RUNNING, rejected=True), (c.Wait(),)),
    ),
    (
        "the first renewal for a 401 makes the next ones wait",
        replace(RUNNING, current=ENDLESS, rejected=True),
        c.PluginExited(0, output("two")),
        NOW + 5,
        (active(PLUGIN, credentials=TWO, accepted_since=NOW + 5, rejections=1), ()),
    ),
    (
        "new credentials that are refused at once are not renewed at once",
        active(PLUGIN, rejections=1),
        c.CredentialsRejected(1),
        NOW + 0.9,
        (active(PLUGIN, rejections=1), ()),
    ),
    (
        "they are a second later",
        active(PLUGIN, rejections=1),
        c.CredentialsRejected(1),
        NOW + 1,
        (c.Renewing(PLUGIN, RUN, replace(ENDLESS, rejections=1), rejected=True), (RUN,)),
    ),
    (
        "the fourth in a row after eight",
        active(PLUGIN, rejections=4),
        c.CredentialsRejected(1),
        NOW + 7.9,
        (active(PLUGIN, rejections=4), ()),
    ),
    (
        "the five-thousandth after five minutes",
        active(PLUGIN, rejections=5000),
        c.CredentialsRejected(1),
        NOW + 300,
        (c.Renewing(PLUGIN, RUN, replace(ENDLESS, rejections=5000), rejected=True), (RUN,)),
    ),
    (
        "whose success is the first again",
        replace(RUNNING, current=replace(ENDLESS, rejections=5000), rejected=True),
        c.PluginExited(0, output("two")),
        NOW + 300,
        (active(PLUGIN, credentials=TWO, accepted_since=NOW + 300, rejections=1), ()),
    ),
    (
        "a renewal in time forgives no doubt",
        replace(RUNNING, current=replace(ENDLESS, rejections=2)),
        c.PluginExited(0, output("two")),
        NOW + 9,
        (active(PLUGIN, credentials=TWO, rejections=2), ()),
    ),
    # Failures.
    (
        "what still holds is used in trouble",
        TROUBLED,
        c.CredentialsRequested(),
        NOW,
        (TROUBLED, (c.UseCredentials(ONE),)),
    ),
    (
        "what has expired is not, and the reason is told",
        replace(TROUBLED, retry_at=NOW + 700),
        c.CredentialsRequested(),
        NOW + 600,
        (replace(TROUBLED, retry_at=NOW + 700), (c.RefuseRequest("because", NOW + 700),)),
    ),
    (
        "nothing in hand, the same",
        EMPTY,
        c.CredentialsRequested(),
        NOW,
        (EMPTY, (c.RefuseRequest("because", NOW + 1),)),
    ),
    (
        "when it is time, a request retries",
        EMPTY,
        c.CredentialsRequested(),
        NOW + 1,
        (c.Renewing(PLUGIN, RUN, failures=1), (RUN, c.Wait())),
    ),
    (
        "and uses what still holds",
        TROUBLED,
        c.CredentialsRequested(),
        NOW + 4,
        (c.Renewing(PLUGIN, RUN, ENDING, failures=3), (RUN, c.UseCredentials(ONE))),
    ),
    ("a 401 in trouble waits for its time", TROUBLED, c.CredentialsRejected(1), NOW + 3, (TROUBLED, ())),
    (
        "and then renews",
        TROUBLED,
        c.CredentialsRejected(1),
        NOW + 4,
        (c.Renewing(PLUGIN, RUN, ENDING, rejected=True, failures=3), (RUN,)),
    ),
    (
        "the fourth failure waits eight seconds",
        replace(RUNNING, failures=3),
        c.Failed("x"),
        NOW,
        fail_renewal(replace(RUNNING, failures=3), "the plugin 'login': x", delay=8),
    ),
    (
        "the five-thousandth a minute",
        replace(RUNNING, failures=4999),
        c.Failed("x"),
        NOW,
        fail_renewal(replace(RUNNING, failures=4999), "the plugin 'login': x", delay=60),
    ),
    (
        "success forgets the failures",
        replace(RUNNING, failures=7, current=None),
        c.PluginExited(0, output("one")),
        NOW,
        (active(PLUGIN), ()),
    ),
    (
        "a task that was given up is nobody's failure",
        replace(RUNNING, failures=2),
        c.Cancelled(),
        NOW,
        (c.BackingOff(PLUGIN, ENDING, 2, NOW, "the renewal was cancelled"), ()),
    ),
]


@pytest.mark.parametrize(
    ("state", "event", "now", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_a_row_of_the_table(
    state: c.State, event: c.Event, now: float, expected: tuple[c.State, tuple[c.Action, ...]]
) -> None:
    assert c.step(state, event, now) == expected


STATES: Final = (FIXED, VACANT, HELD, READING, RUNNING, DISCOVERING, REDEEMING, TROUBLED)
EVENTS: Final[tuple[c.Event, ...]] = (
    c.CredentialsRequested(),
    c.CredentialsRejected(1),
    c.FilesRead((b"x",)),
    c.PluginExited(0, b""),
    c.PluginMissing(),
    c.Responded(500, (), b""),
    c.Failed("x"),
    c.Cancelled(),
)


def kind(state: c.State) -> tuple[type, type | None]:
    return type(state), type(state.task) if isinstance(state, c.Renewing) else None


# Rows that apply to every task are in the table for a single task.
ANY_TASK: Final = (c.CredentialsRequested, c.CredentialsRejected, c.Failed, c.Cancelled)
IN_TABLE: Final = {(kind(row[1]), type(row[2])) for row in ROWS} | {
    (kind(state), event) for state in STATES if isinstance(state, c.Renewing) for event in ANY_TASK
}


def test_the_diagram_and_the_table_have_the_same_arrows() -> None:
    rows = {(type(state), type(event), type(delay)) for _, state, event, _, (delay, _) in ROWS}
    assert arrows(c.__doc__) == {(arm.__name__, event.__name__, to.__name__) for arm, event, to in rows}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("state", STATES, ids=lambda state: "-".join(str(k) for k in kind(state)))
def test_every_pair_outside_the_table_is_refused(state: c.State, event: c.Event) -> None:
    if (kind(state), type(event)) in IN_TABLE:
        c.step(state, event, NOW)
    else:
        with pytest.raises(LocalProtocolError, match="cannot process"):
            c.step(state, event, NOW)


# The initial state.


def test_fixed_credentials_are_active_immediately() -> None:
    token = c.begin(Identity(token="one"), NOW)
    assert isinstance(token, c.Static)
    assert token.credentials.authorization == "Bearer one"
    password = c.begin(Identity(username="Aladdin", password="open sesame"), NOW)
    assert isinstance(password, c.Static)
    assert password.credentials.authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="  # RFC 7617's example
    pair = c.begin(Identity(certificate=CERTIFICATE, key=KEY), NOW)
    assert isinstance(pair, c.Static)
    assert pair.credentials.pair == (CERTIFICATE, KEY)
    nobody = c.begin(Identity(), NOW)
    assert isinstance(nobody, c.Static)
    assert nobody.credentials == c.Credentials()


def test_certificate_files_may_accompany_a_token() -> None:
    identity = Identity(token="one", certificate_file="/crt", key_file="/key")
    reading, [task, _] = c.step(c.begin(identity, NOW), c.CredentialsRequested(), NOW)
    assert task == c.ReadFiles(("/crt", "/key"))
    state, _ = c.step(reading, c.FilesRead((CERTIFICATE, KEY)), NOW)
    assert isinstance(state, c.Active)
    assert state.current.credentials == c.Credentials(
        authorization="Bearer one", client_certificate=CERTIFICATE, client_key=KEY
    )
    next_state, _ = c.step(state, c.CredentialsRequested(), NOW + 60)
    rotated, actions = c.step(next_state, c.FilesRead((OTHER_CERTIFICATE, KEY)), NOW + 60)
    assert actions == (c.CloseConnections(),)
    assert isinstance(rotated, c.Active)
    assert rotated.current.credentials.generation == 2


def test_certificate_and_key_may_be_in_the_same_file() -> None:
    identity = Identity(certificate_file="/pem", key_file="/pem")
    assert identity.files == ("/pem",)
    reading, _ = c.step(c.begin(identity, NOW), c.CredentialsRequested(), NOW)
    state, _ = c.step(reading, c.FilesRead((CERTIFICATE + KEY,)), NOW)
    assert isinstance(state, c.Active)
    assert state.current.credentials.pair == (CERTIFICATE + KEY, CERTIFICATE + KEY)


@pytest.mark.parametrize(
    ("mode", "terminal", "interactive", "timeout"),
    [
        ("Never", True, False, 120),
        ("IfAvailable", True, True, 600),
        ("IfAvailable", False, False, 120),
        ("Always", True, True, 600),
    ],
)
def test_a_plugin_is_interactive_on_a_terminal(
    mode: str, terminal: bool, interactive: bool, timeout: float
) -> None:
    state = c.begin(Identity(plugin=Plugin(command="x", mode=mode)), NOW, has_terminal=terminal)
    _, [task, _] = c.step(state, c.CredentialsRequested(), NOW)
    assert isinstance(task, c.RunPlugin)
    assert (task.interactive, task.timeout) == (interactive, timeout)
    assert json.loads(dict(task.env)["KUBERNETES_EXEC_INFO"])["spec"] == {"interactive": interactive}


def test_a_plugin_that_requires_a_terminal_is_refused_without_a_terminal() -> None:
    with pytest.raises(ConfigError, match="there is no terminal"):
        c.begin(Identity(plugin=Plugin(command="x", mode="Always")), NOW, has_terminal=False)


@pytest.mark.parametrize(
    ("id_token", "refresh_token", "expected"),
    [
        (jwt(NOW + 600), "r", c.Active),
        (jwt(NOW - 1), "r", c.NoCredentials),
        (jwt(None), "r", c.NoCredentials),
        ("", "r", c.NoCredentials),
        ("garbage", "r", c.NoCredentials),
        ("a.!.c", "r", c.NoCredentials),
        (jwt(NOW - 1), "", c.Static),
    ],
)
def test_a_valid_id_token_is_used_first(id_token: str, refresh_token: str, expected: type) -> None:
    oidc = Oidc(issuer="https://id", client_id="me", id_token=id_token, refresh_token=refresh_token)
    assert type(c.begin(Identity(oidc=oidc), NOW)) is expected


def test_a_renewal_requests_the_discovery_and_the_token_of_the_provider() -> None:
    assert DISCOVER.connection.server == "https://id/realm"
    assert (DISCOVER.request.method, DISCOVER.request.target) == ("GET", "/.well-known/openid-configuration")
    assert REDEEM.connection.authority == "id:8443"
    assert (REDEEM.request.method, REDEEM.request.target) == ("POST", "/token?x=1")
    assert ("Authorization", "Basic bWU6cw==") in REDEEM.request.headers
    assert REDEEM.request.body == b"grant_type=refresh_token&refresh_token=r1"


def test_the_secret_is_sent_in_the_form_if_the_provider_requires_it() -> None:
    body = b'{"token_endpoint":"https://id/t","token_endpoint_auth_methods_supported":["client_secret_post"]}'
    _, [task] = c.step(DISCOVERING, c.Responded(200, (), body), NOW)
    assert isinstance(task, c.Redeem)
    assert "authorization" not in {name.lower() for name, _ in task.request.headers}
    assert task.request.body == b"grant_type=refresh_token&refresh_token=r1&client_id=me&client_secret=s"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (c.Responded(200, (), b"{}"), "no token_endpoint"),
        (c.Responded(200, (), b'{"token_endpoint": "http://id/MARK"}'), "begins with https://"),
        (c.Responded(200, (), b'{"token_endpoint": "https://u:MARK@id/"}'), "credentials in its URL"),
        (c.Responded(200, (), b"MARK"), "200 and is not valid JSON"),
        (c.Responded(200, (("Content-Encoding", "gzip"),), b"MARK"), "200 and is not valid JSON"),
        (c.Responded(404, (), b"<html>MARK"), "404 and is not valid JSON"),
        (c.Responded(403, (), b'{"error": "MARK MARK 1"}'), "is 403"),
        (c.Responded(200, (), b"[" * 100_000), "is not valid JSON"),
    ],
)
def test_an_invalid_response_of_a_provider_is_a_failure(answer: c.Responded, reason: str) -> None:
    state, [warn] = c.step(DISCOVERING, answer, NOW)
    assert isinstance(state, c.BackingOff)
    assert isinstance(warn, c.Warn)
    assert reason in warn.reason
    assert "MARK" not in warn.reason


def test_a_grant_without_an_id_token_is_a_failure() -> None:
    state, _ = c.step(REDEEMING, c.Responded(200, (), b'{"access_token": "MARK"}'), NOW)
    assert isinstance(state, c.BackingOff)
    assert "no id_token" in state.reason


def test_ten_requests_with_an_expired_token_run_a_single_plugin() -> None:
    state: c.State = HELD
    tasks, waiting = 0, 0
    for _ in range(10):
        state, actions = c.step(state, c.CredentialsRequested(), NOW + 601)
        tasks += sum(isinstance(action, c.RunPlugin) for action in actions)
        waiting += actions[-1] == c.Wait()
    assert (tasks, waiting) == (1, 10)
    state, _ = c.step(state, c.PluginExited(0, output("two")), NOW + 602)
    answers = [c.step(state, c.CredentialsRequested(), NOW + 602)[1] for _ in range(10)]
    assert answers == [(c.UseCredentials(TWO),)] * 10


def test_ten_401s_for_the_same_token_run_a_single_plugin() -> None:
    state: c.State = HELD
    tasks = 0
    for _ in range(10):
        state, actions = c.step(state, c.CredentialsRejected(1), NOW)
        tasks += len(actions)
    state, _ = c.step(state, c.PluginExited(0, output("two")), NOW)
    for _ in range(10):
        state, actions = c.step(state, c.CredentialsRejected(1), NOW)
        tasks += len(actions)
    assert tasks == 1


def test_a_server_that_refuses_everything_causes_no_loop_of_plugins() -> None:
    state: c.State = HELD
    runs, now = 0, NOW
    while now < NOW + 500:
        generation = state.current.credentials.generation if isinstance(state, c.Active) else 0
        state, actions = c.step(state, c.CredentialsRejected(generation), now)
        if actions:
            runs += 1
            state, _ = c.step(state, c.PluginExited(0, output(f"t{now}")), now)
        now += 0.25
    assert runs <= 11


def test_credentials_are_added_to_a_request_without_authorization() -> None:
    request = RawRequest("GET", "/api")
    assert ONE.sign(request).headers == (("Authorization", "Bearer one"),)
    own_arrows = request.with_headers(("authorization", "Bearer mine"))
    assert ONE.sign(own_arrows) == own_arrows
    assert c.Credentials().sign(request) == request

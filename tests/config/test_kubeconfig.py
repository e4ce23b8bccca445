"""Kubeconfig files are located, read, merged, selected from and written as in kubectl."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given, strategies as st

from kubeproto.config import (
    ConfigError,
    Kubeconfig,
    kubeconfig_paths,
)

FULL: Final = """\
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: kind
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority: ca.crt
    certificate-authority-data: null
    proxy-url: http://p
    tls-server-name: api
    disable-compression: true
    x-new: [1, null, {a: b}]
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: a, nothing: null}
users:
- name: me
  user:
    client-certificate-data: |
      YQ==
    client-key: ../key
    as: you
    as-uid: "7"
    as-groups: [g, h]
    as-user-extra: {reason: [a, b]}
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/login
      args: null
      env: [{name: A, value: b}]
      interactiveMode: Never
      provideClusterInfo: true
contexts:
- name: main
  context: {cluster: kind, user: me, namespace: ns}
current-context: main
"""


def make_kubeconfig(name: str, **clusters: str) -> Kubeconfig:
    value = {
        "clusters": [{"name": key, "cluster": {"server": server}} for key, server in clusters.items()],
        "current-context": name,
    }
    return Kubeconfig.parse(json.dumps(value).encode())


# Paths.


@pytest.mark.parametrize(
    ("environ", "home", "paths"),
    [
        ({}, "/home/me", ("/home/me/.kube/config",)),
        ({}, "", ()),
        ({"KUBECONFIG": ""}, "/home/me", ("/home/me/.kube/config",)),
        ({"KUBECONFIG": "/a:/b"}, "/home/me", ("/a", "/b")),
        ({"KUBECONFIG": ":/a::/b:/a"}, "/home/me", ("/a", "/b")),
    ],
)
def test_kubeconfig_paths_come_from_the_environment_or_the_home_folder(
    environ: dict[str, str], home: str, paths: tuple[str, ...]
) -> None:
    assert kubeconfig_paths(environ, home) == paths


def test_windows_uses_other_separators() -> None:
    environ = {"KUBECONFIG": r"C:\a;D:\b"}
    assert kubeconfig_paths(environ, separator=";") == (r"C:\a", r"D:\b")
    assert kubeconfig_paths({}, r"C:\Users\me", separator=";") == (r"C:\Users\me\.kube\config",)


# Content.


def test_all_fields_are_read() -> None:
    choice = Kubeconfig.parse(FULL.encode(), "/etc/kube/config").choose()
    assert choice is not None
    assert (choice.context, choice.cluster_name, choice.user_name, choice.namespace) == (
        "main",
        "kind",
        "me",
        "ns",
    )
    cluster, user = choice.cluster, choice.user
    assert cluster.server == "https://127.0.0.1:6443"
    assert cluster.certificate_authority == "/etc/kube/ca.crt"
    assert (cluster.proxy_url, cluster.tls_server_name, cluster.disable_compression) == (
        "http://p",
        "api",
        True,
    )
    assert cluster.extensions[0].extension == {"audience": "a", "nothing": None}
    assert user.client_certificate_data == b"a"
    assert user.client_key == "/etc/kube/../key"
    assert (user.impersonate, user.impersonate_uid, user.impersonate_groups) == ("you", "7", ("g", "h"))
    assert user.impersonate_extra == {"reason": ("a", "b")}
    assert user.exec is not None
    assert user.exec.command == "/etc/kube/bin/login"
    assert [(v.name, v.value) for v in user.exec.env] == [("A", "b")]
    assert (user.exec.interactive_mode, user.exec.provide_cluster_info) == ("Never", True)


@pytest.mark.parametrize(
    ("path", "key", "command", "expected"),
    [
        ("/k/config", "key", "login", ("/k/key", "login")),
        ("/k/config", "/abs/key", "./login", ("/abs/key", "/k/./login")),
        ("config", "key", "bin/login", ("key", "bin/login")),
        ("", "key", "bin/login", ("key", "bin/login")),
        (r"C:\k\config", "key", r"bin\login", (r"C:\k\key", r"C:\k\bin\login")),
        (r"C:\k\config", r"D:\key", "login", (r"D:\key", "login")),
        (r"\\host\share\config", "key", "login", (r"\\host\share\key", "login")),
    ],
)
def test_paths_are_relative_to_their_file(
    path: str, key: str, command: str, expected: tuple[str, str]
) -> None:
    value = {"users": [{"name": "u", "user": {"client-key": key, "exec": {"command": command}}}]}
    [message] = Kubeconfig.parse(json.dumps(value).encode(), path).users
    assert message.user.exec is not None
    assert (message.user.client_key, message.user.exec.command) == expected


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "BOM utf-16-be"]
)
@pytest.mark.parametrize("text", [FULL, "", "\n", "{}", "# only this\n"])
def test_any_encoding_that_editors_write_is_read(text: str, encoding: str) -> None:
    if encoding.startswith("BOM "):
        text, encoding = "\ufeff" + text, encoding[4:]
    assert Kubeconfig.parse(text.encode(encoding)).choose(context="main" if "main" in text else "") == (
        Kubeconfig.parse(text.removeprefix("\ufeff").encode()).choose()
    )


def test_an_empty_file_is_valid() -> None:
    for content in (b"", b"\n---\n", b"null", b"{}", b"apiVersion: v1\nclusters: null\nusers: []\n"):
        config = Kubeconfig.parse(content)
        assert (config.contexts, config.choose()) == ((), None)


def test_several_documents_are_merged() -> None:
    config = Kubeconfig.parse(b"current-context: a\n---\n---\ncurrent-context: b\nclusters: [{name: c}]\n")
    assert (config.current_context, config.clusters[0].name) == ("a", "c")


def test_json_needs_no_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    assert Kubeconfig.parse(b'\n{"current-context": "a"}').current_context == "a"
    with pytest.raises(ConfigError, match="PyYAML, which is not installed"):
        Kubeconfig.parse(b"current-context: a")
    with pytest.raises(ConfigError, match=r"the kubeconfig, line 2: this is not JSON"):
        Kubeconfig.parse(b'{"users":\n MARK}')
    with pytest.raises(ConfigError, match=r"the kubeconfig: users: Expected `array`"):
        Kubeconfig.parse(b'{"users": 5}')


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "/f, line 2: "),
        ("users:\n- name: u\n  user: {token: 5}", r"/f, line 3: users\[0\]\.user\.token: Expected `str`"),
        ('{"users":\n [{"user": {"token": 5}}]}', r"/f, line 2: users\[0\]\.user\.token: Expected `str`"),
        ("users:\n- user:\n    client-key-data: MARK!", r"/f, line 3: .*client-key-data: Invalid base64"),
        ("clusters: {}", "/f, line 1: clusters: Expected `array`"),
        ("clusters: [null]", r"/f, line 1: clusters\[0\]: Expected `object`"),
        ("kind: Pod\napiVersion: v1", "/f, line 1: this is a Pod of v1, not a Config of v1"),
        ("apiVersion: v2", "/f, line 1: this is a Config of v2, not a Config of v1"),
        ("- a", "/f, line 1: this is not a kubeconfig"),
        ("MARK", "/f, line 1: this is not a kubeconfig"),
        ("users:\n- name: u\n- name: u", "/f, line 3: the user 'u' occurs twice"),
        ("token: a\ntoken: b", "/f, line 2: the key … occurs twice"),
        ("---\n---\nclusters: 7", "/f, line 3: clusters: Expected `array`"),
        (
            "users:\n- user:\n    token: *MARK",
            "/f, line 3: this alias stands for nothing: a text that begins",
        ),
        (
            "users:\n- user:\n    token: !MARK",
            "/f, line 3: this tag has no meaning in JSON: a text that begins",
        ),
        ("users:\n- user:\n    token: !!int MARK", "/f, line 3: this is not a valid int"),
        ('users:\n- user:\n    token: !!int "MA\'RK"', "/f, line 3: this is not a valid int"),
        ("users:\n- user:\n    token: !!int 'MA\"''RK'", "/f, line 3: this is not a valid int"),
        ("users:\n- user:\n    token: 'MARK", "/f, line "),
        ('users:\n- user:\n    token: "\\MARK"', "/f, line 3: "),
        ("a: " + "[" * 1000, "/f, line 1: values are nested more than 200 deep"),
        ('{"a": ' + "[" * 100_000, "/f, line 1: "),
        ("a: \x00", "/f"),
    ],
)
def test_an_error_names_file_and_line_and_no_secret(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as raised:
        Kubeconfig.parse(text.encode(), "/f")
    error: BaseException | None = raised.value
    while error is not None:
        assert not any(secret in f"{error} {error.args}" for secret in ("MARK", "MA'", 'MA"'))
        error = error.__context__


def test_a_file_that_is_not_text_is_an_error() -> None:
    with pytest.raises(ConfigError, match="line 2: this is not UTF-8") as raised:
        Kubeconfig.parse(b"a\nMARK\xff", "/f")
    assert raised.value.__context__ is None
    with pytest.raises(ConfigError, match="this is not UTF-16"):
        Kubeconfig.parse(b"a\0b")


PIECES: Final = rb"""users clusters name cluster token-data extensions kind current-context : - { } [ ] " ' ,
    ~ *a &a !!int null 1e9 0x << \ud800"""
ODD: Final = (b"\n", b"  ", b"\n- ", b": ", b"---\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf")
A_PIECE: Final = st.sampled_from([*PIECES.split(), *ODD])


@given(st.binary() | st.lists(A_PIECE, max_size=30).map(b"".join))
@example(b'{"a": "\\ud800"}')
@example(b'a: "\\ud800"')
@example(b"users: [{name: {a: b}}]")
@example(b"extensions: [a, {name: [b]}]\n---\nextensions: [5, {name: 6}]")
def test_any_bytes_are_a_kubeconfig_or_a_clear_error(content: bytes) -> None:
    try:
        config = Kubeconfig.parse(content)
    except ConfigError:
        pass
    else:
        assert Kubeconfig.parse(config.dump(json=True)) == config
        assert Kubeconfig.parse(config.dump()) == config


# Merging.


def test_the_first_file_that_defines_an_entry_has_priority() -> None:
    first = Kubeconfig.parse(b"clusters: [{name: a, cluster: {server: 'https://1'}}]")
    second = Kubeconfig.parse(
        b"current-context: x\nclusters: [{name: a, cluster: {tls-server-name: t}}, {name: b}]"
    )
    merged = Kubeconfig.merge([first, second])
    assert [
        (message.name, message.cluster.server, message.cluster.tls_server_name) for message in merged.clusters
    ] == [
        ("a", "https://1", ""),
        ("b", "", ""),
    ]
    assert merged.current_context == "x"


def test_paths_stay_relative_to_their_files() -> None:
    text = "users: [{name: %s, user: {client-key: key, tokenFile: /t}}]"
    entry = Kubeconfig.parse((text % "a").encode(), "/one/config")
    two = Kubeconfig.parse((text % "b").encode(), "/two/config")
    merged = Kubeconfig.merge([entry, two])
    assert [message.user.client_key for message in merged.users] == ["/one/key", "/two/key"]
    assert Kubeconfig.parse(merged.dump(), "/three/config").users == merged.users


NAMES: Final = st.sampled_from("abc")
CONFIGS: Final = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "clusters": st.dictionaries(NAMES, st.text("xyz", min_size=1)),
            "users": st.dictionaries(NAMES, st.text("xyz", min_size=1)),
            "contexts": st.dictionaries(NAMES, st.text("xyz", min_size=1)),
            "current-context": st.text("ab", max_size=1),
            "unknown": st.integers(0, 2),
        },
    ),
    max_size=4,
)


def build_kubeconfig(config: dict[str, Any]) -> Kubeconfig:
    value = dict(config)
    for key, inner, field in (
        ("clusters", "cluster", "server"),
        ("users", "user", "token"),
        ("contexts", "context", "namespace"),
    ):
        if key in value:
            value[key] = [
                {"name": name, inner: {field: field_value}} for name, field_value in value[key].items()
            ]
    return Kubeconfig.parse(json.dumps(value).encode())


@given(CONFIGS)
def test_a_merge_equals_a_search_in_the_files_in_order(
    configs: list[dict[str, Any]],
) -> None:
    merged = Kubeconfig.merge([build_kubeconfig(config) for config in configs])
    expected: dict[str, dict[str, str]] = {"clusters": {}, "users": {}, "contexts": {}}
    for config in configs:
        for key, names in expected.items():
            for name, value in config.get(key, {}).items():
                names.setdefault(name, value)
    assert {entry.name: entry.cluster.server for entry in merged.clusters} == expected["clusters"]
    assert {entry.name: entry.user.token for entry in merged.users} == expected["users"]
    assert {entry.name: entry.context.namespace for entry in merged.contexts} == expected["contexts"]
    assert merged.current_context == next(filter(None, (c.get("current-context") for c in configs)), "")


@given(CONFIGS, st.integers(0, 4))
def test_merging_is_associative(configs: list[dict[str, Any]], content: int) -> None:
    files = [build_kubeconfig(config) for config in configs]
    halves = [Kubeconfig.merge(files[:content]), Kubeconfig.merge(files[content:])]
    once, twice = Kubeconfig.merge(files), Kubeconfig.merge(halves)
    assert (once.clusters, once.users, once.contexts) == (twice.clusters, twice.users, twice.contexts)
    assert once.current_context == twice.current_context


@pytest.mark.needs("kubectl")
def test_kubectl_merges_the_same(tmp_path: Path) -> None:
    # kubectl shows relative paths unchanged; here they are resolved.
    first = FULL.replace("ca.crt", "/ca").replace("../key", "/key").replace("bin/login", "login")
    file_contents = [
        first,
        first.replace("main", "second").replace("/ca", "/other").replace("kind\n", "kind2\n"),
        "current-context: third\nusers: [{name: me, user: {token: a}}, {name: you, user: {tokenFile: /t}}]\n",
    ]
    paths: list[str] = []
    for number, text in enumerate(file_contents):
        path = tmp_path / f"{number}" / "config"
        path.parent.mkdir()
        path.write_text(text)
        paths.append(str(path))
    result = subprocess.run(
        ["kubectl", "config", "view", "--raw", "-o", "json"],
        env={"KUBECONFIG": ":".join(paths), "HOME": str(tmp_path), "PATH": "/usr/bin:/usr/local/bin:/bin"},
        capture_output=True,
        check=True,
    )
    kubectl_merge = Kubeconfig.parse(result.stdout)
    merged_config = Kubeconfig.merge([Kubeconfig.parse(Path(path).read_bytes(), path) for path in paths])

    def by_name(config: Kubeconfig) -> tuple[object, ...]:
        lists = (config.clusters, config.users, config.contexts)
        return config.current_context, [{entry.name: entry for entry in entries} for entries in lists]

    assert by_name(merged_config) == by_name(kubectl_merge)


# Selection.

CHOICES: Final = Kubeconfig.parse(
    b"""
clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b'}}]
users: [{name: u}, {name: v}]
contexts:
- {name: one, context: {cluster: a, user: u, namespace: ns}}
- {name: nobody, context: {cluster: a}}
- {name: nowhere, context: {user: u}}
- {name: lost, context: {cluster: x, user: u}}
- {name: stray, context: {cluster: a, user: x}}
""",
    "/f",
)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"context": "one"}, ("one", "a", "u", "ns")),
        ({"context": "one", "cluster": "b"}, ("one", "b", "u", "ns")),
        ({"context": "one", "user": "v"}, ("one", "a", "v", "ns")),
        ({"context": "one", "namespace": "m"}, ("one", "a", "u", "m")),
        ({"context": "nobody"}, ("nobody", "a", "", "")),
        ({"cluster": "b"}, ("", "b", "", "")),
        ({"cluster": "b", "user": "v"}, ("", "b", "v", "")),
        ({"context": "nowhere", "cluster": "b"}, ("nowhere", "b", "u", "")),
    ],
)
def test_parts_of_a_context_may_be_overridden(overrides: dict[str, str], expected: tuple[str, ...]) -> None:
    choice = CHOICES.choose(**overrides)
    assert choice is not None
    assert (choice.context, choice.cluster_name, choice.user_name, choice.namespace) == expected


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (
            {"context": "two"},
            "the context 'two' is not in /f, which has 'one', 'nobody'",
        ),
        (
            {"context": "lost"},
            "the context 'lost' refers to the cluster 'x', which is not in /f, which has 'a', 'b'",
        ),
        (
            {"context": "stray"},
            "the context 'stray' refers to the user 'x', which is not in /f, which has 'u', 'v'",
        ),
        ({"context": "one", "user": "w"}, "the user 'w' is not in /f"),
        ({"context": "one", "cluster": "w"}, "the cluster 'w' is not in /f"),
        ({"context": "nowhere"}, "the context 'nowhere' has no cluster"),
    ],
)
def test_the_error_names_the_missing_entry(overrides: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        CHOICES.choose(**overrides)


def test_the_error_for_several_files_names_the_missing_entry() -> None:
    merged = Kubeconfig.merge([make_kubeconfig("x", a="https://a"), make_kubeconfig("y", b="https://b")])
    with pytest.raises(
        ConfigError, match="the context 'x' is not in the kubeconfig files, which has no contexts"
    ):
        merged.choose()


# Writing.


def test_a_round_trip_keeps_unknown_fields() -> None:
    config = Kubeconfig.parse(FULL.encode(), "/etc/kube/config")
    text = config.dump()
    import yaml

    assert yaml.safe_load(text) == yaml.safe_load(FULL)
    assert Kubeconfig.parse(text, "/etc/kube/config") == config
    assert json.loads(config.dump(json=True)) == yaml.safe_load(FULL)

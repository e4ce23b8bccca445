"""`Kubeconfig`: the content of kubeconfig files, their paths, and how several files are merged."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .._errors import ConfigError
from ..objects import is_list, is_object
from ..wire import ConcealedBytes, ConcealedUrl, ConcealingStruct
from ..yaml import write_documents
from ._kubeconfig_types import (
    KubeconfigCluster,
    KubeconfigContents,
    KubeconfigContext,
    KubeconfigUser,
    NamedCluster,
    NamedContext,
    NamedUser,
)
from ._located_documents import LocatedDocument, convert_located, error_at, parse_documents

T = TypeVar("T")

_NAMED_LISTS: Final = ("clusters", "users", "contexts", "extensions")

# The fields with paths of files: the list, the key of its entries, the fields.
_PATH_FIELDS: Final = (
    ("clusters", "cluster", ("certificate-authority",)),
    ("users", "user", ("client-certificate", "client-key", "tokenFile")),
)
_EMPTY: Final = msgspec.json.encode({"apiVersion": "v1", "kind": "Config"})


class Choice(Struct, frozen=True, kw_only=True):
    """The cluster, the user and the namespace that a context selects."""

    context: str
    cluster_name: str
    cluster: KubeconfigCluster
    user_name: str
    user: KubeconfigUser
    namespace: str


class Kubeconfig(ConcealingStruct, frozen=True, kw_only=True):
    """A kubeconfig, or several merged ones. The paths in its entries are resolved."""

    secret_fields = frozenset(("document",))

    path: str = ""
    current_context: str = ""
    contexts: tuple[NamedContext, ...] = ()
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    document: bytes = _EMPTY  # the complete content as JSON, including fields that this program ignores

    @classmethod
    def parse(cls, content: bytes, path: str = "") -> Kubeconfig:
        """Return the kubeconfig in a file, YAML or JSON; several documents are merged.

        `path` is that of the file: relative paths are resolved against it, and errors name it.
        """
        content = ConcealedBytes(content)  # keeps the secret out of the variables of a frame
        result = _parse(content, path)
        if isinstance(result, str):
            raise ConfigError(result)
        return result

    @classmethod
    def merge(cls, configs: Sequence[Kubeconfig]) -> Kubeconfig:
        """Merge several kubeconfigs; the first entry with a name wins."""
        if len(configs) == 1:
            return configs[0]
        documents = [_resolve_paths(msgspec.json.decode(config.document), config.path) for config in configs]
        return _make_kubeconfig(_merge_documents(documents), "")

    def dump(self, *, json: bool = False) -> bytes:
        """Return the content of a file, secrets and unknown fields included."""
        if json:
            return msgspec.json.format(self.document) + b"\n"
        return write_documents([msgspec.json.decode(self.document)]).encode()

    def choose(
        self, *, context: str = "", cluster: str = "", user: str = "", namespace: str = "", server: str = ""
    ) -> Choice | None:
        """Return the settings of the current context; the arguments override it, or parts of it.

        `server` replaces that of the cluster, and needs no cluster. The result is None if there is no
        context, cluster or server: then this is not a configuration. `ConfigError` for a name without an
        entry.
        """
        server = ConcealedUrl(server)
        name = context or self.current_context
        if not (name or cluster or server):
            return None
        contexts = {entry.name: entry.context for entry in self.contexts}
        selected = self._find_entry("context", name, contexts) if name else KubeconfigContext()
        cluster_name, user_name = cluster or selected.cluster, user or selected.user
        if not (cluster_name or server):
            raise ConfigError(f"the context {name!r} has no cluster")
        clusters = {entry.name: entry.cluster for entry in self.clusters}
        users = {entry.name: entry.user for entry in self.users}
        chosen_cluster, chosen_user = KubeconfigCluster(), KubeconfigUser()
        if cluster_name:
            referrer = "" if cluster else f"the context {name!r}"
            chosen_cluster = self._find_entry("cluster", cluster_name, clusters, referrer)
        if server:
            # The TLS name in the cluster's certificate is not valid for another server.
            chosen_cluster = replace(chosen_cluster, server=str(server), tls_server_name="")
        if user_name:
            referrer = "" if user else f"the context {name!r}"
            chosen_user = self._find_entry("user", user_name, users, referrer)
        return Choice(
            context=name,
            cluster_name=cluster_name,
            cluster=chosen_cluster,
            user_name=user_name,
            user=chosen_user,
            namespace=namespace or selected.namespace,
        )

    def _find_entry(self, field: str, name: str, entries: Mapping[str, T], referrer: str = "") -> T:
        if name in entries:
            return entries[name]
        names = ", ".join(repr(name) for name in list(entries)[:10]) + (", …" if len(entries) > 10 else "")
        subject = f"{referrer} refers to the {field} {name!r}, which" if referrer else f"the {field} {name!r}"
        source = self.path or "the kubeconfig files"
        raise ConfigError(f"{subject} is not in {source}, which has {names or f'no {field}s'}")


def kubeconfig_paths(environ: Mapping[str, str], home: str = "", *, separator: str = ":") -> tuple[str, ...]:
    """Return the paths of the kubeconfig files, by priority: those of ``KUBECONFIG``, or that in the home.

    `separator` separates paths on this system: ``;`` on Windows.
    """
    paths = [path for path in environ.get("KUBECONFIG", "").split(separator) if path]
    if not paths and home:
        paths = [_path_module(home).join(home, ".kube", "config")]
    return tuple(dict.fromkeys(paths))


def _parse(content: bytes, path: str) -> Kubeconfig | str:
    """Return the kubeconfig, or the problem: tracebacks of an error would show the variables."""
    source = path or "the kubeconfig"
    try:
        documents = [
            _check_document(document, source)
            for document in parse_documents(content, source)
            if document.value is not None
        ]
        return _make_kubeconfig(_merge_documents(documents), path)
    except ConfigError as error:
        return str(error)
    except ValueError:  # a hexadecimal integer that has more than 4300 digits in JSON
        return f"{source} contains a number that is too large"


def _check_document(document: LocatedDocument, source: str) -> dict[str, Any]:
    """Return a document if it is a kubeconfig and has no duplicates."""
    value = document.value
    if not is_object(value):
        raise error_at(
            source, document.line_of(), "this is not a kubeconfig, which has clusters, users and contexts"
        )
    contents: KubeconfigContents = convert_located(_like_go(value), KubeconfigContents, document, source)
    if contents.kind not in ("", "Config") or contents.api_version not in ("", "v1"):
        kind = f"{contents.kind or 'Config'} of {contents.api_version or 'v1'}"
        raise error_at(source, document.line_of(["kind"]), f"this is a {kind}, not a Config of v1")
    entry_names = {
        "clusters": [entry.name for entry in contents.clusters],
        "users": [entry.name for entry in contents.users],
        "contexts": [entry.name for entry in contents.contexts],
    }
    for key, names in entry_names.items():
        for index, name in enumerate(names):
            if name in names[:index]:
                line = document.line_of([key, index, "name"])
                raise error_at(source, line, f"the {key[:-1]} {name!r} occurs twice")
    return value


def _make_kubeconfig(document: dict[str, Any], path: str) -> Kubeconfig:
    # Errors were reported by `_check_document`, which knows the lines.
    contents = msgspec.convert(_like_go(_resolve_paths(document, path)), KubeconfigContents)
    return Kubeconfig(
        path=path,
        current_context=contents.current_context,
        contexts=contents.contexts,
        clusters=contents.clusters,
        users=contents.users,
        document=msgspec.json.encode(document),
    )


def _merge_documents(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the merged documents; of list entries with the same name, the first wins."""
    merged: dict[str, Any] = {}
    for document in documents:
        for key, value in document.items():
            if key in _NAMED_LISTS and is_list(merged.get(key)) and is_list(value):
                names = {_entry_name(entry) for entry in merged[key]}
                merged[key] = merged[key] + [entry for entry in value if _entry_name(entry) not in names]
            elif not merged.get(key):
                merged[key] = value
    return merged


def _entry_name(entry: Any) -> str:
    return str(entry.get("name") or "") if is_object(entry) else ""


def _resolve_paths(document: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a copy of the document with its paths resolved against the directory of its file."""
    if not path:
        return document
    document = msgspec.json.decode(msgspec.json.encode(document))
    for list_key, entry_key, fields in _PATH_FIELDS:
        for entry in document.get(list_key) or ():
            settings: dict[str, Any] = entry.get(entry_key) or {}
            for field in fields:
                if settings.get(field):
                    settings[field] = _resolve_path(path, settings[field])
            # A command without a separator is searched in PATH, and is not a path.
            plugin: Any = settings.get("exec") if list_key == "users" else None
            if plugin and _has_separator(path, plugin.get("command") or ""):
                plugin["command"] = _resolve_path(path, plugin["command"])
    return document


def _resolve_path(config_path: str, path: str) -> str:
    """Return a path that is relative to the directory of a kubeconfig."""
    module = _path_module(config_path)
    resolved: str = module.join(module.dirname(config_path), path)
    return resolved


def _has_separator(config_path: str, command: str) -> bool:
    return "/" in command or ("\\" in command and _path_module(config_path) is ntpath)


def _path_module(path: str) -> Any:
    """Return ntpath for a path with a drive or of another machine: the core does not know its system."""
    return ntpath if re.match(r"[A-Za-z]:[\\/]|\\\\", path) else posixpath


def _like_go(value: Any) -> Any:
    """Return the value as Go's decoder reads it: without nulls, and with base64 that may have line breaks."""
    if is_list(value):
        return [_like_go(element) for element in value]
    if not is_object(value):
        return value
    members: dict[str, Any] = {}
    for key, member in value.items():
        if key.endswith("-data") and isinstance(member, str):
            members[key] = "".join(member.split())
        elif member is not None:
            members[key] = member if key == "extension" else _like_go(member)
    return members

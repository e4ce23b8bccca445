"""kubeconfig files: where they are, what they contain, and how several of them are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..objects import is_list, is_object
from ..wire import Concealed
from ..yaml import write_documents
from ._documents import LocatedDocument, mistake, read_text, shape
from ._errors import ConfigError
from ._hiding import ConcealedUrl, Hiding
from ._kubeconfig_types import (
    Contents,
    KubeconfigCluster,
    KubeconfigContext,
    KubeconfigUser,
    NamedCluster,
    NamedContext,
    NamedUser,
)
from ._paths import below, beside, has_directory

T = TypeVar("T")

_LISTS: Final = ("clusters", "users", "contexts", "extensions")

# Where paths are: the list, the key under each name, the paths.
_PATHS: Final = (
    ("clusters", "cluster", ("certificate-authority",)),
    ("users", "user", ("client-certificate", "client-key", "tokenFile")),
)
_EMPTY: Final = msgspec.json.encode({"apiVersion": "v1", "kind": "Config"})


class Choice(Struct, frozen=True, kw_only=True):
    """What a context selects: one cluster, one user, one namespace, each under its name."""

    context: str
    cluster_name: str
    cluster: KubeconfigCluster
    user_name: str
    user: KubeconfigUser
    namespace: str


class Kubeconfig(Hiding, frozen=True, kw_only=True):
    """One kubeconfig, or several that were merged. The paths in its entries are resolved."""

    hides = frozenset(("document",))

    path: str = ""
    current_context: str = ""
    contexts: tuple[NamedContext, ...] = ()
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    document: bytes = _EMPTY  # all of it as JSON, with what this program does not know

    def choose(
        self, *, context: str = "", cluster: str = "", user: str = "", namespace: str = "", server: str = ""
    ) -> Choice | None:
        """Return what a program should use: the current context, unless another or parts of it are given.

        `server` takes the place of the cluster's; a server needs no entry of a cluster. None if no context is
        chosen and no cluster or server is given: then this is not a configuration. A name without an entry is
        a `ConfigError`.
        """
        server = ConcealedUrl(server)
        name = context or self.current_context
        if not (name or cluster or server):
            return None
        contexts = {named.name: named.context for named in self.contexts}
        chosen = self._found("context", name, contexts) if name else KubeconfigContext()
        why = f"the context {name!r} names the"
        cluster_name, user_name = cluster or chosen.cluster, user or chosen.user
        if not (cluster_name or server):
            raise ConfigError(f"the context {name!r} names no cluster")
        clusters = {named.name: named.cluster for named in self.clusters}
        users = {named.name: named.user for named in self.users}
        found = (
            self._found("cluster", cluster_name, clusters, "" if cluster else why)
            if cluster_name
            else KubeconfigCluster()
        )
        # A name for the certificate of the cluster's own server says nothing of another one.
        found = replace(found, server=str(server), tls_server_name="") if server else found
        return Choice(
            context=name,
            cluster_name=cluster_name,
            cluster=found,
            user_name=user_name,
            user=self._found("user", user_name, users, "" if user else why)
            if user_name
            else KubeconfigUser(),
            namespace=namespace or chosen.namespace,
        )

    def _found(self, what: str, name: str, entries: Mapping[str, T], why: str = "") -> T:
        if name in entries:
            return entries[name]
        here = self.path or "no kubeconfig"
        listed = ", ".join(repr(name) for name in list(entries)[:10]) + (", …" if len(entries) > 10 else "")
        lack = f"{here} does not have" if self.path else f"{here} has"
        begin = f"{why} {what} {name!r}, which" if why else f"the {what} {name!r} is asked for, which"
        raise ConfigError(f"{begin} {lack}; there {f'is {listed}' if listed else 'is none'}")


def kubeconfig_paths(environ: Mapping[str, str], home: str = "", *, separator: str = ":") -> tuple[str, ...]:
    """Return the kubeconfig files to look for, best first: those that ``KUBECONFIG`` lists, else that in the
    home.

    `separator` is what separates paths on this system: ``;`` on Windows.
    """
    listed = [path for path in environ.get("KUBECONFIG", "").split(separator) if path]
    if not listed and home:
        listed = [below(home, ".kube", "config")]
    return tuple(dict.fromkeys(listed))


def read_kubeconfig(content: bytes, path: str = "") -> Kubeconfig:
    """Return the kubeconfig in these bytes, YAML or JSON; several documents are merged.

    `path` is what relative paths in it are relative to, and what errors name.
    """
    content = Concealed(content)
    found = _read(content, path)
    if isinstance(found, str):
        raise ConfigError(found)
    return found


def _read(content: bytes, path: str) -> Kubeconfig | str:
    """The same, or what is wrong: an error that left this function would show its variables."""
    try:
        return _parse(content, path)
    except ConfigError as error:
        return str(error)
    except ValueError:  # a hexadecimal integer that has more than 4300 digits in JSON
        return f"{path or 'the kubeconfig'} holds a number that is too large"


def _parse(content: bytes, path: str) -> Kubeconfig:
    what = path or "the kubeconfig"
    documents: list[dict[str, Any]] = []
    for document in read_text(content, what):
        if document.value is not None:
            documents.append(_checked(document, what))
    return _made(_united(documents), path)


def merge_kubeconfigs(configs: Sequence[Kubeconfig]) -> Kubeconfig:
    """Return several kubeconfigs as one: the first that names a thing provides it whole."""
    if len(configs) == 1:
        return configs[0]
    return _made(_united([_resolved(msgspec.json.decode(one.document), one.path) for one in configs]), "")


def dump_kubeconfig(config: Kubeconfig, *, json: bool = False) -> bytes:
    """Return the kubeconfig as a file, secrets included, with everything that this program does not know."""
    value = msgspec.json.decode(config.document)
    if json:
        return msgspec.json.format(config.document) + b"\n"
    return write_documents([value]).encode()


def _checked(document: LocatedDocument, what: str) -> dict[str, Any]:
    """Return a document if it is a kubeconfig and has no duplicates."""
    value = document.value
    if not is_object(value):
        raise mistake(
            what, document.line_of(), "this is not a kubeconfig, which has clusters, users and contexts"
        )
    contents: Contents = shape(_without_nulls(value), Contents, document, what)
    if contents.kind not in ("", "Config") or contents.api_version not in ("", "v1"):
        kind = f"{contents.kind or 'Config'} of {contents.api_version or 'v1'}"
        raise mistake(what, document.line_of(["kind"]), f"this is a {kind}, not a Config of v1")
    names = {
        "clusters": [entry.name for entry in contents.clusters],
        "users": [entry.name for entry in contents.users],
        "contexts": [entry.name for entry in contents.contexts],
    }
    for key, listed in names.items():
        for index, name in enumerate(listed):
            if name in listed[:index]:
                line = document.line_of([key, index, "name"])
                raise mistake(what, line, f"the {key[:-1]} {name!r} occurs twice here")
    return value


def _made(value: dict[str, Any], path: str) -> Kubeconfig:
    # Everything was checked where its lines were known.
    contents = msgspec.convert(_without_nulls(_resolved(value, path)), Contents)
    return Kubeconfig(
        path=path,
        current_context=contents.current_context,
        contexts=contents.contexts,
        clusters=contents.clusters,
        users=contents.users,
        document=msgspec.json.encode(value),
    )


def _united(values: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge several documents; in lists, entries with the same name are the same."""
    united: dict[str, Any] = {}
    for value in values:
        for key, said in value.items():
            if key in _LISTS and is_list(united.get(key)) and is_list(said):
                known = {_name(entry) for entry in united[key]}
                united[key] = united[key] + [entry for entry in said if _name(entry) not in known]
            elif not united.get(key):
                united[key] = said
    return united


def _name(entry: Any) -> str:
    return str(entry.get("name") or "") if is_object(entry) else ""


def _resolved(value: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the document with its paths resolved against the directory of its file."""
    if not path:
        return value
    value = msgspec.json.decode(msgspec.json.encode(value))
    for key, inner, names in _PATHS:
        for entry in value.get(key) or ():
            said: dict[str, Any] = entry.get(inner) or {}
            for name in names:
                if said.get(name):
                    said[name] = beside(path, said[name])
            # A bare name is looked up in PATH, so only what has a separator is a path.
            plugin: Any = said.get("exec") if key == "users" else None
            if plugin and has_directory(path, plugin.get("command") or ""):
                plugin["command"] = beside(path, plugin["command"])
    return value


def _without_nulls(value: Any) -> Any:
    """Return the value as Go's decoder reads it: null is nothing, and base64 may be broken into lines."""
    if is_list(value):
        return [_without_nulls(element) for element in value]
    if not is_object(value):
        return value
    members: dict[str, Any] = {}
    for key, said in value.items():
        if key.endswith("-data") and isinstance(said, str):
            members[key] = "".join(said.split())
        elif said is not None:
            members[key] = said if key == "extension" else _without_nulls(said)
    return members

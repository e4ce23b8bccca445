"""Check the files of a configuration, the chosen context and its settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kubeproto.config import (
    ConfigError,
    Kubeconfig,
    UnreadableFile,
    kubeconfig_paths,
)

from ..credentials._files import LocatedConfig, find_config, read_file
from ._check import failed, passed, warned

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from kubeproto.config import Overrides

    from ._check import Check

_ADD_KUBECONFIG: Final = (
    "choose one with --kubeconfig or $KUBECONFIG, or copy the cluster's to ~/.kube/config;"
    " `kubeproto serve --kubeconfig FILE` writes one for a simulated cluster"
)
_IN_POD_VARIABLE: Final = "KUBERNETES_SERVICE_HOST"


def examine_configuration(
    overrides: Overrides, environ: Mapping[str, str]
) -> Generator[Check, None, LocatedConfig | None]:
    """Check the files, and return the configuration that a client would use; None if there is none."""
    home = os.path.expanduser("~")
    paths = (overrides.path,) if overrides.path else kubeconfig_paths(environ, home, separator=os.pathsep)
    configs: list[Kubeconfig] = []
    for path in paths:
        alternative = (
            "an option names the server"
            if overrides.server
            else "this is a pod"
            if _IN_POD_VARIABLE in environ
            else ""
        )
        config = yield from _check_file(
            path, alone=len(paths) == 1, alternative="" if overrides.path else alternative
        )
        if config is None and not _is_missing(path):
            return None
        if config is not None:
            configs.append(config)
    if configs:
        if not (yield from _check_context(Kubeconfig.merge(configs), paths, overrides, environ)):
            return None
    elif overrides.path or (_IN_POD_VARIABLE not in environ and not overrides.server):
        if len(paths) != 1:
            yield failed("kubeconfig", "there is no kubeconfig", _ADD_KUBECONFIG)
        return None
    return (yield from _check_settings(overrides, environ))


def _is_missing(path: str) -> bool:
    content = read_file(path)
    return isinstance(content, UnreadableFile) and content.missing


def _check_file(path: str, *, alone: bool, alternative: str) -> Generator[Check, None, Kubeconfig | None]:
    """Check a file; `alternative` is the configuration that replaces a missing file."""
    content = read_file(path)
    if isinstance(content, UnreadableFile):
        if content.missing and alternative:
            yield passed("kubeconfig", f"{path} does not exist, and {alternative}")
        elif content.missing:
            check = failed if alone else warned
            advice = _ADD_KUBECONFIG if alone else "remove it from $KUBECONFIG"
            yield check("kubeconfig", f"{path} does not exist", advice)
        else:
            yield failed(
                "kubeconfig", f"{path} cannot be read: {content.reason}",
                f"allow this user to read it; `ls -l {path}` shows its permissions",
            )  # fmt: skip
        return None
    try:
        config = Kubeconfig.parse(content, path)
    except ConfigError as error:
        yield failed("kubeconfig", str(error), "correct that line, or download the file again")
        return None
    yield passed(
        "kubeconfig", f"{path} has {len(config.contexts)} context{'s' * (len(config.contexts) != 1)}"
    )
    return config


def _check_context(
    merged: Kubeconfig, paths: tuple[str, ...], overrides: Overrides, environ: Mapping[str, str]
) -> Generator[Check, None, bool]:
    """Check the cluster and user of the context; return whether it can be used."""
    name = overrides.context or merged.current_context
    names = [context.name for context in merged.contexts]
    listed_names = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    choice_advice = f"choose one of {listed_names}" if names else "the file has none: download it again"
    if not (name or overrides.cluster):
        if overrides.server or _IN_POD_VARIABLE in environ:
            return True
        yield failed(
            "context", f"no context is chosen in {', '.join(paths)}",
            f"{choice_advice}: --context NAME, or `kubectl config use-context NAME`",
        )  # fmt: skip
        return False
    if name and name not in names:
        source = "requested" if overrides.context else "current"
        yield failed(
            "context", f"the {source} context {name!r} does not exist",
            f"{choice_advice}: --context NAME, or `kubectl config use-context NAME`",
        )  # fmt: skip
        return False
    try:
        choice = merged.choose(
            context=overrides.context,
            cluster=overrides.cluster,
            user=overrides.user,
            server=overrides.server,
        )
    except ConfigError as error:
        yield failed(
            "context", str(error),
            f"`kubectl config set-context {name} --cluster=NAME --user=NAME` selects existing entries,"
            " `kubectl config set-cluster` and `set-credentials` add missing ones",
        )  # fmt: skip
        return False
    if choice is not None:
        user = f"the user {choice.user_name}" if choice.user_name else "no user"
        cluster = f"the cluster {choice.cluster_name}" if choice.cluster_name else "no cluster"
        yield passed("context", f"{name or 'none'}: {cluster}, {user}")
    return True


def _check_settings(
    overrides: Overrides, environ: Mapping[str, str]
) -> Generator[Check, None, LocatedConfig | None]:
    try:
        located = find_config(overrides, environ)
    except ConfigError as error:
        yield failed("settings", str(error), _settings_advice(str(error)))
        return None
    config = located.config
    proxy = (
        f", through the proxy {_address_text(config.connection.address)}" if config.connection.proxy else ""
    )
    yield passed("settings", f"{config.source}: {config.connection.server}{proxy}")
    for warning in config.warnings:
        problem, _, remedy = warning.partition(": ")
        if remedy.startswith("chmod"):
            yield warned("settings", problem, remedy)
        else:
            yield warned("settings", warning, _WARNING_ADVICE.get(problem, "write https:// into its server"))
    return located


def _address_text(address: tuple[str, int]) -> str:
    host, port = address
    return f"{host}:{port}"


_WARNING_ADVICE: Final = {
    "insecure-skip-tls-verify is set": ("set certificate-authority-data to the cluster's authority instead"),
}


def _settings_advice(message: str) -> str:
    if "cannot be read" in message:
        return (
            "a path in a kubeconfig is relative to its folder: put the file there, or get a kubeconfig"
            " that includes its content (`kubectl config view --flatten`)"
        )
    return "correct this setting in the kubeconfig, or download the file again from the cluster"

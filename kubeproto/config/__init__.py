"""How to reach the server, and as whom: kubeconfig, in-cluster settings, credentials."""

from . import credentials
from ._connection import Connection
from ._errors import ConfigError, CredentialsError
from ._files import UnreadableFile
from ._hiding import ConcealedVariables
from ._identity import Identity
from ._impersonation import Impersonation
from ._inference import Config, Needs, Overrides, infer
from ._kubeconfig import (
    Choice,
    Kubeconfig,
    dump_kubeconfig,
    kubeconfig_paths,
    merge_kubeconfigs,
    read_kubeconfig,
)
from ._kubeconfig_types import (
    AuthProvider,
    Exec,
    ExecVariable,
    Extension,
    KubeconfigCluster,
    KubeconfigContext,
    KubeconfigUser,
)
from ._oidc import Ask, Discover, Oidc, Redeem
from ._plugin import Plugin, PluginPolicy
from ._proxies import bypasses_proxy, proxy_for
from ._secrets import Credentials
from ._urls import Url

__all__ = [
    "Ask",
    "AuthProvider",
    "Choice",
    "ConcealedVariables",
    "Config",
    "ConfigError",
    "Connection",
    "Credentials",
    "CredentialsError",
    "Discover",
    "Exec",
    "ExecVariable",
    "Extension",
    "Identity",
    "Impersonation",
    "Kubeconfig",
    "KubeconfigCluster",
    "KubeconfigContext",
    "KubeconfigUser",
    "Needs",
    "Oidc",
    "Overrides",
    "Plugin",
    "PluginPolicy",
    "Redeem",
    "UnreadableFile",
    "Url",
    "bypasses_proxy",
    "credentials",
    "dump_kubeconfig",
    "infer",
    "kubeconfig_paths",
    "merge_kubeconfigs",
    "proxy_for",
    "read_kubeconfig",
]

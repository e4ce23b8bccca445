"""The address of the server and the credentials of the user: kubeconfig, in-cluster settings, proxies."""

from .._errors import ConfigError, CredentialsError
from . import credentials
from ._concealed_values import ConcealedVariables
from ._identity import Identity, Impersonation, UnreadableFile
from ._inference import Config, Needs, Overrides, infer
from ._kubeconfig import Kubeconfig, kubeconfig_paths
from ._oidc import Oidc
from ._plugin import Plugin, PluginPolicy
from ._proxies import proxy_for
from ._server_connection import Connection
from ._server_urls import Url
from ._signing_credentials import Credentials

__all__ = [
    "ConcealedVariables",
    "Config",
    "ConfigError",
    "Connection",
    "Credentials",
    "CredentialsError",
    "Identity",
    "Impersonation",
    "Kubeconfig",
    "Needs",
    "Oidc",
    "Overrides",
    "Plugin",
    "PluginPolicy",
    "UnreadableFile",
    "Url",
    "credentials",
    "infer",
    "kubeconfig_paths",
    "proxy_for",
]

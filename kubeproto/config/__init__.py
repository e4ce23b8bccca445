"""The address of the server and the credentials of the user: kubeconfig, in-cluster settings, proxies."""

from .._errors import ConfigError, CredentialsError
from ..wire import ConcealedVariables as ConcealedVariables
from . import credentials
from ._connection_settings import Connection
from ._identity import Identity, Impersonation, UnreadableFile as UnreadableFile
from ._inference import Config, Overrides as Overrides, RequiredFiles as RequiredFiles, infer as infer
from ._kubeconfig import Kubeconfig as Kubeconfig, kubeconfig_paths as kubeconfig_paths
from ._oidc import Oidc
from ._plugin import Plugin, PluginPolicy
from ._proxies import proxy_for as proxy_for
from ._server_urls import Url
from ._signing_credentials import Credentials

__all__ = [
    "Config",
    "ConfigError",
    "Connection",
    "Credentials",
    "CredentialsError",
    "Identity",
    "Impersonation",
    "Oidc",
    "Plugin",
    "PluginPolicy",
    "Url",
    "credentials",
]

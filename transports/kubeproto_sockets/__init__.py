"""TLS and socket options for transports: the code that needs `ssl` and `socket`, and waits for nothing.

`kubeproto_h11` is pure and may not import these modules; the transports share them here, so that the checks
of certificates exist once.
"""

from ._socket_options import CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT, keep_alive_options, set_options
from ._tls_contexts import TlsContexts, load_client_certificate, trust_authorities
from ._tls_sessions import MAX_RECORD, TlsSession, TlsStack

__all__ = [
    "CONNECT_TIMEOUT",
    "HANDSHAKE_TIMEOUT",
    "MAX_RECORD",
    "TlsContexts",
    "TlsSession",
    "TlsStack",
    "keep_alive_options",
    "load_client_certificate",
    "set_options",
    "trust_authorities",
]

"""TLS and socket options for transports: the code that needs `ssl` and `socket`, and waits for nothing.

`kubeproto_h11` is pure and may not import these modules; the transports share them here, so that the checks
of certificates exist once.
"""

from ._socket_options import (
    CONNECT_TIMEOUT as CONNECT_TIMEOUT,
    HANDSHAKE_TIMEOUT as HANDSHAKE_TIMEOUT,
    keep_alive_options as keep_alive_options,
    set_options as set_options,
)
from ._tls_contexts import (
    TlsContexts as TlsContexts,
    load_client_certificate as load_client_certificate,
    trust_authorities as trust_authorities,
)
from ._tls_sessions import MAX_RECORD as MAX_RECORD, TlsSession as TlsSession, TlsStack as TlsStack

__all__ = []

"""Between the core and the bytes: the interface of transports, inflating, and the meaning of outcomes."""

from .._errors import printable as printable
from .._pacing import exponential_backoff as exponential_backoff
from .._reasons import code_of as code_of, phrase_of as phrase_of, reason_of as reason_of
from ._bodies import (
    Body,
    BodyUntilClose as BodyUntilClose,
    ChunkedBody as ChunkedBody,
    SizedBody as SizedBody,
    open_body,
)
from ._concealed_values import (
    CONCEALED as CONCEALED,
    ConcealedBytes as ConcealedBytes,
    ConcealedUrl as ConcealedUrl,
    ConcealedVariables as ConcealedVariables,
    ConcealingStruct as ConcealingStruct,
)
from ._inflate import (
    IdentityInflater as IdentityInflater,
    Inflater as Inflater,
    inflate,
    open_inflater as open_inflater,
)
from ._outcomes import (
    Broken,
    Conflicted,
    Expired,
    Failure,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unreadable,
    Unsupported,
    classify,
)
from ._responses import (
    REFUSAL_TIME as REFUSAL_TIME,
    header as header,
    is_enough as is_enough,
    read_status as read_status,
    refusal,
    retry_after as retry_after,
    warnings,
)
from ._retries import (
    CONFLICT_BACKOFF as CONFLICT_BACKOFF,
    CONFLICT_RETRY as CONFLICT_RETRY,
    NO_RETRIES,
    ConflictPolicy,
    GiveUp as GiveUp,
    Retry,
    RetryPolicy,
    Safety,
)
from ._transport import (
    BlockingIncomingResponse,
    BlockingTransport,
    Decoder,
    Headers,
    IncomingResponse,
    RawRequest,
    Signal as Signal,
    Transport,
)
from ._upgrades import Upgrader, UpgradeRequest, WebSocket

__all__ = [
    "NO_RETRIES",
    "BlockingIncomingResponse",
    "BlockingTransport",
    "Body",
    "Broken",
    "ConflictPolicy",
    "Conflicted",
    "Decoder",
    "Expired",
    "Failure",
    "Garbled",
    "Headers",
    "IncomingResponse",
    "Outcome",
    "RawRequest",
    "Refused",
    "Rejected",
    "Retry",
    "RetryPolicy",
    "Safety",
    "ServerFailed",
    "Throttled",
    "TimedOut",
    "TooLarge",
    "Transport",
    "Unreachable",
    "Unreadable",
    "Unsupported",
    "UpgradeRequest",
    "Upgrader",
    "WebSocket",
    "classify",
    "inflate",
    "open_body",
    "refusal",
    "warnings",
]

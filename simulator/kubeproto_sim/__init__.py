"""A Kubernetes API server as a pure machine: requests in, responses out, on a virtual clock.

The path of a request, and its consequences:

====================  ================================================================================
`_transports`         sends the request to `Cluster.respond`; `faults` may change it or its response
`_cluster`            records the request, and owns the clock and the controllers
`serving`             `Server`: calls the packages below in this order, and makes the response
`access`              determines the user, and whether the user may make the request (RBAC)
`reading`             finds the route, parses the query, negotiates the format; lists, watches, tables
`writing`             parses the body, patches, validates, checks quotas, deletes
`apply`               merges for server-side apply and strategic merge patches, owners of fields
`admission`           calls webhooks and policies; `serving._request_gates` connects it with `writing`
`kinds`               served kinds: defaults, conversion, stored form, differences between releases
`storage`             stores the object under the next version, and records the event
`_state`              notifies watches, controllers and nodes of the event
`controllers`         garbage collection, namespaces, definitions; starts the controllers of workloads
`workloads`           Deployments, StatefulSets, DaemonSets, Jobs, Services and disruption budgets
`nodes`               schedules pods and runs their containers in virtual time
====================  ================================================================================
"""

from ._clocks import DriftingClock
from ._cluster import Cluster, RecordedExchange
from ._rejections import Rejection
from ._snapshots import Snapshot, StoredObject
from ._state import Modes
from ._streams import Conversation, Stream
from ._transports import BlockingSimTransport, SimResponse, SimTransport, begin_conversation
from .access._attributes import Attributes, attributes_of
from .access._users import User
from .admission._webhook_calls import (
    PendingCalls,
    WebhookCall,
    WebhookError,
    WebhookFault,
    WebhookHandlers,
    WebhookReply,
)
from .faults._fault_injection import Faults
from .faults._fault_types import (
    Both,
    Cut,
    Delay,
    Empty,
    ErrorEvent,
    Expire,
    ExpireCredentials,
    Fail,
    Fault,
    ForceConflict,
    FutureVersion,
    HalfOpen,
    Html,
    Lag,
    LoseResponse,
    RefuseConnection,
    Throttle,
)
from .nodes._container_commands import CommandSession
from .nodes._container_programs import Behaviour, Program
from .nodes._pod_ports import PortConnection
from .nodes._running_container import RunningContainer
from .nodes._simulated_nodes import Nodes
from .nodes._stages import Stage
from .reading._watch_streams import Watch
from .serving._server_responses import ServerResponse

__all__ = [
    "Attributes",
    "Behaviour",
    "BlockingSimTransport",
    "Both",
    "Cluster",
    "CommandSession",
    "Conversation",
    "Cut",
    "Delay",
    "DriftingClock",
    "Empty",
    "ErrorEvent",
    "Expire",
    "ExpireCredentials",
    "Fail",
    "Fault",
    "Faults",
    "ForceConflict",
    "FutureVersion",
    "HalfOpen",
    "Html",
    "Lag",
    "LoseResponse",
    "Modes",
    "Nodes",
    "PendingCalls",
    "PortConnection",
    "Program",
    "RecordedExchange",
    "RefuseConnection",
    "Rejection",
    "RunningContainer",
    "ServerResponse",
    "SimResponse",
    "SimTransport",
    "Snapshot",
    "Stage",
    "StoredObject",
    "Stream",
    "Throttle",
    "User",
    "Watch",
    "WebhookCall",
    "WebhookError",
    "WebhookFault",
    "WebhookHandlers",
    "WebhookReply",
    "attributes_of",
    "begin_conversation",
]

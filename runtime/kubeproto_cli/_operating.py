"""An operator in this process: its definitions, and an end by a signal or by the process that started it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto_runtime import Client, Operator

# A definition is served a moment after it was applied; a real server takes some seconds.
_SERVED: Final = 30.0


async def install_definitions(client: Client, kinds: Iterable[type[Any]]) -> None:
    """Apply the definitions of custom resources, and wait until they are served."""
    from kubeproto import Dynamic
    from kubeproto.crd import definitions_of

    # Built-in kinds need no definition, and a Dynamic has no schema.
    own = [
        kind
        for kind in kinds
        if not kind.__module__.startswith("kubeproto.") and not issubclass(kind, Dynamic)
    ]
    definitions = definitions_of(own)
    if definitions:
        await client.apply_manifests(definitions, field_manager="kubeproto-run")
        await client.require(*own, within=_SERVED)


async def operate(operator: Operator, parent: int | None) -> None:
    """Run an operator until it ends, SIGTERM or Ctrl-C comes, or the descriptor `parent` ends.

    The first of these lets runs end and releases the lease; a second signal ends it at once.
    """
    async with anyio.create_task_group() as tasks:
        await tasks.start(_signals, operator, tasks.cancel_scope)
        if parent is not None:
            tasks.start_soon(_until_end, parent, operator)
        await operator.run()
        tasks.cancel_scope.cancel()


async def _signals(
    operator: Operator, scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        stopped = False
        async for _ in signals:
            if stopped:
                scope.cancel()
            stopped = True
            operator.stop()


async def _until_end(parent: int, operator: Operator) -> None:
    # A process that was killed closes its end of the pipe too, so no operator is left running.
    await anyio.wait_readable(parent)
    os.read(parent, 1)
    operator.stop()

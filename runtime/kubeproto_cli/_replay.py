"""`kubeproto replay`: a recorded watch, served to any client."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ._commands import Command
from ._connecting import asyncio_run
from ._output import print_note
from ._serve import port_in_use, write_private

if TYPE_CHECKING:
    from kubeproto.watching import WatchRecording
    from kubeproto_sim import Cluster


_DELIVERY_TIME: Final = 0.5  # seconds in which the last event reaches the watchers


@click.command(
    cls=Command,
    examples=[
        ("a server that repeats the recorded events", "kubeproto replay pods.jsonl"),
        ("ten times as fast, and end with the last event", "kubeproto replay pods.jsonl --speed 10 --once"),
        ("for a test", "kubeproto replay pods.jsonl --port 8001 --kubeconfig ./config"),
    ],
)  # fmt: skip
@click.argument("recording", type=click.Path(dir_okay=False), metavar="FILE")
@click.option(
    "--speed",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="The factor of speed; 0 sends all events without delays.",
)
@click.option("--immediately", is_flag=True, help="Begin before the first watch of the kind.")
@click.option("--once", is_flag=True, help="End after the last event.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="The port to listen on; 0 chooses a free port.",
)
@click.option(
    "--kubeconfig", type=click.Path(dir_okay=False), metavar="FILE", help="Write the kubeconfig to this file."
)
def replay(**options: Any) -> None:
    """Serve a file of `kubeproto record`, with its timing.

    The server begins with the objects that existed, and repeats the events after the first watch of the kind:
    for kubectl, kubeproto watch, or a program in any language. Objects differ from those of the file only in
    their resource versions. It ends with Ctrl-C.
    """
    from kubeproto.watching import read_recording
    from kubeproto_sim import Cluster

    path = options["recording"]
    try:
        recording = read_recording(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    with port_in_use("127.0.0.1", options["port"]):
        asyncio_run(_replay, Cluster(populated=False), recording, options)


async def _replay(cluster: Cluster, recording: WatchRecording, options: dict[str, Any]) -> None:
    import anyio

    from kubeproto_serve import prepare_replay, replay as replay_events, serve

    events = prepare_replay(cluster, recording)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with serve(cluster, port=options["port"]) as server, anyio.create_task_group() as tasks:
            if options["kubeconfig"]:
                write_private(Path(options["kubeconfig"]), server.kubeconfig)
            click.echo(f"# serving {recording.head.plural} at {server}; the kubeconfig:\n{server.kubeconfig}")

            async def play() -> None:
                if not options["immediately"]:
                    await _wait_for_watch(cluster, recording.head.plural)
                cluster.keeps_log = False
                await replay_events(cluster, recording, events, sleep=anyio.sleep, speed=options["speed"])
                print_note(f"# all {sum(event.type != 'SYNCED' for event in events)} events were sent")
                if options["once"]:
                    await anyio.sleep(_DELIVERY_TIME)
                    tasks.cancel_scope.cancel()

            tasks.start_soon(play)
            async for _ in signals:
                tasks.cancel_scope.cancel()


async def _wait_for_watch(cluster: Cluster, plural: str) -> None:
    import anyio

    while True:
        for exchange in cluster.log:
            path, _, query = exchange.request.target.partition("?")
            if path.endswith(f"/{plural}") and ("watch=1" in query or "watch=true" in query):
                return
        cluster.log.clear()
        await anyio.sleep(0.05)

"""`kubeproto wait`: until objects have a condition or a value, exist, or are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, seconds
from ._errors import CommandFailed, first_error, reason_of
from ._output import note, result
from ._resources import WantedResources, parse_resources
from ._tables import kind_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Dynamic
    from kubeproto_runtime.client import BoundApi
    from kubeproto_runtime.conditions import Condition

_EXPECTED: Final = "condition=TYPE[=STATUS], jsonpath=PATH[=VALUE], create or delete"
_WEEK: Final = 7 * 24 * 3600.0


@click.command(
    cls=Command,
    examples=[
        ("until a Deployment is available", "kubeproto wait deploy/web --for=condition=Available"),
        ("until all pods with a label are ready, for five minutes",
         "kubeproto wait pods -l app=web --for=condition=Ready --timeout=5m"),
        ("until a value is there", "kubeproto wait pod/web --for=jsonpath='{.status.phase}'=Running"),
        ("until an object exists", "kubeproto wait cm/settings --for=create"),
        ("until it is gone", "kubeproto wait pod/web --for=delete"),
    ],
)  # fmt: skip
@click.argument("resources", nargs=-1, metavar="TYPE[,TYPE] [NAME…]")
@click.option("--for", "what", required=True, metavar="WHAT", help=f"{_EXPECTED}.")
@click.option(
    "--timeout", type=seconds, default=30.0, metavar="DURATION",
    help="How long to wait, 30s by default; 0 looks once, and less than 0 is a week.",
)  # fmt: skip
@click.option("--selector", "-l", default="", metavar="LABELS", help="All objects with these labels.")
@click.option("--field-selector", default="", metavar="FIELDS", help="All objects with these fields.")
@click.option("--all", "everything", is_flag=True, help="All objects of the types.")
@connection_options(all_namespaces=True)
def wait(connection: ConnectionOptions, resources: tuple[str, ...], **given: Any) -> None:
    """Wait for a condition, a value, creation or deletion.

    Several objects are waited for at once. An object that does not exist yet may still come, whatever is
    waited for. The exit status is 1 if the time is up, or if what is waited for can never be.
    """
    wanted = parse_resources(resources)
    selected = given["everything"] or given["selector"] or given["field_selector"]
    if any(bool(one.names) == bool(selected) for one in wanted):
        raise click.UsageError("which objects? give names, or one of --all, --selector and --field-selector")
    waits = _Waits(connection, given)
    asyncio_run(waits.run, wanted)
    if waits.failed:
        raise click.exceptions.Exit(1)


def parse_condition(text: str) -> Condition[Any]:
    """Read the condition; a `UsageError` says what is expected."""
    from kubeproto_runtime import conditions

    kind, _, rest = text.partition("=")
    match kind, rest:
        case "create", "":
            return conditions.exists()
        case "delete", "":
            return conditions.deleted()
        case "condition", rest if rest:
            name, equals, status = rest.partition("=")
            return conditions.condition(name, status if equals else "True")
        case "jsonpath", rest if rest:
            path, value = _path_and_value(rest)
            return conditions.at_path(path, value)
        case _:
            raise click.UsageError(f"--for {text}: expected {_EXPECTED}")


def _path_and_value(text: str) -> tuple[str, str | None]:
    """Split at the equals sign after the path, whose filters may contain others."""
    end = text.rfind("}") + 1
    path, equals, value = text[:end], text[end : end + 1], text[end + 1 :]
    if not end:
        path, equals, value = text.partition("=")
    elif text[end:] and equals != "=":
        raise click.UsageError(f"--for jsonpath={text}: expected {{PATH}} or {{PATH}}=VALUE")
    if equals and not value:
        raise click.UsageError(f"--for jsonpath={text}: there is no value after the equals sign")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return path, value if equals else None


class _Waits:
    """Waits for all objects at once."""

    def __init__(self, connection: ConnectionOptions, given: dict[str, Any]) -> None:
        self.connection = connection
        self.given = given
        self.failed = False
        self.deletion = given["what"] == "delete"
        self.condition = parse_condition(given["what"])
        self.timeout: float = given["timeout"] if given["timeout"] >= 0 else _WEEK

    async def run(self, wanted: Sequence[WantedResources]) -> None:
        import anyio

        async with connected(self.connection) as client, anyio.create_task_group() as tasks:
            count = 0
            for one in wanted:
                for api in await client.resources(one.kind, namespace=self.connection.place):
                    for target, name, uid in await self._targets(api, one.names):
                        tasks.start_soon(self._wait, target, name, uid)
                        count += 1
            if not count and not self.deletion:
                raise CommandFailed("no object matches: there is nothing to wait for")

    async def _targets(
        self, api: BoundApi[Dynamic], names: Sequence[str]
    ) -> list[tuple[BoundApi[Dynamic], str, str]]:
        """Return the objects: each with the verbs in its namespace, its name, and its uid for a deletion."""
        if names:
            # Another object may get the name: it is not the one whose deletion is awaited.
            found = [(name, await api.get_or_none(name)) for name in names] if self.deletion else []
            uids = {name: obj.metadata.uid for name, obj in found if obj is not None}
            return [(api, name, uids.get(name, "")) for name in names]
        labels, fields = self.given["selector"], self.given["field_selector"]
        targets: list[tuple[BoundApi[Dynamic], str, str]] = []
        async for obj in api.items(label_selector=labels, field_selector=fields):
            own = api.client.requests(api.kind, namespace=obj.metadata.namespace, resource=api.resource)
            targets.append((type(api)(api.client, own), obj.metadata.name, obj.metadata.uid))
        return targets

    async def _wait(self, api: BoundApi[Dynamic], name: str, uid: str) -> None:
        from kubeproto_runtime import conditions

        condition = conditions.deleted(uid) if self.deletion else self.condition
        try:
            if self.timeout:
                await api.wait_for(name, condition, timeout=self.timeout)
            elif missing := condition.missing(await api.get_or_none(name)):
                raise CommandFailed(f"{kind_name(api.resource)}/{name} is not {condition.name}: {missing}")
        except Exception as error:
            cause = first_error(error)
            if (reason := reason_of(cause)) is None:
                raise
            note(f"kubeproto wait: {reason}")
            self.failed = True
        else:
            result(f"{kind_name(api.resource)}/{name} {'deleted' if self.deletion else 'condition met'}")

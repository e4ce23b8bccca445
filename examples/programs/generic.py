"""Any kind, without a class: `python examples/programs/generic.py deploy web spec.replicas 3`."""

import asyncio
import json
import sys
from typing import Any

import kubeproto as kp
from kubeproto_runtime import Client, connect


async def inventory(client: Client) -> dict[str, int]:
    """Count the objects of each kind that can be listed."""
    counts: dict[str, int] = {}
    for resource in await client.discover():
        if "list" in resource.verbs:
            page = await client.api(kp.Metadata, namespace=kp.ALL, resource=resource).list()
            counts[str(resource)] = len(page)
    return counts


async def change(client: Client, kind: str, name: str, path: str, value: Any) -> kp.Dynamic:
    """Set a field of any object; only the difference is sent."""
    *parents, last = path.split(".")

    def set_field(obj: kp.Dynamic) -> None:
        part: Any = obj
        for step in parents:
            part = part[step]
        part[last] = value

    return await (await client.resource(kind)).update(name, set_field)


async def main(kind: str, name: str, path: str, value: str) -> None:
    async with connect() as client:
        for resource, count in (await inventory(client)).items():
            print(f"{count:6} {resource}")
        print(kp.dump_yaml(await change(client, kind, name, path, json.loads(value))))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""A script with common tasks of kubectl: `python examples/programs/script.py web < manifest.yaml`."""

import asyncio
import sys

from kubeproto_runtime import conditions, connect


async def script(manifest: str, app: str) -> None:
    async with connect() as client:
        applied = await client.apply_manifests(manifest, field_manager="script")
        for obj in applied:
            print(obj)
            if obj.obj.kind == "Deployment":
                await client.wait_for(obj.obj, conditions.rolled_out(), timeout=120)
        print(await (await client.resource("deploy")).as_table().list())
        pods = await client.resource("pods")
        async for pod in pods.items(label_selector=f"app={app}"):
            async with pods.follow_log(pod.metadata.name) as lines:
                async for line in lines:
                    print(pod.metadata.name, line.decode())
        for obj in reversed(applied):
            await client.delete(obj.obj)


if __name__ == "__main__":
    asyncio.run(script(sys.stdin.read(), sys.argv[1]))

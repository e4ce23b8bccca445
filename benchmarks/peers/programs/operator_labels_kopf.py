"""examples/programs/operator_labels.py with kopf and kr8s: `kopf run operator_labels_kopf.py`."""

import kopf
from kr8s.asyncio.objects import ConfigMap

BOOKS = ("example.technosophos.com", "v1", "books")


@kopf.on.startup()
def configure(settings, **_):
    settings.peering.name = "labels"
    settings.networking.request_timeout = 10


@kopf.index("configmaps", labels={"book": kopf.PRESENT})
def labels(namespace, name, body, **_):
    return {(namespace, name): dict(body.get("data", {}))}


@kopf.timer(*BOOKS, interval=30)
@kopf.on.resume(*BOOKS)
@kopf.on.create(*BOOKS)
@kopf.on.update(*BOOKS)
async def reconcile(namespace, name, spec, labels, **_):
    text = f"{spec['title']}, by {' and '.join(spec.get('authors', [])) or 'nobody'}"
    if {"label": text} in labels.get((namespace, name), []):
        return
    label = {"metadata": {"name": name, "namespace": namespace, "labels": {"book": name}}}
    kopf.adopt(label)
    config_map = await ConfigMap(label | {"data": {"label": text}})
    if await config_map.exists():
        await config_map.patch({"data": {"label": text}})
    else:
        await config_map.create()

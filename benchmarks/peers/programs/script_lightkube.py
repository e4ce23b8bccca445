"""examples/programs/script_blocking.py with lightkube: `python script_lightkube.py web < manifest.yaml`."""

import sys

from lightkube import Client
from lightkube.codecs import load_all_yaml
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod


def script(manifest: str, app: str) -> None:
    client = Client(field_manager="script")
    objects = load_all_yaml(manifest)
    for obj in objects:
        client.apply(obj)
        print(type(obj).__name__, obj.metadata.name, "applied")
        if isinstance(obj, Deployment):
            client.wait(Deployment, obj.metadata.name, for_conditions=["Available"])
    print("NAME READY")
    for web in client.list(Deployment):
        print(web.metadata.name, f"{web.status.readyReplicas or 0}/{web.spec.replicas}")
    for pod in client.list(Pod, labels={"app": app}):
        for line in client.log(pod.metadata.name, follow=True):
            print(pod.metadata.name, line, end="")
    for obj in reversed(objects):
        client.delete(type(obj), obj.metadata.name)


if __name__ == "__main__":
    script(sys.stdin.read(), sys.argv[1])

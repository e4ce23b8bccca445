"""examples/programs/script_blocking.py with kr8s: `python script_kr8s.py web manifest.yaml`."""

import sys

import kr8s
from kr8s.objects import Deployment, objects_from_files


def script(path: str, app: str) -> None:
    objects = objects_from_files(path)
    for obj in objects:
        obj.create()
        print(obj.kind, obj.name, "created")
        if isinstance(obj, Deployment):
            obj.wait("condition=Available", timeout=120)
    print("NAME READY")
    for web in kr8s.get("deployments"):
        print(web.name, f"{web.status.get('readyReplicas', 0)}/{web.replicas}")
    for pod in kr8s.get("pods", label_selector={"app": app}):
        for line in pod.logs(follow=True):
            print(pod.name, line)
    for obj in reversed(objects):
        obj.delete()


if __name__ == "__main__":
    script(sys.argv[2], sys.argv[1])

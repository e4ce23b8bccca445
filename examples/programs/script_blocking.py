"""`script.py` without an event loop: `python examples/programs/script_blocking.py web < manifest.yaml`."""

import sys

from kubeproto_runtime import conditions, connect_blocking


def script(manifest: str, app: str) -> None:
    with connect_blocking() as client:
        applied = client.apply_manifests(manifest, field_manager="script")
        for obj in applied:
            print(obj)
            if obj.obj.kind == "Deployment":
                client.wait_for(obj.obj, conditions.rolled_out(), timeout=120)
        print(client.resource("deploy").as_table().list())
        pods = client.resource("pods")
        for pod in pods.items(label_selector=f"app={app}"):
            with pods.follow_log(pod.metadata.name) as lines:
                for line in lines:
                    print(pod.metadata.name, line.decode())
        for obj in reversed(applied):
            client.delete(obj.obj)


if __name__ == "__main__":
    script(sys.stdin.read(), sys.argv[1])

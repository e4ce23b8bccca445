"""kubernetes, the official client: pods and ConfigMaps as its models, books as dicts."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "aiohappyeyeballs==2.7.1",
#     "aiohttp==3.14.5",
#     "aiohttp-retry==2.9.1",
#     "aiosignal==1.4.0",
#     "annotated-types==0.8.0",
#     "attrs==26.1.0",
#     "certifi==2026.10.18",
#     "charset-normalizer==3.5.2",
#     "durationpy==0.11",
#     "frozenlist==1.8.0",
#     "idna==3.20",
#     "kubernetes==37.0.2",
#     "multidict==7.2.1",
#     "oauthlib==4.0.1",
#     "propcache==0.5.4",
#     "pydantic==2.14.3",
#     "pydantic_core==2.50.4",
#     "python-dateutil==4.0.0",
#     "PyYAML==6.0.3",
#     "requests==2.34.2",
#     "requests-oauthlib==2.0.0",
#     "typing-inspection==0.4.5",
#     "typing_extensions==4.16.0",
#     "tzdata==2026.6",
#     "urllib3==2.8.0",
#     "websocket-client==1.9.2",
#     "yarl==1.25.1",
# ]
# ///

from collections.abc import Callable
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of, part, serve, watch_of


def core() -> Any:
    """Return the API of the core group on the server that KUBECONFIG names."""
    part("kubernetes.config").load_kube_config()
    return part("kubernetes.client").CoreV1Api()


def decode(options: Any) -> Callable[[], int]:
    """Put lines through `Watch.unmarshal_event`, as its `stream` does."""
    watch = part("kubernetes.watch").Watch()
    kind = f"V1{BUILT_IN[options['kind']]}" if options["kind"] in BUILT_IN else "object"
    lines = watch_of(options).decode().splitlines()

    def run() -> int:
        events = 0
        for line in lines:
            watch.unmarshal_event(line, kind)
            events += 1
        return events

    return run


def live(options: Any) -> Callable[[], int]:
    """Watch pods through `Watch.stream`, once from its beginning to its end."""
    api, watch = core(), part("kubernetes.watch").Watch()

    def run() -> int:
        events = 0
        for _ in watch.stream(api.list_namespaced_pod, "default", timeout_seconds=600):
            events += 1
            if events == options["events"]:
                watch.stop()
        return events

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other."""
    api, client = core(), part("kubernetes.client")

    def get(name: str) -> None:
        api.read_namespaced_config_map(name, "default")

    def create(name: str) -> None:
        config_map = client.V1ConfigMap(
            metadata=client.V1ObjectMeta(name=name), data={"text": options["text"]}
        )
        api.create_namespaced_config_map("default", config_map)

    return each_of(options, {"get": get, "create": create})


if __name__ == "__main__":
    serve({"decode": decode, "live": live, "verbs": verbs})

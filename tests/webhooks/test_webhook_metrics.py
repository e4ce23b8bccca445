"""Calls of webhooks are counted under the names of controller-runtime, as Prometheus reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families
from webhook_rig import DEFAULT, VALIDATE, Book, book, review

from kubeproto.wire import RawRequest
from kubeproto_runtime import Operator
from kubeproto_runtime.testing import BACKENDS, Backend, run
from kubeproto_runtime.webhooks import (
    Admission,
    CertificateFiles,
    WebhookApplication,
    Webhooks,
    WebhookServer,
)

CALLS = "controller_runtime_webhook_requests_total"
FLYING = "controller_runtime_webhook_requests_in_flight"
LATENCY = "controller_runtime_webhook_latency_seconds"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def samples(operator: Operator) -> dict[str, float]:
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(operator.metrics()):
        for sample in family.samples:
            labels = ",".join(f"{label}={text}" for label, text in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


async def check(admission: Admission[Book]) -> None:
    """As long as a book has pages, but for one that is broken, and one that takes forever."""
    pages = admission.object.spec.pages or 0
    if pages == 13:
        raise RuntimeError("a bug in a handler")
    await anyio.sleep(pages)


def served(files: CertificateFiles) -> tuple[Operator, WebhookServer]:
    server = WebhookServer(Webhooks(Book).validate(check).default(lambda admission: None), files)
    return Operator(webhooks=server), server


async def call(server: WebhookServer, path: str, **spec: Any) -> int:
    request = RawRequest("POST", path, (), review(book(**spec)))
    return (await server.respond(request)).status


def test_each_call_is_counted_by_path_and_code_and_its_time_is_measured(backend: Backend) -> None:
    async def main() -> None:
        operator, server = served(CertificateFiles("a", "b"))
        before = samples(operator)
        assert before[f"{CALLS}{{code=200,webhook={VALIDATE}}}"] == 0
        assert before[f"{CALLS}{{code=500,webhook={DEFAULT}}}"] == 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, server, VALIDATE)
            tasks.start_soon(lambda: call(server, VALIDATE, pages=3))
            tasks.start_soon(lambda: call(server, f"{VALIDATE}?timeout=5s", pages=7))
            tasks.start_soon(lambda: call(server, VALIDATE, pages=13))
            tasks.start_soon(call, server, DEFAULT)
            await anyio.sleep(1)
            assert samples(operator)[f"{FLYING}{{webhook={VALIDATE}}}"] == 2
            assert samples(operator)[f"{FLYING}{{webhook={DEFAULT}}}"] == 0
        seen = samples(operator)
        counted = {code: seen[f"{CALLS}{{code={code},webhook={VALIDATE}}}"] for code in (200, 500, 504)}
        assert counted == {200: 2, 500: 1, 504: 1}
        assert seen[f"{CALLS}{{code=200,webhook={DEFAULT}}}"] == 1
        assert seen[f"{FLYING}{{webhook={VALIDATE}}}"] == 0
        assert seen[f"{LATENCY}_count{{webhook={VALIDATE}}}"] == 4
        assert seen[f"{LATENCY}_sum{{webhook={VALIDATE}}}"] == pytest.approx(8)
        bounds = {bound: seen[f"{LATENCY}_bucket{{le={bound},webhook={VALIDATE}}}"] for bound in (2.5, 5.0)}
        assert bounds == {2.5: 2, 5.0: 4}

    run(main, backend=backend)


def test_a_path_that_is_not_a_webhook_makes_no_label(backend: Backend) -> None:
    async def main() -> None:
        operator, server = served(CertificateFiles("a", "b"))
        before = samples(operator)
        assert await call(server, "/validate/secrets/v1") == 404
        assert (await server.respond(RawRequest("GET", VALIDATE, ()))).status == 405
        after = samples(operator)
        assert after.pop(f"{CALLS}{{code=405,webhook={VALIDATE}}}") == 1
        assert after.keys() == before.keys()

    run(main, backend=backend)


class Breaking(WebhookApplication):
    async def respond(self, method: str, target: str, body: bytes) -> Any:
        raise OSError("of a subclass")


def test_a_call_that_breaks_is_a_500_and_not_in_flight_forever(backend: Backend) -> None:
    async def main() -> None:
        application = Breaking(Webhooks(Book).validate(check))
        server = WebhookServer(application, CertificateFiles("a", "b"))
        operator = Operator(webhooks=server)
        with pytest.raises(OSError, match="of a subclass"):
            await call(server, VALIDATE)
        assert samples(operator)[f"{FLYING}{{webhook={VALIDATE}}}"] == 0
        assert samples(operator)[f"{CALLS}{{code=500,webhook={VALIDATE}}}"] == 1

    run(main, backend=backend)


def test_reads_of_a_certificate_are_counted(tmp_path: Path) -> None:
    made = trustme.CA().issue_cert("h")
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    paths[0].write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
    paths[1].write_bytes(made.private_key_pem.bytes())

    async def main() -> None:
        files = CertificateFiles(*paths)
        operator, _ = served(files)
        reads, errors = "certwatcher_read_certificate_total{}", "certwatcher_read_certificate_errors_total{}"
        assert (samples(operator)[reads], samples(operator)[errors]) == (0, 0)
        files.context()
        files.context()  # nothing has changed
        assert (samples(operator)[reads], samples(operator)[errors]) == (1, 0)
        paths[0].write_bytes(b"garbage")
        files.context()
        assert (samples(operator)[reads], samples(operator)[errors]) == (2, 1)

    run(main)


def test_an_operator_without_webhooks_has_none_of_these() -> None:
    async def main() -> None:
        text = Operator().metrics()
        assert "webhook" not in text
        assert "certwatcher" not in text

    run(main)

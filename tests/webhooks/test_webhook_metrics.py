"""Calls of webhooks are counted in metrics with the names of controller-runtime."""

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
IN_FLIGHT = "controller_runtime_webhook_requests_in_flight"
LATENCY = "controller_runtime_webhook_latency_seconds"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend_name: Backend = request.param
    return backend_name


def samples(operator: Operator) -> dict[str, float]:
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(operator.metrics()):
        for sample in family.samples:
            labels = ",".join(f"{label}={text}" for label, text in sorted(sample.labels.items()))
            values[f"{sample.name}{{{labels}}}"] = sample.value
    return values


async def check(admission: Admission[Book]) -> None:
    """Sleep one second per page; fail for 13 pages."""
    pages = admission.object.spec.pages or 0
    if pages == 13:
        raise RuntimeError("a bug in a handler")
    await anyio.sleep(pages)


def make_operator(files: CertificateFiles) -> tuple[Operator, WebhookServer]:
    server = WebhookServer(Webhooks(Book).validate(check).default(lambda admission: None), files)
    return Operator(webhooks=server), server


async def call(server: WebhookServer, path: str, **spec: Any) -> int:
    request = RawRequest("POST", path, (), review(book(**spec)))
    return (await server.respond(request)).status


def test_each_call_is_counted_by_path_and_code_with_its_latency(backend: Backend) -> None:
    async def main() -> None:
        operator, server = make_operator(CertificateFiles("a", "b"))
        metrics_before = samples(operator)
        assert metrics_before[f"{CALLS}{{code=200,webhook={VALIDATE}}}"] == 0
        assert metrics_before[f"{CALLS}{{code=500,webhook={DEFAULT}}}"] == 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, server, VALIDATE)
            tasks.start_soon(lambda: call(server, VALIDATE, pages=3))
            tasks.start_soon(lambda: call(server, f"{VALIDATE}?timeout=5s", pages=7))
            tasks.start_soon(lambda: call(server, VALIDATE, pages=13))
            tasks.start_soon(call, server, DEFAULT)
            await anyio.sleep(1)
            assert samples(operator)[f"{IN_FLIGHT}{{webhook={VALIDATE}}}"] == 2
            assert samples(operator)[f"{IN_FLIGHT}{{webhook={DEFAULT}}}"] == 0
        scraped = samples(operator)
        counts = {code: scraped[f"{CALLS}{{code={code},webhook={VALIDATE}}}"] for code in (200, 500, 504)}
        assert counts == {200: 2, 500: 1, 504: 1}
        assert scraped[f"{CALLS}{{code=200,webhook={DEFAULT}}}"] == 1
        assert scraped[f"{IN_FLIGHT}{{webhook={VALIDATE}}}"] == 0
        assert scraped[f"{LATENCY}_count{{webhook={VALIDATE}}}"] == 4
        assert scraped[f"{LATENCY}_sum{{webhook={VALIDATE}}}"] == pytest.approx(8)
        bounds = {
            bound: scraped[f"{LATENCY}_bucket{{le={bound},webhook={VALIDATE}}}"] for bound in (2.5, 5.0)
        }
        assert bounds == {2.5: 2, 5.0: 4}

    run(main, backend=backend)


def test_an_unknown_path_adds_no_label(backend: Backend) -> None:
    async def main() -> None:
        operator, server = make_operator(CertificateFiles("a", "b"))
        metrics_before = samples(operator)
        assert await call(server, "/validate/secrets/v1") == 404
        assert (await server.respond(RawRequest("GET", VALIDATE, ()))).status == 405
        metrics_after = samples(operator)
        assert metrics_after.pop(f"{CALLS}{{code=405,webhook={VALIDATE}}}") == 1
        assert metrics_after.keys() == metrics_before.keys()

    run(main, backend=backend)


class FailingWebhooks(WebhookApplication):
    async def respond(self, method: str, target: str, body: bytes) -> Any:
        raise OSError("of a subclass")


def test_a_call_that_raises_is_counted_as_500_and_leaves_the_flight(backend: Backend) -> None:
    async def main() -> None:
        application = FailingWebhooks(Webhooks(Book).validate(check))
        server = WebhookServer(application, CertificateFiles("a", "b"))
        operator = Operator(webhooks=server)
        with pytest.raises(OSError, match="of a subclass"):
            await call(server, VALIDATE)
        assert samples(operator)[f"{IN_FLIGHT}{{webhook={VALIDATE}}}"] == 0
        assert samples(operator)[f"{CALLS}{{code=500,webhook={VALIDATE}}}"] == 1

    run(main, backend=backend)


def test_reads_of_a_certificate_are_counted(tmp_path: Path) -> None:
    certificate = trustme.CA().issue_cert("h")
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    paths[0].write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
    paths[1].write_bytes(certificate.private_key_pem.bytes())

    async def main() -> None:
        files = CertificateFiles(*paths)
        operator, _ = make_operator(files)
        reads, errors = "certwatcher_read_certificate_total{}", "certwatcher_read_certificate_errors_total{}"
        assert (samples(operator)[reads], samples(operator)[errors]) == (0, 0)
        files.context()
        files.context()  # unchanged files are not read again
        assert (samples(operator)[reads], samples(operator)[errors]) == (1, 0)
        paths[0].write_bytes(b"garbage")
        files.context()
        assert (samples(operator)[reads], samples(operator)[errors]) == (2, 1)

    run(main)


def test_an_operator_without_webhooks_has_no_webhook_metrics() -> None:
    async def main() -> None:
        text = Operator().metrics()
        assert "webhook" not in text
        assert "certwatcher" not in text

    run(main)

"""examples/programs/operator_archive.py with kopf: `kopf run --standalone operator_archive_kopf.py`."""

import kopf

BOOKS = ("example.technosophos.com", "v1", "books")


@kopf.on.startup()
def configure(settings, memo, **_):
    settings.persistence.finalizer = "books.example.com/archive"
    memo.titles = []


@kopf.on.delete(*BOOKS)
def archive(spec, body, memo, **_):
    memo.titles.append(spec["title"])
    kopf.event(body, type="Normal", reason="Archived", message=f"{spec['title']} is in the archive")

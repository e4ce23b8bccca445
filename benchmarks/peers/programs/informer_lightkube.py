"""examples/programs/informer.py with lightkube, which follows through failures and types no spec."""

from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.types import OnErrorAction, OnErrorResult

Book = create_namespaced_resource("example.technosophos.com", "v1", "Book", "books")


def trouble(error: Exception, count: int) -> OnErrorResult:
    print(f"trouble: {error}", flush=True)
    return OnErrorResult(OnErrorAction.RETRY, sleep=min(count, 30))


def print_changes() -> None:
    by_author: dict[str, set[str]] = {}
    for event, book in Client().watch(Book, namespace="*", on_error=trouble):
        name = book.metadata.name
        match event:
            case "ADDED" | "MODIFIED":
                for author in book.spec.get("authors", []):
                    by_author.setdefault(author, set()).add(name)
                print(f"{book.spec['title']} is on the shelf", flush=True)
            case "DELETED":
                for names in by_author.values():
                    names.discard(name)
                print(f"{name} is gone", flush=True)


if __name__ == "__main__":
    print_changes()

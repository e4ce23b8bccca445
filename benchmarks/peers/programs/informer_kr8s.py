"""examples/programs/informer.py with kr8s, which ends at the first failure and types no spec."""

import kr8s
from kr8s.objects import new_class

Book = new_class("Book", "example.technosophos.com/v1", namespaced=True)


def print_changes() -> None:
    by_author: dict[str, set[str]] = {}
    for event, book in kr8s.watch("books.example.technosophos.com", namespace=kr8s.ALL):
        match event:
            case "ADDED" | "MODIFIED":
                for author in book.spec.get("authors", []):
                    by_author.setdefault(author, set()).add(book.name)
                print(f"{book.spec.title} is on the shelf", flush=True)
            case "DELETED":
                for names in by_author.values():
                    names.discard(book.name)
                print(f"{book.name} is gone", flush=True)


if __name__ == "__main__":
    print_changes()

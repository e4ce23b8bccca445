"""The differences between the transports, as data that `test_contract_differences` checks.

Run as a program, this module writes the table as Markdown, for docs/guides/transports.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Difference(NamedTuple):
    """The results of a situation on each transport, in the words of the table."""

    situation: str
    trio: str
    asyncio: str
    httpx: str
    blocking: str

    def of(self, label: str) -> str:
        """Return the result on the rig of this label."""
        match label:
            case "trio":
                return self.trio
            case "asyncio":
                return self.asyncio
            case "httpx, blocking":
                return self.blocking
            case _:
                return self.httpx


PIECES: Final = Difference(
    "twenty short chunks that arrive at once are handed over as",
    "one piece",
    "one piece",
    "one piece",
    "one piece",
)
DOTS: Final = Difference(
    "a target with `..` or a character that should be escaped",
    "goes out as it is",
    "goes out as it is",
    "`LocalProtocolError`",
    "`LocalProtocolError`",
)
INTERIM: Final = Difference(
    "twenty 100s before the answer",
    "`RemoteProtocolError`",
    "`RemoteProtocolError`",
    "`RemoteProtocolError`",
    "`RemoteProtocolError`",
)
UNREAD: Final = Difference(
    "the server answers, and never reads the large body of the request",
    "the response is read",
    "the response is read",
    "`DeadlineExceeded`",
    "`DeadlineExceeded`",
)
DIFFERENCES: Final = (PIECES, DOTS, INTERIM, UNREAD)


def table() -> str:
    """Return the differences in Markdown, without rows that are the same on every transport."""
    heads = ("", "kubeproto_trio", "kubeproto_asyncio", "kubeproto_httpx, async", "kubeproto_httpx, blocking")
    rows = [tuple(row) for row in DIFFERENCES if len(set(row[1:])) > 1]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ("---",) * len(heads), *rows))


if __name__ == "__main__":
    print(table())  # noqa: T201 - this is what it is for

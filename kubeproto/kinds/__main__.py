"""`python -m kubeproto.kinds crds.yaml […] > library.py`: classes for the kinds of CustomResourceDefinitions.

Files are JSON, or YAML where PyYAML is installed; `-` is standard input.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from ._crds import InvalidDefinition, module_source

_USAGE: Final = "usage: python -m kubeproto.kinds FILE [FILE…] > MODULE.py"


def main(arguments: list[str]) -> int:
    """Print a module for the definitions in the files; return the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(f"{_USAGE}\n{__doc__}")
        return 0 if arguments else 2
    try:
        text = module_source(_read_files(arguments))
    except (OSError, InvalidDefinition, ImportError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(text)
    return 0


def _read_files(paths: Iterable[str]) -> Iterator[Any]:
    for path in paths:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
        yield from _parse_documents(path, data)


def _parse_documents(path: str, data: bytes) -> Iterator[Any]:
    try:
        yield msgspec.json.decode(data)
        return
    except (ValueError, RecursionError) as error:  # broken JSON, bytes that are not UTF-8, or 1,000 brackets
        if path.endswith(".json"):
            raise InvalidDefinition(f"{path}: {error}") from None
    from ..yaml import YamlError, read_documents

    try:
        for document in read_documents(data.decode()):
            yield document.value
    except YamlError as error:
        raise InvalidDefinition(f"{path}, line {error.line}: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidDefinition(f"{path}: {error}") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

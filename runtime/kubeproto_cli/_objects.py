"""Objects as YAML, JSON, JSON lines, names, custom columns, or by a JSONPath template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import click
import msgspec

from kubeproto import Dynamic, decode, dump_yaml
from kubeproto.objects import JsonPath
from kubeproto.wire import printable

from ._documents import as_plain
from ._output import BOLD, FORMATS, indented, styled, use_color
from ._tables import kind_name, sort_key, sort_path
from ._templates import Template, plain_text

if TYPE_CHECKING:
    from typing import TextIO

    from kubeproto import Resource

_GAP: Final = 3
_LEAST: Final = 6


def object_printer(
    output: str, stream: TextIO, *, headers: bool = True, managed_fields: bool = False, sort_by: str = ""
) -> ObjectPrinter:
    """Return the printer for a format; a `UsageError` names the known formats."""
    name, equals, argument = output.partition("=")
    made: ObjectPrinter
    match name, bool(equals and argument):
        case "yaml", False:
            made = YamlPrinter(stream)
        case "json", False:
            made = JsonPrinter(stream)
        case "jsonl", False:
            made = JsonLinesPrinter(stream)
        case "name", False:
            made = NamePrinter(stream)
        case "custom-columns", True:
            made = ColumnsPrinter(stream, argument, headers=headers)
        case "jsonpath", True:
            made = TemplatePrinter(stream, argument)
        case _:
            raise click.UsageError(f"there is no output format {output!r}: expected {FORMATS}")
    made.managed_fields = managed_fields
    made.sort_by = sort_path(sort_by)
    return made


class ObjectPrinter:
    """Collects the objects, without managedFields, and prints them at the end."""

    tabular: Final = False
    tells_nothing: ClassVar[bool] = False
    include_object: Final = "Object"

    def __init__(self, stream: TextIO) -> None:
        self.several = False
        self.single = False
        self.namespaced = True
        self.count = 0
        self.managed_fields = False
        self.sort_by: JsonPath | None = None
        self.stream = stream
        self.resource: Resource | None = None
        self.objects: list[dict[str, Any]] = []

    def begin(self, resource: Resource) -> None:
        """Begin with this kind."""
        self.resource = resource

    def page(self, page: Any) -> None:
        """Take some objects."""
        for one in page:
            self.count += 1
            self.take(as_plain(one, managed_fields=self.managed_fields))

    def take(self, obj: dict[str, Any]) -> None:
        """Take one object."""
        self.objects.append(obj)

    def end(self) -> None:
        """End this kind."""

    def close(self) -> None:
        """Print what was collected."""
        if self.sort_by is not None:
            path = self.sort_by
            self.objects.sort(key=lambda obj: sort_key(next(iter(path.find(obj)), None)))
        self.stream.write(self.written())
        self.stream.flush()

    def written(self) -> str:
        """Return everything as a string."""
        raise NotImplementedError

    @property
    def whole(self) -> dict[str, Any]:
        """The named object, or a List of all, as kubectl prints them."""
        if self.single and self.objects:
            return self.objects[0]
        return {
            "apiVersion": "v1",
            "items": self.objects,
            "kind": "List",
            "metadata": {"resourceVersion": ""},
        }


class YamlPrinter(ObjectPrinter):
    """YAML."""

    def written(self) -> str:
        """Return one document."""
        if self.single and not self.objects:
            return ""
        return dump_yaml(decode(msgspec.json.encode(self.whole), Dynamic))


class JsonPrinter(ObjectPrinter):
    """JSON, indented."""

    def written(self) -> str:
        """Return it with sorted keys."""
        if self.single and not self.objects:
            return ""
        return f"{indented(self.whole)}\n"


class _EachPrinter(ObjectPrinter):
    """Prints each object when it arrives, unless they are to be sorted."""

    def take(self, obj: dict[str, Any]) -> None:
        """Print it, or keep it."""
        if self.sort_by is not None:
            self.objects.append(obj)
        else:
            self.stream.write(self.line(obj))

    def end(self) -> None:
        """Print the objects."""
        self.stream.flush()

    def written(self) -> str:
        """Return those that were kept."""
        return "".join(map(self.line, self.objects))

    def line(self, obj: dict[str, Any]) -> str:
        """Return an object as a line."""
        raise NotImplementedError


class JsonLinesPrinter(_EachPrinter):
    """JSON, an object a line."""

    def line(self, obj: dict[str, Any]) -> str:
        """Return the object."""
        return msgspec.json.encode(obj).decode() + "\n"


class NamePrinter(_EachPrinter):
    """Names in the form that other commands accept: ``pod/web``."""

    def line(self, obj: dict[str, Any]) -> str:
        """Return kind and name."""
        assert self.resource is not None
        return f"{kind_name(self.resource)}/{printable(str(obj['metadata']['name']))}\n"


class ColumnsPrinter(ObjectPrinter):
    """Columns given as ``HEADER:PATH,HEADER:PATH``."""

    def __init__(self, stream: TextIO, columns: str, *, headers: bool) -> None:
        super().__init__(stream)
        self._headers = headers
        self._columns = [_column(word) for word in _split(columns)]

    def written(self) -> str:
        """Return the table."""
        rows = [[header for header, _ in self._columns]] if self._headers else []
        rows += [[_cell(path, obj) for _, path in self._columns] for obj in self.objects]
        if not rows:
            return ""
        widths = [max(_LEAST, max(map(len, column)) + _GAP) for column in zip(*rows, strict=True)]
        lines = [
            "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        if self._headers:
            lines[0] = styled(lines[0], BOLD, use_color(self.stream))
        return "\n".join(lines) + "\n"


class TemplatePrinter(ObjectPrinter):
    """A JSONPath template, as kubectl's ``-o jsonpath``."""

    def __init__(self, stream: TextIO, template: str) -> None:
        super().__init__(stream)
        self._template = Template.parse(template)

    def written(self) -> str:
        """Return the text; no line break is added, as kubectl adds none."""
        return self._template.text(self.whole)


def _split(columns: str) -> list[str]:
    """Split at the commas that are not within brackets."""
    words, depth = [""], 0
    for character in columns:
        depth += (character in "[(") - (character in "])")
        if character == "," and not depth:
            words.append("")
        else:
            words[-1] += character
    return words


def _column(word: str) -> tuple[str, JsonPath]:
    header, colon, path = word.partition(":")
    if not header or not colon or not path:
        raise click.UsageError(f"custom-columns: {word!r} is not HEADER:PATH, such as NAME:.metadata.name")
    return header, JsonPath.parse(path)


def _cell(path: JsonPath, obj: dict[str, Any]) -> str:
    return printable(
        ",".join("<none>" if one is None else plain_text(one) for one in path.find(obj)) or "<none>"
    )

"""What is read lazily: kinds that a class describes, `Dynamic`, and the metadata of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType

from ._base import KubeObject
from ._depths import Dynamic
from ._meta import ObjectMeta
from ._resource import Resource
from ._spans import Line, Span
from ._stages import STAGES, Stages
from ._values import decoder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

IDENTITY: Final = ("name", "namespace", "uid", "resource_version")
# Of the rest of the metadata, the parts that are worth leaving until touched: long, or slow to read.
_META_PARTS: Final = (
    "creation_timestamp",
    "labels",
    "annotations",
    "owner_references",
    "finalizers",
    "managed_fields",
)


class _Object(Struct, Generic[T]):
    """An object, for its metadata alone."""

    metadata: T | UnsetType = UNSET


class _MetaStages(Stages):
    """The metadata of any kind."""

    _path = "metadata."

    def __init__(self) -> None:
        unread = [name for name in ObjectMeta.__struct_fields__ if name not in IDENTITY]
        super().__init__(ObjectMeta, _META_PARTS, unread, {})
        # What a watch sends has a name.
        self.named = self._hide_parts({"name": str}, required="name")
        self._from_line = reader(Line[_Object[self.lazy]])  # type: ignore[name-defined]
        self._from_text = reader(_Object[self.lazy])  # type: ignore[name-defined]

    def _whole(self, span: Span) -> Any:
        _, segment, start, end = span
        obj = self._from_text(segment) if start < 0 else self._from_line(segment[start:end]).object
        return self.lazy() if obj.metadata is UNSET else obj.metadata


def _meta_stages() -> _MetaStages:
    found = STAGES.get(ObjectMeta) or _MetaStages()
    assert isinstance(found, _MetaStages)
    return found


class KindStages(Stages):
    """A kind of object, whose metadata has stages of its own."""

    def __init__(self, kind: type[Any], parts: Iterable[str], unread: Iterable[str]) -> None:
        resource: Resource | None = getattr(kind, "resource", None)
        self.meta = _meta_stages()
        self._in_lines: dict[bool, type[Any]] = {}
        # A class without an identity takes its kind from the text, so a front must show it.
        self.pinned = resource is not None
        # Unless it is known that there is no namespace, a front must show one.
        self.cluster_scoped = resource is not None and not resource.namespaced
        super().__init__(kind, parts, unread, {"metadata": self.meta})
        # Its own parts are typed at once, those of the metadata are not.
        self.typed = self._hide({"metadata": self.meta.lazy}, (), Raw)

    def in_line(self, *, strict: bool) -> type[Any]:
        """The class for lines of a watch, lazy or typed: without metadata or name it is no object there."""
        found = self._in_lines.get(strict)
        if found is None:
            types = {"metadata": self.meta.named}
            hide = self._hide(types, (), Raw, required="metadata") if strict else None
            found = self._in_lines[strict] = hide or self._hide_parts(types, required="metadata")
        return found

    def identified(self, obj: KubeObject) -> bool:
        """True if what was read of a front says which object it is, and at which version."""
        meta = obj.metadata
        named = meta.name and meta.uid and meta.resource_version
        return bool(
            named
            and (meta.namespace or self.cluster_scoped)
            and (self.pinned or (obj.kind and obj.api_version))
        )

    def attach(self, obj: KubeObject, span: Span) -> None:
        """Tell a front where its text stands."""
        if self.carries:
            self.carry(obj, span)
        self.meta.carry(obj.metadata, span)

    def pristine(self, obj: KubeObject) -> Span | None:
        """The span of a front that nobody has touched, nor its metadata."""
        # A store asks this of every object, so what could be two calls more stands here.
        meta = obj.metadata
        if type(obj) is not self.front or type(meta) is not self.meta.front:
            return None
        span: Span = self.meta.carried(meta)
        # A kind that is metadata and no more has no slot for a span of its own.
        return span if self._carrier is None or span is self.carried(obj) else None


class _TypedStages(KindStages):
    """A kind that a class describes."""

    def __init__(self, kind: type[Any]) -> None:
        rest = [name for name in kind.__struct_fields__ if name not in ("kind", "api_version", "metadata")]
        super().__init__(kind, rest, rest)
        self._from_line = reader(Line[self.lazy])  # type: ignore[name-defined]
        self._from_text = reader(self.lazy)

    def _whole(self, span: Span) -> Any:
        _, segment, start, end = span
        return self._from_text(segment) if start < 0 else self._from_line(segment[start:end]).object


class _DynamicStages(KindStages):
    """Any kind: all but the metadata is one part, a dict."""

    def __init__(self) -> None:
        super().__init__(Dynamic, (), ("content",))
        self._from_line = reader(Line[dict[str, Any]])
        self._from_text = reader(dict[str, Any])

    def _whole(self, span: Span) -> Any:
        _, segment, start, end = span
        content = self._from_text(segment) if start < 0 else self._from_line(segment[start:end]).object
        for key in ("kind", "apiVersion", "metadata"):
            content.pop(key, None)
        return Dynamic(content=content)


def stages_of(kind: type[KubeObject]) -> KindStages | None:
    """The stages of a kind; None for one whose own code would see them (`__post_init__`, frozen)."""
    found = STAGES.get(kind)
    if found is None and not (hasattr(kind, "__post_init__") or kind.__struct_config__.frozen):
        found = _DynamicStages() if issubclass(kind, Dynamic) else _TypedStages(kind)
    assert found is None or isinstance(found, KindStages)
    return found


def reader(type_: Any) -> Callable[[bytes | memoryview | Raw], Any]:
    """What reads this type from JSON."""
    return decoder_of(type_, getattr(type_, "__qualname__", str(type_))).decode


def settle(obj: T) -> T:
    """Read all that a lazy object has left unread; it is then an object of the plain class."""
    if (stages := STAGES.get(type(obj))) is not None:
        stages.settle(obj)
        if isinstance(obj, KubeObject):
            settle(obj.metadata)
    return obj

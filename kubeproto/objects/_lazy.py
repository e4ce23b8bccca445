"""What is read lazily: kinds that a class describes, `Dynamic`, and the metadata of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from ._base import KubeObject
from ._depths import Dynamic
from ._meta import ObjectMeta
from ._resource import Resource
from ._spans import Line, Span, text_of
from ._stages import STAGES, Stages
from ._values import dec_hook

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

    metadata: T


class _MetaStages(Stages):
    """The metadata of any kind."""

    _path = "metadata."

    def __init__(self) -> None:
        unread = [name for name in ObjectMeta.__struct_fields__ if name not in IDENTITY]
        super().__init__(ObjectMeta, _META_PARTS, unread, {})
        self._from_line = reader(Line[_Object[self.lazy]])  # type: ignore[name-defined]
        self._from_text = reader(_Object[self.lazy])  # type: ignore[name-defined]

    def _whole(self, span: Span) -> Any:
        _, segment, start, end = span
        if start < 0:
            return self._from_text(segment).metadata
        return self._from_line(segment[start:end]).object.metadata


class KindStages(Stages):
    """A kind of object, whose metadata has stages of its own."""

    def __init__(self, kind: type[Any], parts: Iterable[str], unread: Iterable[str]) -> None:
        self.meta = STAGES.get(ObjectMeta) or _MetaStages()
        # Unless it is known that there is no namespace, a front must show one.
        resource: Resource | None = getattr(kind, "resource", None)
        self.cluster_scoped = resource is not None and not resource.namespaced
        super().__init__(kind, parts, unread, {"metadata": self.meta})
        # Its own parts are typed at once, those of the metadata are not.
        self.typed: type[Any] = self._hide({"metadata": self.meta.lazy}, (), Raw)
        STAGES[self.typed] = self

    def identified(self, obj: KubeObject) -> bool:
        """True if what was read of a front says which object it is, and at which version."""
        meta = obj.metadata
        named = meta.name and meta.uid and meta.resource_version
        return bool(named and (meta.namespace or self.cluster_scoped))

    def attach(self, obj: KubeObject, span: Span) -> None:
        """Tell a front where its text stands."""
        self.carry(obj, span)
        self.meta.carry(obj.metadata, span)

    def pristine(self, obj: KubeObject) -> Span | None:
        """The span of a front that nobody has touched, nor its metadata."""
        span = self.span(obj)
        return span if span is not None and span is self.meta.span(obj.metadata) else None


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

    def _whole(self, span: Span) -> Any:
        content = msgspec.json.decode(text_of(span), type=dict[str, Any])
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
    return msgspec.json.Decoder(type_, dec_hook=dec_hook).decode


def settle(obj: T) -> T:
    """Read all that a lazy object has left unread; it is then an object of the plain class."""
    if (stages := STAGES.get(type(obj))) is not None:
        stages.settle(obj)
        if isinstance(obj, KubeObject):
            settle(obj.metadata)
    return obj

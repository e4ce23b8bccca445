"""The bases of everything that goes over the wire as JSON: `Fields`, `KubeObject` and `Object[Spec, Status]`.

A single rule of sending holds for all of them: None is never sent, and every other value is, also 0, false,
"" and []. msgspec omits values that *are* the default, so the metaclass turns each default but None into a
factory: then only None is omitted, and the default of a user's own field still reaches the server.
"""

from __future__ import annotations

import sys
from functools import partial
from types import NoneType
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

import msgspec
from msgspec import Struct, StructMeta

from ._copies import deep_copy, reduce_plain
from ._definition import Definition
from ._object_meta import ObjectMeta
from ._resource import Resource, guess_plural

SpecT = TypeVar("SpecT")
StatusT = TypeVar("StatusT")

# The class keywords of a kind, those of msgspec, and mistaken keywords with the correct form.
_KEYWORDS: Final = (
    "group", "version", "kind", "plural", "singular", "namespaced", "short_names", "categories",
    "subresources", "verbs", "definition",
)  # fmt: skip
_STRUCT_KEYWORDS: Final = frozenset({
    "rename", "omit_defaults", "forbid_unknown_fields", "frozen", "order", "eq", "gc", "weakref", "dict",
    "repr_omit_defaults", "cache_hash", "tag", "tag_field", "array_like",
})  # fmt: skip
_SUGGESTIONS: Final = {
    "scope": "namespaced=False for a cluster-scoped kind",
    "clusterscoped": "namespaced=False for a cluster-scoped kind",
    "apiversion": 'group="example.com", version="v1"',
    "apigroup": 'group="example.com"',
    "name": 'plural="books"',
    "pluralname": 'plural="books"',
    "singularname": 'singular="book"',
    "shortname": 'short_names=("bk",)',
    "shortnames": 'short_names=("bk",)',
    "subresource": 'subresources=("status",)',
    "columns": "definition=kp.Definition(columns=…)",
    "rules": "definition=kp.Definition(rules=…)",
    "versions": "definition=kp.Definition(…)",
    "kwonly": "nothing: fields of a kind are keyword-only",
}

# The wire name of a field that is neither read nor written: no key of Kubernetes begins with a dash.
_OFF_THE_WIRE: Final = "-"

_Field: Final[Any] = getattr(msgspec.field(), "__class__")  # noqa: B009 # no public name leads to it
_EMPTY: Final[tuple[Any, ...]] = (list, dict, set, bytearray)


# Types that return their argument, or a copy of a mutable argument, when they are called.
_COPYING: Final[frozenset[type]] = frozenset((str, int, float, bool, *_EMPTY))


class Constant(partial[Any]):
    """A default that is always sent: msgspec omits defaults, but not the values of factories.

    It returns the value itself, or a copy of a mutable value. Decoding calls it for each such field that the
    text lacks: a Python function would take four times as long.
    """

    def __new__(cls, value: object) -> Self:
        """Return a factory of this value."""
        kind = type(value)
        return super().__new__(cls, kind if kind in _COPYING else _return_unchanged, value)

    def __repr__(self) -> str:
        return f"Constant({self.args[0]!r})"


def _return_unchanged(value: Any) -> Any:
    return value


class FieldsMeta(StructMeta):
    """Makes Structs keyword-only (msgspec does not inherit that) and their defaults sent."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> FieldsMeta:
        """Make the class; class keywords that msgspec does not know are refused, naming the class."""
        for field in _annotated(namespace):
            if field in namespace:
                namespace[field] = _always_sent(namespace[field])
        try:
            return super().__new__(mcls, name, bases, namespace, kw_only=True, **options)
        except TypeError as error:
            raise TypeError(f"class {name}: {error}") from None


def _annotated(namespace: dict[str, Any]) -> list[str]:
    """Return the names of the fields that a class body declares; a ClassVar is not a field."""
    annotations: dict[str, Any] = namespace.get("__annotations__", {})
    if sys.version_info >= (3, 14):
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            annotations = annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    return [name for name, type_ in annotations.items() if not _is_class_var(str(type_))]


def _is_class_var(annotation: str) -> bool:
    """Return whether an annotation is a ClassVar, in brackets or without, however it is imported."""
    return annotation.partition("[")[0].rpartition(".")[2].strip() == "ClassVar"


def _always_sent(default: Any) -> Any:
    """Return the default in a form that msgspec never omits; None stays None and is omitted."""
    name = None
    if type(default) is _Field:
        field, name = default, default.name
        if field.default_factory in _EMPTY:
            default = field.default_factory()
        elif field.default is msgspec.NODEFAULT:
            return field
        else:
            default = field.default
    shared = isinstance(default, Struct) and not default.__struct_config__.frozen
    if default is None or default is msgspec.UNSET or shared or (type(default) in _EMPTY and default):
        # msgspec has the better message for a mutable default that all objects would share.
        return msgspec.field(default=default, name=name)
    return msgspec.field(default_factory=Constant(default), name=name)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Fields(Struct, metaclass=FieldsMeta, rename="camel", omit_defaults=True):
    """The base of a spec, a status and the values nested in them: camelCase on the wire.

    Where Kubernetes spells a name differently, pass the name: ``cluster_ip: str =
    msgspec.field(name="clusterIP")``.
    """


class KubeMeta(FieldsMeta):
    """Gives a kind its identity, from the class keywords that `__new__` names."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        group: str | None = None,
        version: str | None = None,
        kind: str | None = None,
        plural: str | None = None,
        singular: str = "",
        namespaced: bool = True,
        short_names: tuple[str, ...] = (),
        categories: tuple[str, ...] = (),
        subresources: tuple[str, ...] = (),
        verbs: tuple[str, ...] = (),
        definition: Definition | None = None,
        **options: Any,
    ) -> KubeMeta:
        """Make a kind if a version is given, an abstract class otherwise."""
        check_keywords(name, options)
        resource = None
        if version is not None:
            kind = name if kind is None else kind
            plural = guess_plural(kind) if plural is None else plural
            resource = Resource(
                group or "", version, kind, plural, namespaced, singular or kind.lower(),
                tuple(short_names), tuple(categories), tuple(subresources), tuple(verbs),
            )  # fmt: skip
            _check_identity(name, resource)
            _pin_identity(namespace, resource)
        elif group is not None or plural is not None or kind is not None:
            raise TypeError(f'class {name}: a kind needs a version, as in version="v1"')
        if _status_is_none(namespace):
            _declare(namespace, {"status": None}, {"status": msgspec.field(default=None, name=_OFF_THE_WIRE)})
        cls = super().__new__(mcls, name, bases, namespace, **options)
        assert isinstance(cls, KubeMeta)
        if resource is not None:
            type.__setattr__(cls, "resource", resource)
            type.__setattr__(cls, "definition", definition)
        elif definition is not None:
            raise TypeError(f"class {name}: definition= also requires group= and version=")
        return cls

    @property
    def abstract(cls) -> bool:
        """True for a class without an identity of its own."""
        # Not `dir`, which sorts every name: each request needs this.
        return not any("resource" in base.__dict__ for base in cls.__mro__)


def check_keywords(name: str, options: dict[str, Any]) -> None:
    """Refuse a class keyword that neither a kind nor msgspec has, and suggest the correct keyword."""
    for option in options:
        if option not in _STRUCT_KEYWORDS:
            suggestion = _SUGGESTIONS.get(option.lower().replace("_", ""))
            remedy = f"write {suggestion}" if suggestion else f"a kind takes {', '.join(_KEYWORDS)}"
            raise TypeError(f"class {name}: {option}= is not a class keyword of a kind; {remedy}")


def _check_identity(name: str, resource: Resource) -> None:
    for part in ("group", "version", "kind", "plural"):
        value = getattr(resource, part)
        if not isinstance(value, str) or "/" in value or " " in value or (not value and part != "group"):
            raise TypeError(f"class {name}: {part} {value!r} is not a valid {part} of the API")


def _pin_identity(namespace: dict[str, Any], resource: Resource) -> None:
    """Give the class its `kind` and `api_version`: one permitted value each, always sent and checked."""
    pinned = {"kind": resource.kind, "api_version": resource.api_version}
    types: dict[str, Any] = {field: _literal(value) for field, value in pinned.items()}
    _declare(
        namespace,
        types,
        {field: msgspec.field(default_factory=Constant(value)) for field, value in pinned.items()},
    )


def _literal(value: str) -> Any:
    return Literal[value]  # pyright: ignore[reportInvalidTypeForm] # the checkers need not follow this


def _status_is_none(namespace: dict[str, Any]) -> bool:
    """True for a subclass of ``Object[Spec, None]``, which has no type for its status."""
    bases = namespace.get("__orig_bases__", ())
    return any(isinstance(get_origin(base), KubeMeta) and get_args(base)[1:] == (NoneType,) for base in bases)


def _declare(namespace: dict[str, Any], types: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Add fields to a class body that is about to become a class."""
    if sys.version_info >= (3, 14):
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)

        def annotated(form: annotationlib.Format) -> dict[str, Any]:
            own = annotationlib.call_annotate_function(annotate, form) if annotate is not None else {}
            return types | own

        namespace["__annotate_func__"] = annotated
    else:
        namespace["__annotations__"] = types | namespace.get("__annotations__", {})
    for field, default in defaults.items():
        namespace.setdefault(field, default)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class KubeObject(Struct, metaclass=KubeMeta, rename="camel", omit_defaults=True):
    """The root of all kinds, with the common fields of API objects. ConfigMap and similar kinds derive from
    it."""

    resource: ClassVar[Resource]
    definition: ClassVar[Definition | None]

    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_plain(self, protocol)


class Object(KubeObject, Generic[SpecT, StatusT]):
    """A kind with a spec and a status. A status of type None is neither read nor written.

    ::

        class Book(kp.Object[BookSpec, None], group="example.com", version="v1", short_names=("bk",)):
            ...

    Class keywords identify the kind to the API; an unknown keyword is refused.

    ``group``, ``version``: its apiVersion; without a group it belongs to the core, as pods do. A class
    without a version is abstract: a base for others. ``kind``, ``plural``, ``singular``: its names, by
    default the class's own, its English plural, and the kind in lower case. ``namespaced``: False for a
    cluster-scoped kind. ``short_names``, ``categories``: other names for people, as in ``kubectl get bk`` and
    ``kubectl get all``. ``subresources``, ``verbs``: those that the server supports; with them, a request
    for any other is refused before it is sent. ``definition``: the parts that only its
    CustomResourceDefinition has, such as columns and rules; see `Definition`.

    Those of msgspec, such as ``rename`` and ``forbid_unknown_fields``, are accepted as well.
    """

    spec: SpecT
    status: StatusT | None = None

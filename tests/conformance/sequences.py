"""Random sequences of requests: mostly as programs send them, some with a mistake, and a few nonsensical
ones.

A few names and values on a few kinds, so that requests affect each other's objects. Objects of controllers
(owners, foreground deletion, workloads) are excluded: the time of a controller's action is random.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

from hypothesis import strategies as st
from msgspec import Struct

from conformance.client import APPLY, JSON, JSON_PATCH, MERGE, METADATA, METADATA_LIST, STRATEGIC, TABLE
from conformance.comparing import RequestTemplate

T = TypeVar("T")


class Draw(Protocol):
    """Draws a value from a strategy."""

    def __call__(self, offers: st.SearchStrategy[T], /) -> T: ...


NAMES: Final = ("a", "b", "c")
MANAGERS: Final = ("m1", "m2", "kubectl")


class Kind(Struct, frozen=True):
    """A kind of the sequences: its path, and the content of its objects."""

    api_version: str
    kind: str
    plural: str
    content: st.SearchStrategy[dict[str, Any]]
    custom: bool = False
    subresources: bool = False

    @property
    def home(self) -> str:
        """The path of its objects."""
        root = "api" if "/" not in self.api_version else "apis"
        return f"/{root}/{self.api_version}/namespaces/<ns>/{self.plural}"


def maps(keys: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of small maps."""
    return st.dictionaries(st.sampled_from(keys.split()), values, max_size=3)


def rarely(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy that is mostly `usual`, and sometimes `odd`."""
    return st.integers(0, 11).flatmap(lambda number: odd if number == 7 else usual)


TEXT: Final = st.sampled_from(["1", "2", "", "<&>", "ä"])
DATA: Final = rarely(maps("x y z", TEXT), st.sampled_from([{"x": 1}, [], None, {"x": None}, {"a b": "1"}]))
CONFIG_MAP: Final = st.fixed_dictionaries({}, optional={"data": DATA, "immutable": st.just(False)})
SECRET: Final = st.fixed_dictionaries(
    {},
    optional={
        "data": rarely(maps("x y", st.sampled_from(["YQ==", "Yg==", ""])), st.just({"x": "!"})),
        "stringData": maps("x y", TEXT),
        "type": rarely(st.just("Opaque"), st.sampled_from(["other", "kubernetes.io/tls"])),
    },
)
MICRO_TIME: Final = rarely(
    st.sampled_from(["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:01.500000Z"]),
    st.sampled_from(["2026-01-01T00:00:00Z", "never"]),
)
LEASE: Final[st.SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {},
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "holderIdentity": st.sampled_from(["me", "you", ""]),
                "leaseDurationSeconds": rarely(st.just(15), st.sampled_from([0, -1, "x"])),
                "leaseTransitions": rarely(st.integers(0, 2), st.just(-1)),
                "renewTime": MICRO_TIME,
            },
        )
    },
)
PORT: Final = st.fixed_dictionaries(
    {"name": st.sampled_from(["p", "q"])}, optional={"port": st.sampled_from([1, 2])}
)
FOO_SPEC: Final = st.fixed_dictionaries(
    {"color": rarely(st.sampled_from(["red", "blue"]), st.sampled_from([5, "toolongforit", None]))},
    optional={
        "size": rarely(st.integers(1, 9), st.sampled_from([0, 99, "x", None])),
        "mode": rarely(st.sampled_from(["A", "B"]), st.just("C")),
        "replicas": rarely(st.integers(0, 3), st.just(-1)),
        "tags": rarely(
            st.lists(st.sampled_from(["s", "t", "u"]), unique=True, max_size=3), st.just(["s", "s"])
        ),
        "ports": rarely(
            st.lists(PORT, unique_by=lambda port: port["name"], max_size=2),
            st.sampled_from([[{"name": "p"}, {"name": "p"}], [{"port": 1}], {}]),
        ),
        "items": st.lists(st.integers(0, 2), max_size=3),
        "extra": maps("k l", st.sampled_from([1, 1.5, "x", None, [1, {"a": None}], {"b": True}])),
        "amount": rarely(st.sampled_from([1, "50%"]), st.sampled_from([True, 1.5])),
        "note": st.sampled_from(["n", None]),
        "bogus": st.just(1),
    },
)
FOO_STATUS: Final = st.fixed_dictionaries(
    {},
    optional={
        "note": rarely(st.sampled_from(["n1", "n2"]), st.just(5)),
        "replicas": st.integers(0, 2),
        "selector": st.just("a=b"),
        "bogus": st.just(1),
    },
)
FOO: Final = st.fixed_dictionaries(
    {}, optional={"spec": rarely(FOO_SPEC, st.sampled_from([None, {}, []])), "status": FOO_STATUS}
)
ANYTHING: Final[st.SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {},
    optional={
        "spec": maps("x y", st.sampled_from([1, "t", [1, 2], {"d": {"e": False}}, None])),
        "status": maps("x y", TEXT),
        "other": st.sampled_from([1, 2.5, "x", [], {}, None]),
    },
)

KINDS: Final = (
    Kind("v1", "ConfigMap", "configmaps", CONFIG_MAP),
    Kind("v1", "ConfigMap", "configmaps", CONFIG_MAP),
    Kind("v1", "Secret", "secrets", SECRET),
    Kind("coordination.k8s.io/v1", "Lease", "leases", LEASE),
    Kind("suite.test/v1", "Foo", "foos", FOO, custom=True, subresources=True),
    Kind("suite.test/v1", "Foo", "foos", FOO, custom=True, subresources=True),
    Kind("suite.test/v1", "Baz", "bazs", ANYTHING, custom=True),
)

LABELS: Final = rarely(
    maps("l m", st.sampled_from(["1", "2"])), st.sampled_from([{"a b": "1"}, {"l": "-"}, {"l": 5}])
)
META: Final = st.fixed_dictionaries(
    {},
    optional={
        "labels": LABELS,
        "annotations": maps("n o", TEXT),
        "finalizers": rarely(
            st.lists(st.sampled_from(["a.b/c", "a.b/d"]), unique=True, max_size=2), st.just(["bogus"])
        ),
        "generation": st.just(7),
        "bogus": st.just("1"),
    },
)
WRITE_QUERY: Final = rarely(
    st.sampled_from(
        [
            "",
            "",
            "",
            "?fieldManager=m1",
            "?fieldManager=m2",
            "?dryRun=All",
            "?fieldValidation=Strict",
            "?fieldValidation=Ignore",
        ]
    ),
    st.sampled_from(
        ["?dryRun=x", "?fieldValidation=x", "?fieldManager=" + "x" * 129, "?force=true", "?timeout=5"]
    ),
)


def _object(draw: Draw, kind: Kind, name: str) -> dict[str, Any]:
    meta: dict[str, Any] = draw(META)
    obj: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}
    if draw(st.integers(0, 19)) == 3:
        # Its metadata is wrong; the server validates only a part of the other fields.
        obj |= draw(st.sampled_from([{"kind": "Other"}, {"apiVersion": "v9"}]))
        return obj | {"metadata": {"name": name}}
    return obj | {"metadata": ({"name": name} if name else {}) | meta} | draw(kind.content)


def _create(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    obj = _object(draw, kind, name)
    if draw(st.integers(0, 7)) == 1:
        # If it were stored, its position in the lists of the two servers would differ.
        del obj["metadata"]["name"]
        obj["metadata"] |= draw(st.sampled_from([{"generateName": "gen-"}, {"generateName": "Bad-"}, {}]))
        return RequestTemplate("POST", f"{kind.home}?dryRun=All", obj)
    if draw(st.integers(0, 15)) == 1:
        obj["metadata"] |= draw(
            st.sampled_from([{"namespace": "other"}, {"resourceVersion": "5"}, {"name": "Bad_Name"}])
        )
    return RequestTemplate("POST", kind.home + draw(WRITE_QUERY), obj)


def _replace(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    obj = _object(draw, kind, name)
    key = f"{kind.plural}/{name}"
    version = draw(
        rarely(st.sampled_from([f"<rv {key}>", f"<rv {key}>", ""]), st.sampled_from(["1", "x", "0"]))
    )
    if version:
        obj["metadata"]["resourceVersion"] = version
    if draw(st.integers(0, 9)) == 1:
        obj["metadata"] |= draw(
            st.sampled_from(
                [{"uid": f"<uid {key}>"}, {"uid": "<uid none>"}, {"name": "z"}, {"namespace": "z"}]
            )
        )
    status = "/status" if kind.subresources and draw(st.integers(0, 3)) == 1 else ""
    return RequestTemplate("PUT", f"{kind.home}/{name}{status}" + draw(WRITE_QUERY), obj)


def _merge(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    change: dict[str, Any] = draw(kind.content)
    if draw(st.booleans()):
        change = change | {"metadata": draw(META)}
    if draw(st.integers(0, 7)) == 1:
        change["metadata"] = change.get("metadata", {}) | draw(
            st.sampled_from(
                [
                    {"labels": None},
                    {"labels": {"l": None}},
                    {"resourceVersion": "1"},
                    {"name": "z"},
                    {"uid": "x"},
                    {"resourceVersion": f"<rv {kind.plural}/{name}>"},
                    {"namespace": "z"},
                    {"finalizers": None},
                    {"managedFields": [{}]},
                    {"resourceVersion": None},
                    {"ownerReferences": [{"kind": "x"}]},
                ]
            )
        )
    change = change | draw(
        rarely(st.just({}), st.sampled_from([{"kind": "Other"}, {"kind": None}, {"x": 1}]))
    )
    media = MERGE if kind.custom or draw(st.booleans()) else STRATEGIC
    status = "/status" if kind.subresources and draw(st.integers(0, 3)) == 1 else ""
    return RequestTemplate("PATCH", f"{kind.home}/{name}{status}" + draw(WRITE_QUERY), change, media)


PATHS: Final = (
    "/data/x",
    "/data/y",
    "/data",
    "/metadata/labels",
    "/metadata/labels/l",
    "/metadata/annotations",
    "/spec",
    "/spec/size",
    "/spec/tags",
    "/spec/tags/-",
    "/spec/tags/0",
    "/spec/items/1",
    "/spec/ports/0/port",
    "/nope/x",
    "/metadata/finalizers",
    "/spec/x",
    "/status/note",
)
OPERATION: Final = st.one_of(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "test"]),
            "path": st.sampled_from(PATHS),
            "value": st.sampled_from(["1", "2", 3, {}, {"l": "1"}, ["s"], ["a.b/c"]]),
        }
    ),
    st.fixed_dictionaries({"op": st.just("remove"), "path": st.sampled_from(PATHS)}),
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["copy", "move"]),
            "from": st.sampled_from(PATHS),
            "path": st.sampled_from(PATHS),
        }
    ),
)


def _json_patch(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    operations = draw(st.lists(OPERATION, min_size=1, max_size=2))
    return RequestTemplate("PATCH", f"{kind.home}/{name}" + draw(WRITE_QUERY), operations, JSON_PATCH)


def _apply(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    obj = _object(draw, kind, name)
    # An empty map that was applied to a custom resource is stored, invisible until the next write.
    obj["metadata"] = {name: value for name, value in obj["metadata"].items() if value and name != "bogus"}
    spec: Any = obj.get("spec")
    if spec and "color" in spec and spec["color"] is None:
        del spec["color"]  # a null is preserved only if it was applied
    status = "/status" if kind.subresources and draw(st.integers(0, 4)) == 1 else ""
    query = f"?fieldManager={draw(st.sampled_from(MANAGERS))}"
    query += draw(st.sampled_from(["", "", "&force=true", "&dryRun=All", "&fieldValidation=Strict"]))
    return RequestTemplate(
        "PATCH", f"{kind.home}/{name}{status}" + draw(rarely(st.just(query), st.just(""))), obj, APPLY
    )


def _scale(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    if not kind.subresources:
        return _get(draw, kind, name)
    target = f"{kind.home}/{name}/scale"
    replicas = draw(rarely(st.integers(0, 3), st.sampled_from([-1, "x"])))
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": "<ns>"},
        "spec": {"replicas": replicas},
    }
    return draw(
        st.sampled_from(
            [
                RequestTemplate("GET", target),
                RequestTemplate("PATCH", target, {"spec": {"replicas": replicas}}, MERGE),
                RequestTemplate("PUT", target, scale),
            ]
        )
    )


def _delete(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    key = f"{kind.plural}/{name}"
    body: Any = draw(
        rarely(
            st.sampled_from([None, None, {"propagationPolicy": "Background"}]),
            st.sampled_from(
                [
                    {"preconditions": {"uid": f"<uid {key}>"}},
                    {"preconditions": {"uid": "<uid none>"}},
                    {"preconditions": {"resourceVersion": f"<rv {key}>"}},
                    {"propagationPolicy": "x"},
                    {"preconditions": {"resourceVersion": "1"}},
                    {"dryRun": ["All"]},
                    {"gracePeriodSeconds": 3},
                ]
            ),
        )
    )
    return RequestTemplate(
        "DELETE", f"{kind.home}/{name}" + draw(st.sampled_from(["", "", "", "?dryRun=All"])), body
    )


def _delete_some(draw: Draw, kind: Kind, _: str) -> RequestTemplate:
    return RequestTemplate("DELETE", f"{kind.home}?labelSelector=l%3D{draw(st.sampled_from('12'))}")


def _get(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    target = f"{kind.home}/{name}" + draw(
        rarely(st.just(""), st.sampled_from(["?resourceVersion=0", "?resourceVersion=x", "/status", "/nope"]))
    )
    return RequestTemplate("GET", target, headers=draw(VIEWS))


VIEWS: Final = rarely(
    st.just(()),
    st.sampled_from(
        [
            (("Accept", TABLE),),
            (("Accept", METADATA),),
            (("Accept", METADATA_LIST),),
            (("Accept", "application/yaml"),),
            (("Accept", "text/html"),),
            (("Accept", f"{METADATA_LIST},{JSON}"),),
        ]
    ),
)
LIST_QUERY: Final = rarely(
    st.sampled_from(
        [
            "",
            "?limit=1",
            "?limit=2",
            "?limit=1&continue=<token>",
            "?continue=<token>",
            "?labelSelector=l%3D1",
            "?labelSelector=l,m!%3D2",
            "?labelSelector=l+in+(1,2)",
            "?labelSelector=!m",
            "?fieldSelector=metadata.name%3Da",
            "?resourceVersion=0",
            "?resourceVersion=<list>",
            "?resourceVersion=<list>&resourceVersionMatch=NotOlderThan",
        ]
    ),
    st.sampled_from(
        [
            "?labelSelector=a+b",
            "?labelSelector=-",
            "?fieldSelector=a",
            "?fieldSelector=a%3Db",
            "?limit=x",
            "?limit=-1",
            "?resourceVersion=x",
            "?resourceVersionMatch=Exact",
            "?resourceVersion=0&resourceVersionMatch=Exact",
            "?continue=x",
            "?sendInitialEvents=true",
            "?resourceVersion=1&continue=<token>",
            "?timeout=1x",
            "?watch=1&sendInitialEvents=true",
            "?watch=1&resourceVersion=x",
            "?watch=1&resourceVersionMatch=Exact",
        ]
    ),
)


def _list(draw: Draw, kind: Kind, _: str) -> RequestTemplate:
    return RequestTemplate("GET", kind.home + draw(LIST_QUERY), headers=draw(VIEWS))


def _draw_mistake(draw: Draw, kind: Kind, name: str) -> RequestTemplate:
    home = kind.home
    return draw(
        st.sampled_from(
            [
                RequestTemplate(
                    "POST",
                    f"{home}/{name}",
                    {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}},
                ),
                RequestTemplate("PUT", home, {}),
                RequestTemplate("PATCH", home, {}, MERGE),
                RequestTemplate("GET", f"{home}/{name}/nope"),
                RequestTemplate("GET", home.replace("/namespaces/<ns>", "") + f"/{name}"),
                RequestTemplate("POST", home, b"{"),
                RequestTemplate("POST", home, b"[]"),
                RequestTemplate("PUT", f"{home}/{name}", b""),
                RequestTemplate("PATCH", f"{home}/{name}", b"[", MERGE),
                RequestTemplate("PATCH", f"{home}/{name}", b"null", JSON_PATCH),
                RequestTemplate("PATCH", f"{home}/{name}", b"5", APPLY),
                RequestTemplate("PATCH", f"{home}/{name}", {}, "text/plain"),
                RequestTemplate("POST", home, {}, "text/plain"),
                RequestTemplate("GET", home.replace(kind.plural, "nopes")),
                RequestTemplate("GET", f"/apis/nope.test/v1/{kind.plural}"),
                RequestTemplate("GET", f"{home}/"),
                RequestTemplate("GET", f"{home}/%2e%2e"),
                RequestTemplate("GET", f"{home}/a%20b"),
            ]
        )
    )


BUILDERS: Final = (
    _create,
    _create,
    _create,
    _replace,
    _replace,
    _merge,
    _merge,
    _json_patch,
    _apply,
    _apply,
    _scale,
    _delete,
    _delete_some,
    _get,
    _list,
    _list,
    _draw_mistake,
)


@st.composite
def draw_template(draw: Draw) -> RequestTemplate:
    """Draw a request."""
    kind = draw(st.sampled_from(KINDS))
    build = draw(st.sampled_from(BUILDERS))
    return build(draw, kind, draw(st.sampled_from(NAMES)))

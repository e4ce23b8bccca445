"""A commit changes what was edited and nothing else, whatever the class of the object leaves out."""

from __future__ import annotations

import random
from itertools import count
from types import new_class
from typing import Annotated, Any

import msgspec
import pytest
from asked_examples import examples
from hypothesis import given, settings, strategies as st
from patched_server import PatchedObject
from virtual_time import Go, go, library

import kubeproto as kp
from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import BlockingClient
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


class Container(kp.Fields):
    name: str = ""
    image: str | None = None


class PodSpec(kp.Fields):
    containers: list[Container] = []


class Template(kp.Fields):
    spec: PodSpec


class SlimSpec(kp.Fields):
    template: Template


class Slim(kp.Object[SlimSpec, None], group="apps", version="v1", kind="Deployment", plural="deployments"):
    """A Deployment of which the images are all that matters."""


class Port(kp.Fields):
    port: int = 0
    protocol: str | None = None
    name: str | None = None


class ServiceSpec(kp.Fields):
    ports: list[Port] = []


class Service(kp.Object[ServiceSpec, None], group="", version="v1", kind="Service", plural="services"):
    """A Service of which the ports are all that matters."""


class Chapter(kp.Fields):
    title: str = ""
    pages: int | None = None


class TaleSpec(kp.Fields):
    chapters: Annotated[list[Chapter], kp.ListMap("title")] = []


class Tale(kp.Object[TaleSpec, None], group="example.com", version="v1", kind="Tale"):
    """A tale."""


class Toleration(kp.Fields):
    key: str | None = None


class TolerantSpec(kp.Fields):
    tolerations: list[Toleration] = []


class TolerantPod(kp.Object[TolerantSpec, None], group="", version="v1", kind="Pod", plural="pods"):
    """A Pod of which the tolerations are all that matters: a list without a merge key."""


class WordsSpec(kp.Fields):
    words: dict[str, str | None] = {}
    rows: list[dict[str, Any]] = []


class Words(kp.Object[WordsSpec, None], group="example.com", version="v1", kind="Tale"):
    """A tale."""


class Condition(kp.Fields):
    type: str = ""
    status: str = ""


class Status(kp.Fields):
    conditions: list[Condition] = []


class SlimWithStatus(
    kp.Object[None, Status], group="apps", version="v1", kind="Deployment", plural="deployments"
):
    """A Deployment of which the conditions are all that matters."""


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"{name}:1", "env": [{"name": "SEA", "value": name}], **more}


def deployment(*containers: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "u1", "resourceVersion": "7"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
                "spec": {"containers": list(containers), "dnsPolicy": "ClusterFirst"},
            },
        },
    }


def containers_of(server: PatchedObject) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.document["spec"]["template"]["spec"]["containers"]
    return found


def test_an_image_is_changed_and_ports_and_probes_stay() -> None:
    web = container("web", ports=[{"containerPort": 80}], livenessProbe={"httpGet": {"path": "/"}})
    server = PatchedObject(deployment(web, container("log")))
    entry = server.client().api(Slim).entry("web")
    assert entry.obj is not None
    entry.obj.spec.template.spec.containers[0].image = "web:2"
    entry.commit()
    assert server.document["spec"] == deployment(web | {"image": "web:2"}, container("log"))["spec"]


def test_elements_keep_what_is_theirs_wherever_they_stand() -> None:
    web, log, gone = container("web"), container("log", args=["-v"]), container("gone")
    server = PatchedObject(deployment(web, gone, log))
    entry = server.client().api(Slim).entry("web")
    assert entry.obj is not None
    held = entry.obj.spec.template.spec.containers
    held[0].name = "front"  # the merge key itself
    del held[1]
    held.reverse()
    held.insert(1, Container(name="new", image="new:1"))
    entry.commit()
    new = {"name": "new", "image": "new:1"}
    assert containers_of(server) == [log, new, web | {"name": "front"}]


def test_an_element_that_was_built_anew_is_found_by_its_merge_key() -> None:
    web, log = container("web"), container("log", args=["-v"])
    server = PatchedObject(deployment(web, log))
    entry = server.client().api(Slim).entry("web")
    assert entry.obj is not None
    entry.obj.spec.template.spec.containers = [Container(name="log", image="log:2"), Container(name="db")]
    entry.commit()
    assert containers_of(server) == [log | {"image": "log:2"}, {"name": "db"}]


def test_the_name_of_an_element_that_was_renamed_is_free_for_a_new_one() -> None:
    server = PatchedObject(deployment(container("web", args=["-v"])))
    entry = server.client().api(Slim).entry("web")
    assert entry.obj is not None
    held = entry.obj.spec.template.spec.containers
    held[0].name = "old"
    held.append(Container(name="web"))
    entry.commit()
    assert containers_of(server) == [container("web", args=["-v"]) | {"name": "old"}, {"name": "web"}]


def test_a_list_that_is_known_by_two_keys_is_matched_by_both_and_their_default() -> None:
    ports = [
        {"port": 53, "protocol": "TCP", "nodePort": 30001},
        {"port": 53, "protocol": "UDP", "nodePort": 30002},
    ]
    meta = {"name": "dns", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    server = PatchedObject(
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": ports}}
    )
    entry = server.client().api(Service).entry("dns")
    assert entry.obj is not None
    entry.obj.spec.ports = [Port(port=53, protocol="UDP", name="u"), Port(port=53, name="t")]
    entry.commit()
    assert server.document["spec"]["ports"] == [
        {"port": 53, "protocol": "UDP", "nodePort": 30002, "name": "u"},
        {"port": 53, "nodePort": 30001, "name": "t"},
    ]


def test_a_custom_class_says_by_which_key_its_elements_are_known() -> None:
    chapters = [{"title": "Loomings", "pages": 9, "motto": "Call me"}, {"title": "The Ship", "motto": "x"}]
    meta = {"name": "moby", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    document = {"apiVersion": "example.com/v1", "kind": "Tale", "metadata": meta}
    server = PatchedObject(document | {"spec": {"chapters": chapters}})
    entry = server.client().api(Tale).entry("moby")
    assert entry.obj is not None
    entry.obj.spec.chapters = [Chapter(title="The Ship", pages=3), Chapter(title="Loomings")]
    entry.commit()
    assert server.document["spec"]["chapters"] == [
        {"title": "The Ship", "motto": "x", "pages": 3},
        {"title": "Loomings", "motto": "Call me"},
    ]


def test_a_copy_that_says_the_same_is_what_it_was_copied_from() -> None:
    tolerations = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    meta = {"name": "p", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"tolerations": tolerations}}
    server = PatchedObject(document)
    entry = server.client().api(TolerantPod).entry("p")
    assert entry.obj is not None
    entry.obj.spec.tolerations = [Toleration(key="b"), Toleration(key="c")]
    entry.commit()
    assert server.document["spec"]["tolerations"] == [tolerations[1], {"key": "c"}]


def test_a_null_is_set_and_kept() -> None:
    meta = {"name": "moby", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    spec = {"words": {"a": "b"}, "rows": [{"x": None, "y": 1}], "more": None}
    server = PatchedObject({"apiVersion": "example.com/v1", "kind": "Tale", "metadata": meta, "spec": spec})
    entry = server.client().api(Words).entry("moby")
    assert entry.obj is not None
    entry.obj.spec.rows[0]["y"] = 2
    entry.commit()
    assert server.document["spec"]["rows"] == [{"x": None, "y": 2}]
    entry.obj.spec.words["c"] = None
    entry.commit()
    assert server.document["spec"] == {
        "words": {"a": "b", "c": None},
        "rows": [{"x": None, "y": 2}],
        "more": None,
    }


def test_a_status_keeps_the_fields_of_its_conditions(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        conditions = [
            {"type": "Available", "status": "True", "reason": "Enough", "message": "m"},
            {"type": "Progressing", "status": "True", "reason": "Going", "message": "n"},
        ]
        document = deployment(container("web"))
        document["metadata"] = {"name": "web", "namespace": "default"}
        cluster.put(document | {"status": {"conditions": conditions, "replicas": 2}})
        async with simulated(cluster) as client:
            api = client.api(SlimWithStatus)
            found = await api.get("web")
            changed = [
                Condition(type="Progressing", status="False"),
                Condition(type="Available", status="True"),
            ]
            await api.patch_status(found, Status(conditions=changed))
        kept = cluster.get(Deployment, "web")
        assert kept is not None
        assert kept["status"]["conditions"] == [conditions[1] | {"status": "False"}, conditions[0]]
        assert kept["status"]["replicas"] == 2

    go(main)


# Any object, any class, any edit

SCALARS = {"string": str, "integer": int, "boolean": bool}
ROOTS = (
    ("apps_v1.DeploymentSpec", "apps", "Deployment"),
    ("core_v1.PodSpec", "", "Pod"),
    ("core_v1.ServiceSpec", "", "Service"),
    ("batch_v1.CronJobSpec", "batch", "CronJob"),
    ("networking_v1.IngressSpec", "networking.k8s.io", "Ingress"),
)


class Typed:
    """A class for some of the fields of a type, and which fields these are."""

    def __init__(self, rng: random.Random, type_: str, depth: int) -> None:
        self.type = type_
        self.fields: dict[str, tuple[str, BuiltinField, Typed | None]] = {}
        declared: list[tuple[str, Any, Any]] = []
        for number, (wire, facts) in enumerate(kind_table().types[type_].fields.items()):
            below: Typed | None = None
            if rng.random() < 0.35 or len(facts.form) > 1:
                continue
            if facts.type in SCALARS:
                plain: Any = SCALARS[facts.type]
            elif facts.type in kind_table().types and depth:
                below = Typed(rng, facts.type, depth - 1)
                plain = below.made
            else:
                continue
            name = f"f{number}"
            self.fields[wire] = name, facts, below
            if facts.form == ("list",):
                declared.append((name, list[plain], []))
            elif facts.form == ("map",):
                declared.append((name, dict[str, plain], {}))
            else:
                declared.append((name, plain | None, None))
        rename = {name: wire for wire, (name, _, _) in self.fields.items()}
        self.made: Any = msgspec.defstruct("Part", declared, rename=rename, omit_defaults=True)


class Maker:
    """Makes values, each scalar another one than all before."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._count = count(1)

    def scalar(self, type_: str) -> Any:
        number = next(self._count)
        return {"integer": number, "boolean": True}.get(type_, f"s{number}")

    def document(self, type_: str, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for wire, facts in kind_table().types[type_].fields.items():
            if self.rng.random() < (0.3 if depth else 0.6) or len(facts.form) > 1:
                continue
            if facts.form == ("list",):
                made[wire] = [self._one(facts, depth) for _ in range(self.rng.randint(1, 4))]
            elif facts.form == ("map",):
                made[wire] = {f"k{n}": self._one(facts, depth) for n in range(self.rng.randint(1, 3))}
            else:
                made[wire] = self._one(facts, depth)
        made["unheardOf"] = self.scalar("string")  # of a newer server
        return made

    def _one(self, facts: BuiltinField, depth: int) -> Any:
        if facts.type in kind_table().types and depth:
            return self.document(facts.type, depth - 1)
        if facts.type in kind_table().types or facts.type in ("object", "any"):
            return {"unheardOf": self.scalar("string")}
        return self.scalar(facts.type)


class Editor:
    """Edits a typed object, and its document by hand, preserving which parts are shared."""

    def __init__(self, rng: random.Random, maker: Maker) -> None:
        self.rng = rng
        self.maker = maker
        self.copies: list[Any] = []

    def edit(self, typed: Typed, obj: Any, document: dict[str, Any]) -> None:
        if not typed.fields or any(obj is copy for copy in self.copies):
            return
        wire, (name, facts, below) = self.rng.choice(list(typed.fields.items()))
        value = getattr(obj, name)
        if facts.form == ("list",):
            if value:
                self._list(below, facts, value, document[wire])
                if not value:
                    del document[wire]
        elif facts.form == ("map",):
            if value and below is None:
                key = self.rng.choice(list(value))
                value[key] = document[wire][key] = self.maker.scalar(facts.type)
            elif value and below is not None:
                key = self.rng.choice(list(value))
                self.edit(below, value[key], document[wire][key])
        elif below is not None:
            if value is not None and self.rng.random() < 0.8:
                self.edit(below, value, document[wire])
            else:
                setattr(obj, name, None)
                document.pop(wire, None)
        elif value is not None and self.rng.random() < 0.3:
            setattr(obj, name, None)
            del document[wire]
        else:
            new = self.maker.scalar(facts.type)
            setattr(obj, name, new)
            document[wire] = new

    def _list(self, below: Typed | None, facts: BuiltinField, held: list[Any], text: list[Any]) -> None:
        at, to = self.rng.randrange(len(held)), self.rng.randrange(len(held))
        match self.rng.choice(["edit", "edit", "move", "remove", "duplicate", "insert", "copy"]):
            case "edit" if below is not None:
                self.edit(below, held[at], text[at])
            case "move":
                held.insert(to, held.pop(at))
                text.insert(to, text.pop(at))
            case "remove":
                del held[at], text[at]
            case "duplicate":
                held.insert(to, held[at])
                text.insert(to, text[at])
            case "insert":
                self._insert(below, facts, held, text, to)
            case "copy" if below is not None:
                self._copy(below, facts, held, text, at)
            case _:
                pass

    def _insert(
        self, below: Typed | None, facts: BuiltinField, held: list[Any], text: list[Any], to: int
    ) -> None:
        if below is None:
            new = self.maker.scalar(facts.type)
            held.insert(to, new)
            text.insert(to, new)
            return
        strings = [one for one in below.fields.values() if one[1].type == "string" and not one[1].form]
        if strings:  # else it would be like one that was removed
            made = {name: self.maker.scalar("string") for name, _, _ in strings}
            held.insert(to, below.made(**made))
            wires = {name: wire for wire, (name, _, _) in below.fields.items()}
            text.insert(to, {wires[name]: value for name, value in made.items()})

    def _copy(self, below: Typed, facts: BuiltinField, held: list[Any], text: list[Any], at: int) -> None:
        """Put a copy in its place, with the same merge key and something new."""
        keys = facts.list_map_keys or ((facts.patch_merge_key,) if facts.patch_merge_key else ())
        named = [below.fields[key][0] for key in keys if key in below.fields and key in text[at]]
        others = [
            (wire, name)
            for wire, (name, one, _) in below.fields.items()
            if one.type == "string" and not one.form and wire not in keys
        ]
        shared = sum(one is held[at] for one in held) > 1 or any(one is held[at] for one in self.copies)
        if not keys or len(named) < len(keys) or not others or shared:
            return
        wire, name = self.rng.choice(others)
        value = self.maker.scalar("string")
        held[at] = msgspec.structs.replace(held[at], **{name: value})
        text[at] = text[at] | {wire: value}
        self.copies.append(held[at])


@pytest.mark.parametrize(("type_", "group", "kind"), ROOTS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32), edits=st.integers(0, 12))
def test_the_server_has_exactly_the_edit_and_nothing_else(
    type_: str, group: str, kind: str, seed: int, edits: int
) -> None:
    rng = random.Random(seed)
    maker, typed = Maker(rng), Typed(rng, type_, 4)
    names = {"group": group, "version": "v1", "kind": kind, "plural": f"{kind.lower()}s"}
    trimmed: Any = new_class("Trimmed", (kp.Object[typed.made, None],), names)  # type: ignore[name-defined]
    meta = {"name": "a", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    document = {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": meta,
        "spec": maker.document(type_, 4),
    }
    server = PatchedObject(document)
    client: BlockingClient = server.client()
    entry = client.api(trimmed).entry("a")
    expected: Any = msgspec.json.decode(msgspec.json.encode(document["spec"]))
    editor = Editor(rng, maker)
    held: Any = entry.obj
    for _ in range(edits):
        editor.edit(typed, held.spec, expected)
    entry.commit()
    assert server.document["spec"] == expected
    assert len(server.patches) == (document["spec"] != expected)


class Sent(msgspec.Struct):
    """A class that writes its defaults."""

    title: str = ""
    rows: list[str] = []


class AlwaysSent(kp.Object[Sent, None], group="example.com", version="v1", kind="Tale"):
    """A tale."""


def test_a_default_that_a_class_writes_is_no_edit() -> None:
    meta = {"name": "moby", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    document = {"apiVersion": "example.com/v1", "kind": "Tale", "metadata": meta, "spec": {"more": 1}}
    server = PatchedObject(document)
    entry = server.client().api(AlwaysSent).entry("moby")
    assert entry.obj is not None
    entry.commit()
    assert server.patches == []
    entry.obj.spec.title = "Moby-Dick"
    entry.commit()
    assert server.document["spec"] == {"more": 1, "title": "Moby-Dick"}

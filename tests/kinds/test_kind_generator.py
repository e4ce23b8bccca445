"""The generator of kinds reproduces the committed files, and reads the description of a live server."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubeproto.kinds import KindTable, kind_table
from tools.kinds import _api_description, _release_differences
from tools.kinds.__main__ import KINDS, files_of, generate
from tools.kinds._description_sources import from_folder, from_server
from tools.kinds._field_order import ORDER
from tools.kinds._kind_table import table_of

DESCRIPTION = json.loads(_api_description.PATH.read_bytes())
RELEASES = _release_differences.read()


def test_the_generated_files_equal_the_installed_files(tmp_path: Path) -> None:
    changed_names = generate(DESCRIPTION, RELEASES, tmp_path)
    assert sorted(changed_names) == [*sorted(path.name for path in KINDS.glob("*_v*.py")), "table.json"]
    for name in changed_names:
        assert (tmp_path / name).read_bytes() == (KINDS / name).read_bytes(), f"{name}: run `make kinds`"
    assert generate(DESCRIPTION, RELEASES, tmp_path) == []


def test_a_module_of_a_missing_group_version_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "extensions_v1beta1.py").write_text("")
    (tmp_path / "_names.py").write_text("")
    assert "extensions_v1beta1.py" in generate(DESCRIPTION, RELEASES, tmp_path)
    assert not (tmp_path / "extensions_v1beta1.py").exists()
    assert (tmp_path / "_names.py").exists()


def test_the_description_has_a_canonical_form() -> None:
    assert _api_description.dump(DESCRIPTION) == _api_description.PATH.read_text()


def test_the_installed_table_is_that_of_the_description() -> None:
    assert kind_table() == table_of(DESCRIPTION, RELEASES)
    assert msgspec.json.decode(files_of(DESCRIPTION, RELEASES)["table.json"], type=KindTable) == kind_table()


def test_the_order_of_fields_contains_only_existing_fields() -> None:
    for name, wires in ORDER.items():
        assert set(wires.split()) <= set(kind_table().types[name].fields), name


KIND = "x-kubernetes-group-version-kind"
GADGET: dict[str, Any] = {
    "io.k8s.api.gadgets.v1.Gadget": {
        "description": "A gadget.",
        KIND: [{"group": "gadgets.k8s.io", "version": "v1", "kind": "Gadget"}],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "description": {"description": "What it is for.", "type": "string"},
            "part": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.gadgets.v1.Part"}], "default": {}},
        },
    },
    "io.k8s.api.gadgets.v1.Part": {"type": "object", "properties": {"partID": {"type": "string"}}},
    "io.k8s.api.gadgets.v1.Unused": {"type": "object"},
}
BOOK: dict[str, Any] = {
    "com.example.v1.Book": {KIND: [{"group": "example.com", "version": "v1", "kind": "Book"}]},
}


def _resource_entry(kind: str, group: str, plural: str) -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"group": group, "version": "v1", "kind": kind},
        "scope": "Namespaced",
        "singularResource": kind.lower(),
        "verbs": ["get", "list"],
        "subresources": [{"subresource": "status", "responseKind": {"kind": kind}, "verbs": ["get"]}],
    }


def _group(name: str, *resources: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "versions": [{"version": "v1", "resources": list(resources)}]}


RESPONSES: dict[str, Any] = {
    "/version": {"gitVersion": "v1.99.0"},
    "/api": {"items": []},
    "/apis": {
        "items": [
            _group("gadgets.k8s.io", _resource_entry("Gadget", "gadgets.k8s.io", "gadgets")),
            _group("example.com", _resource_entry("Book", "example.com", "books")),
        ]
    },
    "/openapi/v3": {
        "paths": {
            "apis/gadgets.k8s.io/v1": {"serverRelativeURL": "/openapi/v3/apis/gadgets.k8s.io/v1?hash=A1"},
            "apis/example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=B2"},
            "version": {"serverRelativeURL": "/openapi/v3/version?hash=C3"},
        }
    },
    "/openapi/v3/apis/gadgets.k8s.io/v1": {"components": {"schemas": GADGET}},
}


@pytest.fixture
def server() -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            aggregated = "as=APIGroupDiscoveryList" in self.headers["Accept"]
            is_known = self.path in RESPONSES and aggregated == (self.path in ("/api", "/apis"))
            body = json.dumps(RESPONSES[self.path]).encode() if is_known else b""
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 # the library's name
            """Log nothing to standard error."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    thread.join()
    http.server_close()


def test_a_live_server_gives_the_description_of_its_built_in_kinds(server: str) -> None:
    description = from_server(server)
    assert description["kubernetes"] == "1.99.0"
    assert [resource["kind"] for resource in description["resources"]] == ["Gadget"]
    assert list(description["schemas"]) == ["io.k8s.api.gadgets.v1.Gadget", "io.k8s.api.gadgets.v1.Part"]
    properties = description["schemas"]["io.k8s.api.gadgets.v1.Gadget"]["properties"]
    assert properties["description"] == {"type": "string"}
    assert description["resources"][0]["subresources"][0]["group"] == "gadgets.k8s.io"
    text = files_of(description, {})["gadgets_v1.py"].decode()
    assert 'part_id: str | None = msgspec.field(default=None, name="partID")' in text
    assert 'group="gadgets.k8s.io"' in text


def test_saved_documents_give_the_same_description_as_the_server(server: str, tmp_path: Path) -> None:
    (tmp_path / "openapi-v3").mkdir()
    for name, schemas in (("gadgets", GADGET), ("books", BOOK)):
        (tmp_path / "openapi-v3" / f"{name}.json").write_text(json.dumps({"schemas": schemas}))
    discovery = {"api": RESPONSES["/api"], "apis": RESPONSES["/apis"]}
    (tmp_path / "discovery-aggregated.json").write_text(json.dumps(discovery))
    assert from_folder(tmp_path, "1.99.0") == from_server(server)


def test_an_address_that_is_not_a_server_is_refused() -> None:
    with pytest.raises(ValueError, match="not the URL of a server"):
        from_server("file:///etc/passwd")

"""Targets whose documents are drawn and changed, see `drawing`.

Two oracles apply to all of them: only errors of this project are raised, and an object has the same content
if it is read lazily, read strictly, or read again from the text that a Store retains.
"""

from __future__ import annotations

import contextlib
from base64 import urlsafe_b64encode
from typing import Any, Final

from drawing import Draw

import kubeproto as kp
from kubeproto import InvalidObject, KubeprotoError, RemoteProtocolError, TransportError
from kubeproto.config import ConfigError, CredentialsError, Kubeconfig, Oidc, Plugin, RequiredFiles, infer
from kubeproto.config._oidc import read_grant, redeem, token_expiry
from kubeproto.config._plugin import read_output
from kubeproto.control import Store
from kubeproto.crd import allow, read_admission, read_conversion, respond_to_admission
from kubeproto.objects import decode, to_plain
from kubeproto.watching import ListDecoder, Malformed, WatchDecoder, resync
from kubeproto.wire import RawRequest
from kubeproto_h11 import Exchange

SECRET: Final = "hunter" + "2"


class GadgetSpec(kp.Fields):
    title: str = ""
    sizes: list[int] = []
    template: dict[str, Any] = {}


class GadgetStatus(kp.Fields):
    phase: str | None = None


class Gadget(kp.Object[GadgetSpec, GadgetStatus], group="x.io", version="v1"):
    """A kind of two parts."""


def _gadget(draw: Draw, number: int) -> dict[str, Any]:
    return {
        "apiVersion": "x.io/v1",
        "kind": "Gadget",
        "metadata": {
            "name": f"g{number}",
            "namespace": "w",
            "resourceVersion": str(10 + number),
            "labels": {"a": "b"},
            "managedFields": [{"manager": "m" * draw.choose((1, 600)), "operation": "Update"}],
        },
        "spec": {"title": "t" * draw.choose((1, 2_000)), "sizes": [1, 2], "template": {"x": None}},
        "status": {"phase": "Ready"},
    }


def fuzz_events(data: bytes) -> None:
    """Decode events that are valid except for a value or two."""
    draw = Draw(data)
    lines: list[bytes] = []
    for number in range(1 + draw.integer(4)):
        kind = draw.choose(("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "NEW"))
        event: dict[str, Any] = {"type": kind, "object": _gadget(draw, number % 3)}
        if kind == "BOOKMARK":
            annotations = {"k8s.io/initial-events-end": "true"}
            event["object"] = {"metadata": {"resourceVersion": "99", "annotations": annotations}}
        elif kind == "ERROR":
            event["object"] = {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}
        lines.append(draw.text(draw.changed(event)))
    stream = b"\n".join(lines) + b"\n"
    lazy, strict = _events(draw.split(stream), strict=False), _events([stream], strict=True)
    if None in (lazy, strict):
        return  # refused: the earlier pieces do not matter
    assert lazy is not None
    assert strict is not None
    _compare([_object(event) for event in lazy], [_object(event) for event in strict])
    store = Store(Gadget)
    for batch, summary in resync.digest(lazy):
        if isinstance(summary, resync.Received):
            with contextlib.suppress(KubeprotoError):
                store.update(batch)
    _check_store(store)


def _events(pieces: list[bytes], *, strict: bool) -> list[Any] | None:
    decoder: WatchDecoder[Any] = WatchDecoder(Gadget, strict=strict)
    events: list[Any] = []
    try:
        for chunk in pieces:
            events += decoder.feed(chunk)
        return events + decoder.finish()
    except RemoteProtocolError:
        return None


def fuzz_items(data: bytes) -> None:
    """Decode lists that are valid except for a value or two."""
    draw = Draw(data)
    items = [draw.changed(_gadget(draw, number)) for number in range(draw.integer(5))]
    page = {
        "kind": "GadgetList",
        "apiVersion": "x.io/v1",
        "metadata": {"resourceVersion": "9"},
        "items": items,
    }
    body = draw.text(draw.changed(page))
    lazy, strict = _items(draw.split(body), strict=False), _items([body], strict=True)
    if lazy is None or strict is None:
        return
    _compare([_settled(item) for item in lazy], [_settled(item) for item in strict])
    store = Store(Gadget)
    with contextlib.suppress(KubeprotoError):
        store.stage(lazy)
        store.replace("9")
    _check_store(store)


def _items(pieces: list[bytes], *, strict: bool) -> list[Any] | None:
    decoder: ListDecoder[Any] = ListDecoder(Gadget, strict=strict)
    items: list[Any] = []
    try:
        for chunk in pieces:
            items += decoder.feed(chunk)
        return items + decoder.finish()
    except RemoteProtocolError:
        return None


def _object(event: Any) -> Any:
    return _settled(event.object) if hasattr(event, "object") else _settled(event)


def _settled(value: Any) -> Any:
    if isinstance(value, Malformed):
        return "broken"
    if not isinstance(value, kp.KubeObject):
        return value
    try:
        to_plain(value)
        # The metadata of a strictly decoded object is also decoded on access.
        for name in value.metadata.__struct_fields__:
            getattr(value.metadata, name)
    except InvalidObject:
        return "broken"
    return value


def _compare(lazy: list[Any], strict: list[Any]) -> None:
    assert lazy == strict, "the lazy and the strict read differ"


def _check_store(store: Store[Gadget]) -> None:
    """Check that the objects of a Store equal their texts."""
    for key, entry in store.entries().items():
        namespace, _, name = key.rpartition("/")
        try:
            again = _settled(decode(entry.raw, Gadget, strict=True))
        except InvalidObject:
            again = "broken"
        assert again == "broken" or _settled(store.get(name, namespace)) == again, key


def fuzz_http(data: bytes) -> None:
    """Check that a response and the bytes after it have the same meaning however they are split, or are
    refused.
    """
    draw = Draw(data)
    stream = _response(draw)
    for _ in range(draw.integer(3)):
        index = (draw.integer(256) << 8 | draw.integer(256)) % (len(stream) + 1)
        stream = (
            stream[:index] + draw.choose((b"\n", b"\r", b" ", b"0", b"\xff", b":", b"")) + stream[index + 1 :]
        )

    def read(chunks: list[bytes]) -> Any:
        exchange, body = Exchange(RawRequest("GET", "/", (("Host", "h"),))), b""
        try:
            for chunk in chunks:
                body += exchange.feed(chunk)
            if not exchange.finished:
                exchange.close()
        except RemoteProtocolError:
            return "refused"
        except TransportError:
            return "cut", exchange.response, body
        return exchange.response, body, exchange.trailing_data, exchange.reusable

    assert read([stream]) == read(draw.split(stream))


def _response(draw: Draw) -> bytes:
    end = draw.choose((b"\r\n", b"\r\n", b"\n"))
    stream = b"".join(b"HTTP/1.1 100 Continue" + end + end for _ in range(draw.integer(11)))
    lines = [
        draw.choose((b"HTTP/1.1 200 OK", b"HTTP/1.1 204 No Content", b"HTTP/1.0 200 OK", b"HTTP/1.1 410"))
    ]
    body = b"".join(b"%d" % number for number in range(draw.choose((0, 3, 300))))
    match draw.integer(4):
        case 0:
            lines.append(b"Content-Length: %d" % (len(body) + draw.choose((0, 0, 1, 5))))
        case 1:
            lines.append(b"Content-Length: 5, 5")
        case 2:
            lines.append(b"Transfer-Encoding: " + draw.choose((b"chunked", b"Chunked", b"gzip, chunked")))
            size = draw.choose((1, 5, 100))
            chunks = [body[start : start + size] for start in range(0, len(body), size)]
            extension = draw.choose((b"", b";a=b", b"  ", b";" + b"x" * 5_000))
            body = b"".join(b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
            body += b"0\r\n" + draw.choose((b"", b"X-Sum: 1\r\n", b" folded\r\n")) + b"\r\n"
        case _:
            pass
    lines += [b"X-Long: " + b"a" * draw.choose((1, 70_000))] * draw.integer(3)
    return stream + end.join(lines) + end + end + body + draw.choose((b"", b"", b"HTTP/1.1 200 OK"))


def fuzz_kubeconfig(data: bytes) -> None:
    """Check that a kubeconfig is accepted, or refused by a `ConfigError` without secrets."""
    draw = Draw(data)
    user: dict[str, Any] = draw.choose((
        {"token": SECRET},
        {"username": "u", "password": SECRET},
        {"client-certificate-data": "LS0tLS1CRUdJTiA=", "client-key-data": "LS0tLS1CRUdJTiA="},
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./p", "args": [SECRET],
                  "env": [{"name": "A", "value": SECRET}], "interactiveMode": "Never"}},
        {"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "https://i", "client-id": "c",
                                                      "refresh-token": SECRET, "id-token": "a.b.c"}}},
        {"tokenFile": "t", "as": "ann", "as-groups": ["g"], "as-user-extra": {"k": ["v"]}},
    ))  # fmt: skip
    cluster = {
        "server": "https://h:6443/base", "proxy-url": f"http://u:{SECRET}@p:3128", "tls-server-name": "n",
        "certificate-authority": "ca.crt", "extensions": [{"name": "x", "extension": {"k": SECRET}}],
    }  # fmt: skip
    document: dict[str, Any] = {
        "apiVersion": "v1", "kind": "Config", "current-context": "x", "preferences": {},
        "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "w"}}],
    }  # fmt: skip
    content = draw.text(draw.changed(document))
    try:
        repr(Kubeconfig.parse(content, "/home/u/.kube/config"))
        files: dict[str, Any] = {"/k": content}
        while isinstance(inferred := infer({"KUBECONFIG": "/k"}, files), RequiredFiles):
            files |= dict.fromkeys(inferred.paths, draw.choose((b"-----BEGIN X-----", b"", b"\xff")))
        text = repr(inferred)
    except ConfigError as error:
        text = str(error)
    assert SECRET not in text


def fuzz_tokens(data: bytes) -> None:
    """Check that the output of a provider or a plugin gives credentials, or an error without secrets."""
    draw = Draw(data)
    oidc = Oidc(issuer="https://i", client_id="c", client_secret=SECRET, refresh_token=SECRET)
    claims = draw.text(draw.changed({"exp": 1_900_000_000, "sub": "u", "aud": ["a"]}))
    token = f"{SECRET}.{urlsafe_b64encode(claims).decode()}.x"
    token_expiry(token)
    tokens: dict[str, Any] = {"id_token": token, "refresh_token": SECRET, "expires_in": 3600}
    provider = {"token_endpoint": "https://i/token", "token_endpoint_auth_methods_supported": ["none"]}
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": SECRET, "expirationTimestamp": "2026-01-01T00:00:00Z"},
    }  # fmt: skip
    status = draw.choose((200, 200, 200, 400, 500))
    text = ""
    try:
        match draw.integer(3):
            case 0:
                text = repr(read_grant(oidc, status, (), draw.text(draw.changed(tokens))))
            case 1:
                text = repr(redeem(oidc, status, (), draw.text(draw.changed(provider))))
            case _:
                text = repr(read_output(draw.text(draw.changed(credential)), Plugin(command="p")))
    except (ConfigError, CredentialsError) as error:
        text = str(error)
    assert SECRET not in text


def fuzz_reviews(data: bytes) -> None:
    """Check that a review gets a response, or is refused."""
    draw = Draw(data)
    kind = {"group": "x.io", "version": "v1", "kind": "Gadget"}
    request: dict[str, Any] = {
        "uid": "u", "kind": kind, "resource": {"group": "x.io", "version": "v1", "resource": "gadgets"},
        "requestKind": kind, "name": "g", "namespace": "w", "operation": "UPDATE",
        "userInfo": {"username": "ann", "groups": ["g"], "extra": {"k": ["v"]}},
        "object": _gadget(draw, 1), "oldObject": _gadget(draw, 1), "dryRun": False,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }  # fmt: skip
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    with contextlib.suppress(KubeprotoError):
        respond_to_admission(read_admission(draw.text(draw.changed(review))), allow())
    conversion = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "x.io/v2", "objects": [_gadget(draw, 1)]},
    }  # fmt: skip
    with contextlib.suppress(KubeprotoError):
        read_conversion(draw.text(draw.changed(conversion)))

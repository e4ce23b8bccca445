"""`Packaging`: what manifests need to know besides the operator itself."""

from __future__ import annotations

from msgspec import Struct

from .._access import RequiredAccess


class Packaging(Struct, frozen=True, kw_only=True):
    """What manifests need to know beside the operator itself.

    `name` is that of the Deployment, the account and the roles, `namespace` the same unless given. `access`
    is what the operator's requests have been seen to need; see `kubeproto_runtime.testing.AccessRecorder`.
    """

    name: str
    namespace: str = ""
    image: str = ""
    replicas: int = 0  # 2 with an election, otherwise 1
    command: tuple[str, ...] = ()  # by default that of the image
    access: frozenset[RequiredAccess] = frozenset()

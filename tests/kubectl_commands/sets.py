"""kubectl and this library take turns on one ApplySet, which both of them apply and prune."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import kubeproto as kp
from kubeproto_runtime import BlockingClient, connect_blocking
from kubeproto_runtime.sets import ApplySet, Plan

from .running import kubectl

# Each parent has namespaces of its own, so that one server will do for all of them.
_EXTRA_PREFIX: Final = "more-"
_PARTS: Final = {
    "role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: turns}\n",
    "a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: one}\n",
    "b": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: PLACE}\ndata: {k: two}\n",
    "secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n",
    "robot": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot}\n",
}


def manifest(place: str, *parts: str) -> str:
    """The documents of a set whose namespace is this place."""
    return "---\n".join(_PARTS[part] for part in parts).replace("PLACE", f"{_EXTRA_PREFIX}{place}")


class Turns:
    """One set, on which kubectl and a client of ours work by turns."""

    def __init__(self, kubeconfig: Path, context: str, parent: str) -> None:
        self.kubeconfig = kubeconfig
        self.parent = parent
        self.place = f"turns-of-{parent.partition('/')[0]}"
        self.kubectl_set = ApplySet(parent, namespace=self.place, tooling="kubectl/v1.32.4")
        self._context = context

    def kubectl(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """Call kubectl, which has to succeed, or to fail; return what it printed."""
        program = kubectl()
        assert program is not None
        home = self.kubeconfig.parent
        flags = [f"--cache-dir={home}/cache-{self.parent.replace('/', '-')}", f"--namespace={self.place}"]
        flags += [f"--context={self._context}"] if self._context else []
        environment = {**os.environ, "GOGC": "off", "HOME": str(home), "KUBECTL_APPLYSET": "true"}
        environment["KUBECONFIG"] = str(self.kubeconfig)
        result = subprocess.run(
            [program, *flags, *arguments], input=stdin, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        )  # fmt: skip
        assert (result.returncode != 0) == fails, result.stdout
        return result.stdout

    def applied_by_kubectl(self, *parts: str) -> str:
        arguments = ["apply", "--server-side", "--prune", f"--applyset={self.parent}", "-f", "-"]
        return self.kubectl(*arguments, given=manifest(self.place, *parts))

    def planned(self, client: BlockingClient, *parts: str, tooling: str = "") -> Plan:
        applyset = self.kubectl_set if not tooling else ApplySet(self.parent, self.place, tooling)
        objects = kp.parse_manifest(manifest(self.place, *parts)) if parts else []
        return client.plan(objects, applyset, field_manager="kubectl", namespace=self.place)

    def exists(self, resource: str, name: str, namespace: str = "") -> bool:
        arguments = ("get", resource, name, "-n", namespace or self.place, "--ignore-not-found", "-o", "name")
        return bool(self.kubectl(*arguments).strip())


def take_turns(kubeconfig: Path, context: str, parent: str) -> None:
    """kubectl applies and we prune; we apply and kubectl prunes; each refuses a set of another tool."""
    turns = Turns(kubeconfig, context, parent)
    options: dict[str, Any] = {"kubeconfig": str(kubeconfig)} | ({"context": context} if context else {})
    with connect_blocking(**options) as client:
        turns.kubectl("create", "namespace", turns.place)
        turns.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        turns.kubectl("create", "configmap", "foreign")

        # kubectl applies; what it applied is as we would, and what is left out is ours to prune.
        turns.applied_by_kubectl("a", "role", "secret")
        unchanged_plan = turns.planned(client, "a", "role", "secret")
        assert unchanged_plan.clean, f"{unchanged_plan}"
        plan = turns.planned(client, "a", "robot")
        deleted_names = [str(deletion.ref) for deletion in plan.deletions]
        assert sorted(deleted_names) == ["ClusterRole.rbac.authorization.k8s.io turns", f"Secret {turns.place}/s"]
        client.perform(plan)
        assert not turns.exists("clusterrole", "turns")
        assert not turns.exists("secret", "s")
        assert turns.exists("serviceaccount", "robot")

        # We have applied; kubectl finds nothing to do, and then prunes what we brought.
        printed = turns.applied_by_kubectl("a", "robot")
        assert "pruned" not in printed, printed
        printed = turns.applied_by_kubectl("a")
        assert "serviceaccount/robot pruned" in printed, printed
        assert turns.planned(client, "a").clean

        # What we have brought into another namespace is kubectl's to prune too, which can apply to one alone.
        turns.kubectl("create", "namespace", f"{_EXTRA_PREFIX}{turns.place}")
        client.perform(turns.planned(client, "a", "b", "secret", "robot"))
        printed = turns.applied_by_kubectl("robot")
        assert sorted(line for line in printed.splitlines() if "pruned" in line) == [
            "configmap/a pruned",
            "configmap/b pruned",
            "secret/s pruned",
        ]
        assert not turns.exists("configmap", "b", f"{_EXTRA_PREFIX}{turns.place}")
        assert turns.exists("configmap", "foreign")

        # A set belongs to one tool.
        foreign_plan = turns.planned(client, "a", tooling="kubeproto/v0.1.0")
        assert "is managed by 'kubectl', and not by 'kubeproto'" in str(foreign_plan)
        client.perform(client.plan([], ApplySet("secrets/ours", turns.place), namespace=turns.place))
        arguments = ("apply", "--server-side", "--prune", "--applyset=secrets/ours", "-f", "-")
        printed = turns.kubectl(*arguments, given=manifest(turns.place, "a"), fails=True)
        assert 'managed by tooling "kubeproto" instead of "kubectl"' in printed, printed

        # The end of it.
        client.perform(turns.planned(client))
        assert not turns.exists("serviceaccount", "robot")
        turns.kubectl("delete", "namespace", turns.place, f"{_EXTRA_PREFIX}{turns.place}", "--wait=false")

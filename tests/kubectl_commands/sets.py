"""kubectl and this library apply and prune the same ApplySet by turns."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import kubeproto as kp
from kubeproto_runtime import BlockingClient, connect_blocking
from kubeproto_runtime.sets import ApplySet, Plan

from .running import find_kubectl

# Each parent has its own namespaces, so that all parents can use the same server.
_EXTRA_PREFIX: Final = "more-"
_PARTS: Final = {
    "role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: turns}\n",
    "a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: one}\n",
    "b": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: NAMESPACE}\ndata: {k: two}\n",
    "secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n",
    "robot": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot}\n",
}


def manifest(set_namespace: str, *parts: str) -> str:
    """Return the documents of a set in a namespace."""
    return "---\n".join(_PARTS[part] for part in parts).replace(
        "NAMESPACE", f"{_EXTRA_PREFIX}{set_namespace}"
    )


class Turns:
    """A set on which kubectl and our client work by turns."""

    def __init__(self, kubeconfig: Path, context: str, parent: str) -> None:
        self.kubeconfig = kubeconfig
        self.parent = parent
        self.namespace = f"turns-of-{parent.partition('/')[0]}"
        self.kubectl_set = ApplySet(parent, namespace=self.namespace, tooling="kubectl/v1.32.4")
        self._context = context

    def kubectl(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """Run kubectl, expect success or failure, and return its output."""
        program = find_kubectl()
        assert program is not None
        home = self.kubeconfig.parent
        flags = [f"--cache-dir={home}/cache-{self.parent.replace('/', '-')}", f"--namespace={self.namespace}"]
        flags += [f"--context={self._context}"] if self._context else []
        environment = {**os.environ, "GOGC": "off", "HOME": str(home), "KUBECTL_APPLYSET": "true"}
        environment["KUBECONFIG"] = str(self.kubeconfig)
        result = subprocess.run(
            [program, *flags, *arguments], input=stdin, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        )  # fmt: skip
        assert (result.returncode != 0) == fails, result.stdout
        return result.stdout

    def apply_by_kubectl(self, *parts: str) -> str:
        arguments = ["apply", "--server-side", "--prune", f"--applyset={self.parent}", "-f", "-"]
        return self.kubectl(*arguments, stdin=manifest(self.namespace, *parts))

    def plan(self, client: BlockingClient, *parts: str, tooling: str = "") -> Plan:
        applyset = self.kubectl_set if not tooling else ApplySet(self.parent, self.namespace, tooling)
        objects = kp.parse_manifest(manifest(self.namespace, *parts)) if parts else []
        return client.plan(objects, applyset, field_manager="kubectl", namespace=self.namespace)

    def exists(self, resource: str, name: str, namespace: str = "") -> bool:
        arguments = (
            "get",
            resource,
            name,
            "-n",
            namespace or self.namespace,
            "--ignore-not-found",
            "-o",
            "name",
        )
        return bool(self.kubectl(*arguments).strip())


def take_turns(kubeconfig: Path, context: str, parent: str) -> None:
    """Apply with kubectl and prune with kubeproto, then the reverse; each refuses the other's set."""
    turns = Turns(kubeconfig, context, parent)
    options: dict[str, Any] = {"kubeconfig": str(kubeconfig)} | ({"context": context} if context else {})
    with connect_blocking(**options) as client:
        turns.kubectl("create", "namespace", turns.namespace)
        turns.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        turns.kubectl("create", "configmap", "foreign")

        # kubectl applies: our plan of the same objects is empty, and we prune omitted objects.
        turns.apply_by_kubectl("a", "role", "secret")
        unchanged_plan = turns.plan(client, "a", "role", "secret")
        assert unchanged_plan.clean, f"{unchanged_plan}"
        plan = turns.plan(client, "a", "robot")
        deleted_names = [str(deletion.ref) for deletion in plan.deletions]
        assert sorted(deleted_names) == [
            "ClusterRole.rbac.authorization.k8s.io turns",
            f"Secret {turns.namespace}/s",
        ]
        client.perform(plan)
        assert not turns.exists("clusterrole", "turns")
        assert not turns.exists("secret", "s")
        assert turns.exists("serviceaccount", "robot")

        # We have applied: kubectl has nothing to do at first, and then prunes our objects.
        printed = turns.apply_by_kubectl("a", "robot")
        assert "pruned" not in printed, printed
        printed = turns.apply_by_kubectl("a")
        assert "serviceaccount/robot pruned" in printed, printed
        assert turns.plan(client, "a").clean

        # kubectl applies to a single namespace only, but prunes our objects in another namespace too.
        turns.kubectl("create", "namespace", f"{_EXTRA_PREFIX}{turns.namespace}")
        client.perform(turns.plan(client, "a", "b", "secret", "robot"))
        printed = turns.apply_by_kubectl("robot")
        assert sorted(line for line in printed.splitlines() if "pruned" in line) == [
            "configmap/a pruned",
            "configmap/b pruned",
            "secret/s pruned",
        ]
        assert not turns.exists("configmap", "b", f"{_EXTRA_PREFIX}{turns.namespace}")
        assert turns.exists("configmap", "foreign")

        # A set belongs to a single tool.
        foreign_plan = turns.plan(client, "a", tooling="kubeproto/v0.1.0")
        assert "is managed by 'kubectl', and not by 'kubeproto'" in str(foreign_plan)
        client.perform(client.plan([], ApplySet("secrets/ours", turns.namespace), namespace=turns.namespace))
        arguments = ("apply", "--server-side", "--prune", "--applyset=secrets/ours", "-f", "-")
        printed = turns.kubectl(*arguments, stdin=manifest(turns.namespace, "a"), fails=True)
        assert 'managed by tooling "kubeproto" instead of "kubectl"' in printed, printed

        # Prune everything.
        client.perform(turns.plan(client))
        assert not turns.exists("serviceaccount", "robot")
        turns.kubectl(
            "delete", "namespace", turns.namespace, f"{_EXTRA_PREFIX}{turns.namespace}", "--wait=false"
        )

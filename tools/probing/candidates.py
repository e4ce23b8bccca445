"""Candidate values for a field: by its enum, by its name, and by its type."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import is_object

BY_NAME: Final[dict[str, tuple[Any, ...]]] = {
    "name": ("a", "a.b", "a.b/c", "cpu", "10.0.0.1"),
    "path": ("/a", "a"),
    "url": ("https://a.b/c",),
    "host": ("a.b",),
    "port": (80, "a"),
    "containerPort": (80,),
    "targetPort": (80,),
    "namespace": ("default",),
    "apiVersion": ("v1", "apps/v1"),
    "kind": ("Deployment", "User", "a"),
    "ip": ("10.0.0.1",),
    "ips": ("10.0.0.1",),
    "cidr": ("10.0.0.0/24",),
    "mountPath": ("/a",),
    "devicePath": ("/a",),
    "key": ("a.b/c", "a"),
    "operator": ("Exists", "In", "Equal"),
    "driver": ("a.b",),
    "expression": ("true", "Object{}"),
    "messageExpression": ("'a'",),
    # Structs that a server rejects without any member.
    "livenessProbe": ({"httpGet": {"port": 80}}, {"grpc": {"port": 80}}),
    "readinessProbe": ({"tcpSocket": {"port": 80}},),
    "preStop": ({"httpGet": {"port": 80}},),
    "httpGet": ({"port": 80},),
    "grpc": ({"port": 80},),
    "tcpSocket": ({"port": 80},),
    "valueFrom": ({"fieldRef": {"fieldPath": "metadata.name"}},),
    "fieldRef": ({"fieldPath": "metadata.name"},),
    "fieldPath": ("metadata.name",),
    "resourceFieldRef": ({"containerName": "a", "resource": "limits.cpu"},),
    "serviceAccountToken": ({"path": "a"},),
    "topologyKey": ("a.b/c",),
    "server": ("a.b",),
    "resource": ("limits.cpu", "pods"),
    "verbs": ("get",),
    "apiGroups": ("",),
    "resources": ("pods",),
    "seconds": (5,),
    "command": ("a",),
    "imagePullPolicy": ("Always", "Never", "IfNotPresent"),
    "metadata": ({},),
    "subPath": ("a",),
    "monitors": ("a",),
    "pdName": ("a",),
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "accessModes": ("ReadWriteOnce",),
    "requests": ({"storage": "1Gi"}, {"cpu": "1"}),
    "capacity": ({"storage": "1Gi"},),
    "type": ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Container", "Pod", "Localhost",
             "RuntimeDefault", "RollingUpdate", "Recreate", "OnDelete", "Percent", "Pods", "Resource",
             "DirectoryOrCreate", "Opaque", "a"),
    "externalName": ("a.b",),
    "clusterIP": ("None",),
    "sessionAffinity": ("ClientIP", "None"),
    "serviceName": ("a",),
    "whenUnsatisfiable": ("DoNotSchedule",),
    "startingDeadlineSeconds": (10,),
    "timeZone": ("Etc/UTC",),
    "action": ("FailJob", "Ignore"),
    "averageUtilization": (50,),
    "conversionReviewVersions": ("v1",),
    "jsonPath": (".spec.a",),
}  # fmt: skip
BY_TYPE: Final[dict[str, tuple[Any, ...]]] = {
    "string": ("a", "/a", "a.b/c", "10.0.0.1", "1", "true", "10.0.0.0/24"),
    "integer": (1, 2, 80, 1000, 0, 100000),
    "number": (1,),
    "boolean": (True, False),
    "bytes": ("YQ==",),
    "time": ("2026-01-01T00:00:00Z",),
    "micro-time": ("2026-01-01T00:00:00.000000Z",),
    "quantity": ("1", "1Gi"),
    "int-or-string": (1, "50%", 80),
    "object": ({},),
    "any": ({"a": 1},),
}


def values(name: str, field: BuiltinField, depth: int = 4) -> list[Any]:
    """Return candidates for a field, the likeliest first."""
    candidates: list[Any] = []
    if "." in field.type:
        structs = [candidate for candidate in BY_NAME.get(name, ()) if is_object(candidate)]
        candidates = [*structs, struct(field.type, depth - 1)] if depth else []
    else:
        candidates = [*(field.enum or ()), *BY_NAME.get(name, ()), *BY_TYPE.get(field.type, ("a",))]
    for form in reversed(field.form):
        if form == "list":
            candidates = [[candidate] for candidate in candidates]
        else:
            maps: list[Any] = (
                [candidate for candidate in candidates if is_object(candidate)] if name in BY_NAME else []
            )
            candidates = maps + [{"a": candidate} for candidate in candidates if not is_object(candidate)]
            if field.type == "quantity":
                candidates = [*maps, {"cpu": "1"}, {"storage": "1Gi"}, {"memory": "1Gi"}]
    return candidates


def struct(type_: str, depth: int) -> dict[str, Any]:
    """Return a minimal object of a type: its required fields without a default."""
    obj: dict[str, Any] = {}
    for name, field in kind_table().types[type_].fields.items():
        if (
            field.required
            and field.default in (None, "", 0)
            and depth
            and (candidates := values(name, field, depth))
        ):
            obj[name] = candidates[0]
    return obj

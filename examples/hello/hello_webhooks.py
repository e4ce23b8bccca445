"""The webhooks that a server calls before it stores a Hello: validation, defaults and conversion.

The definition has the checks that a schema can express; these checks concern the Deployment of a Hello.
"""

from __future__ import annotations

from typing import Final

from hello_kind import Hello, OldHello, downgraded, upgraded

from kubeproto.crd import Violation
from kubeproto_runtime.webhooks import Admission, Webhooks

# The name becomes the value of a label, which has a shorter maximum length than a name.
MAX_NAME_LENGTH: Final = 63


def fill(admission: Admission[Hello]) -> None:
    """Default the text to a greeting with the name; a schema default cannot refer to another field."""
    hello = admission.object
    name = hello.metadata.name or hello.metadata.generate_name.rstrip("-")
    hello.spec.text = hello.spec.text or f"Hello from {name}!"


def check(admission: Admission[Hello]) -> list[Violation]:
    """Check that a Hello can become a Deployment, and that its text is visible."""
    hello, violations = admission.object, list[Violation]()
    if hello.metadata.deletion_timestamp is not None:
        return violations  # a deleted Hello must accept the removal of its finalizers, even if it is invalid
    if len(hello.metadata.name) > MAX_NAME_LENGTH:
        detail = f"a Hello's name is a label too, and has {MAX_NAME_LENGTH} characters at most"
        violations.append(Violation("FieldValueInvalid", "metadata.name", hello.metadata.name, detail))
    if not hello.spec.text.isprintable() or hello.spec.text.isspace():
        violations.append(Violation("FieldValueInvalid", "spec.text", hello.spec.text, "it cannot be read"))
    if hello.spec.replicas == 0:
        admission.warn(f"Hello {hello.metadata.name} has no replicas: nobody will say hello")
    return violations


webhooks: Final = (
    Webhooks(Hello).default(fill).validate(check).convert(OldHello, up=upgraded, down=downgraded)
)

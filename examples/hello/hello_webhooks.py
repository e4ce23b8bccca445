"""What a server asks before it stores a Hello: whether it may, what was left out, and its other version.

The definition checks what a schema can say; what is checked here is about the Deployment of a Hello.
"""

from __future__ import annotations

from typing import Final

from hello_kind import Hello, OldHello, downgraded, upgraded

from kubeproto.crd import Violation
from kubeproto_runtime.webhooks import Admission, Webhooks

# The name becomes the value of a label, which is shorter than a name may be.
LONGEST_NAME: Final = 63


def fill(admission: Admission[Hello]) -> None:
    """A Hello that has nothing to say says its name, which no default of a schema knows."""
    hello = admission.object
    name = hello.metadata.name or hello.metadata.generate_name.rstrip("-")
    hello.spec.text = hello.spec.text or f"Hello from {name}!"


def check(admission: Admission[Hello]) -> list[Violation]:
    """A Hello can become a Deployment, and says something that can be seen."""
    hello, found = admission.object, list[Violation]()
    if hello.metadata.deletion_timestamp is not None:
        return found  # its finalizers have to come off, whatever it says
    if len(hello.metadata.name) > LONGEST_NAME:
        detail = f"a Hello's name is a label too, and has {LONGEST_NAME} characters at most"
        found.append(Violation("FieldValueInvalid", "metadata.name", hello.metadata.name, detail))
    if not hello.spec.text.isprintable() or hello.spec.text.isspace():
        found.append(Violation("FieldValueInvalid", "spec.text", hello.spec.text, "it cannot be read"))
    if hello.spec.replicas == 0:
        admission.warn(f"Hello {hello.metadata.name} has no replicas: nobody will say hello")
    return found


webhooks: Final = (
    Webhooks(Hello).default(fill).validate(check).convert(OldHello, up=upgraded, down=downgraded)
)

"""The tables of the page on releases say what the data of the kinds and the simulated servers say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kubeproto.kinds import table
from kubeproto_sim.kinds._releases import release_of

PAGE: Final = (Path(__file__).parents[2] / "docs/releases.md").read_text()
NAMED: Final = {
    "MutatingAdmissionPolicy and its bindings (`v1`)": (
        "admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    ),
    "`resource.k8s.io/v1`": tuple(
        f"{facts.resource.api_version}/{facts.resource.plural}"
        for facts in table().resources
        if facts.resource.api_version == "resource.k8s.io/v1"
    ),
    "VolumeAttributesClass (`v1`)": ("storage.k8s.io/v1/volumeattributesclasses",),
    "IPAddress and ServiceCIDR (`v1`)": (
        "networking.k8s.io/v1/ipaddresses", "networking.k8s.io/v1/servicecidrs",
    ),
    "`pods/resize`": ("v1/pods/resize",),
}  # fmt: skip
NUMBERS: Final = {"Seven": 7, "Eight": 8, "Nine": 9}


def rows(title: str) -> dict[str, list[str]]:
    """The rows of the first table under a title, by their first cell."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| 1.")
    ]
    return {first: rest for first, *rest in found}


def test_each_release_is_tested_at_the_version_whose_kinds_are_known() -> None:
    tested = {version.rpartition(".")[0]: version for version in rows("Tests on each release")}
    known = {release: facts.kubernetes for release, facts in table().releases.items()}
    assert tested == known | {"1.36": table().kubernetes}


def test_what_a_release_does_not_serve_is_what_its_server_did_not_serve() -> None:
    missing: dict[str, set[str]] = {}
    above: set[str] = set()
    for release, (served, _) in rows("What is missing on older releases").items():
        if same := re.fullmatch(r"the same as (1\.\d+)", served):
            named = missing[same[1]]
        else:
            here = {one for phrase, names in NAMED.items() if phrase in served for one in names}
            assert here
            named = above | here if served.startswith("also") else here
        missing[release] = above = named
    assert missing == {release: set(facts.missing_resources) for release, facts in table().releases.items()}


def test_what_a_release_does_not_do_is_what_its_simulated_server_does_not() -> None:
    for number, (_, features) in rows("What is missing on older releases").items():
        release = release_of(number)
        assert ("no shards" in features) == (not release.shards)
        assert ("streaming lists" in features) == (not release.streaming_lists)
        assert ("no selectable fields" in features) == (not release.selectable_fields)
        assert ("no field selectors for Services" in features) == (not release.has_service_fields)


def test_the_number_of_fields_that_became_required_is_right() -> None:
    required = {path for facts in table().releases.values() for path in facts.optional_fields}
    found = re.search(r"(\w+) became required in the schemas", PAGE)
    assert found
    assert NUMBERS[found[1]] == len(required)

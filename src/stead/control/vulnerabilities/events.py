"""Event types of vulnerabilities."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload


class VulnerabilityMatched(Payload):
    """`vuln_id`, `title` and `rating` are those of the worst one."""

    domain: Domain
    count: Annotated[int, Meta(description="How many are new.", examples=[2])]
    vuln_id: Annotated[str, Meta(examples=["3f1b8c0e-5a77-4d0e-9a3a-6f0d2b1c4e5f"])]
    title: Annotated[str, Meta(examples=["Shop Kit <= 1.2.3 - Reflected Cross-Site Scripting"])]
    rating: Annotated[str, Meta(examples=["high"])]
    record_url: Annotated[
        str | None,
        Meta(examples=["https://www.wordfence.com/threat-intel/vulnerabilities/id/3f1b"]),
    ] = None
    attribution: Annotated[
        str,
        Meta(
            description="The notices and licences of the record. Show them with its title.",
            examples=["Copyright of the source. Its licence."],
        ),
    ] = ""


VULNERABILITY_MATCHED = EventType(
    "vulnerability.matched",
    "security",
    "A component of a site is vulnerable",
    "critical",
    data=VulnerabilityMatched,
    in_app=True,
    email=True,
    text="{count} new vulnerabilities concern {domain}. The worst one is rated {rating}: {title}"
    " ({record_url}). {attribution}",
)

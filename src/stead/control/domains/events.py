"""Event types of domains."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload, Reason

Hostname = Annotated[str, Meta(examples=["www.example.com"])]


class DomainPayload(Payload):
    domain: Annotated[Domain, Meta(description="The primary domain of the site.")]
    hostname: Hostname


class DomainFailure(Payload):
    domain: Annotated[Domain, Meta(description="The primary domain of the site.")]
    hostname: Hostname
    reason: Reason = None


DOMAIN_ATTACHED = EventType("domain.attached", "site", "A domain was attached", data=DomainPayload)
DOMAIN_DETACHED = EventType("domain.detached", "site", "A domain was detached", data=DomainPayload)
DOMAIN_VERIFIED = EventType(
    "domain.verified",
    "site",
    "A domain was verified",
    data=DomainPayload,
    in_app=True,
    text="{hostname} is verified and served.",
)
DOMAIN_FAILED = EventType(
    "domain.failed",
    "site",
    "A domain could not be verified",
    "warning",
    data=DomainFailure,
    in_app=True,
    email=True,
    text="{hostname} could not be verified: {reason}",
)
DOMAIN_PRIMARY_CHANGED = EventType(
    "domain.primary_changed", "site", "Another domain became the primary one", data=DomainPayload
)
DOMAIN_ATTACH_FAILED = EventType(
    "domain.attach_failed",
    "site",
    "A domain could not be attached",
    "error",
    data=DomainFailure,
    in_app=True,
    text="{hostname} could not be attached: {reason}",
)

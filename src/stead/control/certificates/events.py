"""Event types of certificates."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload, Reason, SitePayload


class CertificateIssued(Payload):
    domain: Domain
    ca: Annotated[
        str, Meta(description="The certificate authority that issued it.", examples=["Example Trust CA"])
    ]
    expires_at: Annotated[str, Meta(examples=["2027-02-13T04:18:51+00:00"])]


class CertificateFailed(Payload):
    domain: Domain
    code: Annotated[str, Meta(examples=["dns"])]
    reason: Reason = None


CERTIFICATE_ISSUED = EventType(
    "certificate.issued", "security", "A certificate was issued", data=CertificateIssued
)
CERTIFICATE_RENEWED = EventType(
    "certificate.renewed", "security", "A certificate was renewed", data=CertificateIssued
)
CERTIFICATE_FAILED = EventType(
    "certificate.failed",
    "security",
    "A certificate could not be issued",
    "warning",
    data=CertificateFailed,
    in_app=True,
    email=True,
    text="No certificate could be issued for {domain}: {reason}",
)
CERTIFICATE_EXPIRED = EventType(
    "certificate.expired",
    "security",
    "A certificate has expired",
    "critical",
    data=SitePayload,
    in_app=True,
    email=True,
    text="The certificate of {domain} has expired; browsers show visitors a warning.",
)

"""Event types of sites."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import (
    Domain,
    EventType,
    Payload,
    Reason,
    SiteFailure,
    SitePayload,
    Status,
)

_TeamId = Annotated[str | None, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class SiteCreated(Payload):
    domain: Domain
    profile: Annotated[str, Meta(examples=["static"])]


class SiteStatusChanged(Payload):
    """`status` is the new status, `previous` the old one."""

    domain: Domain
    status: Status
    previous: Annotated[str, Meta(examples=["provisioning"])]
    reason: Reason = None


class SiteTransferred(Payload):
    from_team: _TeamId
    to_team: _TeamId


SITE_CREATED = EventType("site.created", "site", "A site was created", data=SiteCreated)
SITE_STATUS_CHANGED = EventType(
    "site.status_changed", "site", "The status of a site changed", data=SiteStatusChanged
)
SITE_DELETED = EventType(
    "site.deleted",
    "site",
    "A site was deleted",
    "warning",
    data=SitePayload,
    in_app=True,
    email=True,
    text="{domain} was deleted. It can be recovered for 30 days.",
)
SITE_DELETION_FAILED = EventType(
    "site.deletion_failed",
    "site",
    "A site could not be deleted",
    "error",
    data=SiteFailure,
    in_app=True,
    email=True,
    text="{domain} was not deleted: {reason}",
)
SITE_RECOVERED = EventType(
    "site.recovered",
    "site",
    "A deleted site was recovered",
    data=SitePayload,
    in_app=True,
    text="{domain} is served again.",
)
SITE_RECOVERY_FAILED = EventType(
    "site.recovery_failed",
    "site",
    "A deleted site could not be recovered",
    "error",
    data=SiteFailure,
    in_app=True,
    email=True,
    text="{domain} is still deleted: {reason}",
)
SITE_RESTARTED = EventType("site.restarted", "site", "A site was restarted", data=SitePayload)
SITE_RESTART_FAILED = EventType(
    "site.restart_failed",
    "site",
    "A site could not be restarted",
    "error",
    data=SiteFailure,
    in_app=True,
    email=True,
    text="The restart of {domain} failed: {reason}",
)
SITE_TRANSFERRED = EventType(
    "site.transferred",
    "site",
    "A site was transferred",
    "warning",
    data=SiteTransferred,
    in_app=True,
    text="A site was transferred to another owner.",
)
SITE_UNREACHABLE = EventType(
    "site.unreachable",
    "site",
    "A site is unreachable",
    "error",
    data=SiteFailure,
    in_app=True,
    email=True,
    text="{domain} cannot be reached: {reason}",
)
SITE_REACHABLE = EventType(
    "site.reachable",
    "site",
    "A site is reachable again",
    data=SitePayload,
    in_app=True,
    email=True,
    text="{domain} can be reached again.",
)

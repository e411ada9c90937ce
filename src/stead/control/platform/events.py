"""The event outbox: what happened, written in the transaction in which it did. The catalog is code."""

from typing import Literal

from msgspec import Struct

from stead.control.platform.database import Tx
from stead.shared.ids import new_id

Severity = Literal["info", "warning", "error", "critical"]
Fact = str | int | bool | None


class EventType(Struct, frozen=True):
    type: str
    category: str
    title: str
    severity: Severity = "info"


CATALOG = {
    event.type: event
    for event in (
        EventType("site.created", "site", "A site was created"),
        EventType("site.deleted", "site", "A site was deleted"),
        EventType("site.recovered", "site", "A deleted site was recovered"),
        EventType("site.restarted", "site", "A site was restarted"),
        EventType("site.transferred", "site", "A site was transferred"),
        EventType("site.config_changed", "site", "The configuration of a site was changed"),
        EventType("site.redirects_changed", "site", "The redirects of a site were replaced"),
        EventType("environment.config_changed", "environment", "An environment was configured"),
        EventType("environment.cache_purged", "environment", "Pages were purged from a cache"),
        EventType("deploy.completed", "deploy", "A deployment is live"),
        EventType("deploy.failed", "deploy", "A deployment failed", "error"),
        EventType("certificate.issued", "security", "A certificate was issued"),
        EventType("certificate.renewed", "security", "A certificate was renewed"),
        EventType("certificate.failed", "security", "A certificate could not be had", "warning"),
        EventType("certificate.expired", "security", "A certificate has expired", "critical"),
        EventType("job.succeeded", "job", "A job succeeded"),
        EventType("job.failed", "job", "A job failed", "error"),
        EventType("team.member_added", "team", "A member joined a team"),
        EventType("team.invite_created", "team", "Somebody was invited into a team"),
    )
}


class About(Struct, frozen=True, kw_only=True):
    """Whose event it is, and what it is about."""

    account_id: str | None = None
    team_id: str | None = None
    site_id: str | None = None
    env_id: str | None = None
    job_id: str | None = None


async def publish(tx: Tx, event: str, about: About, **data: Fact) -> None:
    known = CATALOG[event]
    await tx.run(
        "insert into events (id, type, account_id, team_id, site_id, env_id, job_id, data, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        new_id("evt"),
        known.type,
        about.account_id,
        about.team_id,
        about.site_id,
        about.env_id,
        about.job_id,
        data,
        tx.now,
    )

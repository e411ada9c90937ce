"""Rows of configuration: one for a site, one for each environment that differs."""

from stead.control.configuration.rules import Settings, merged
from stead.control.engines.postgres import Tx


async def settings(tx: Tx, subject: str) -> Settings:
    found: Settings | None = await tx.value("select settings from configurations where subject = $1", subject)
    return found or {}


async def change(tx: Tx, subject: str, site: str, wanted: Settings, *, job: str) -> None:
    """Once for a job, however often it is asked; what was before is kept for `revert`."""
    before = await settings(tx, subject)
    await tx.run(
        "insert into configurations (subject, site_id, settings, previous, changed_by)"
        " values ($1, $2, $3, $4, $5) on conflict (subject) do update"
        " set settings = $3, previous = $4, changed_by = $5 where configurations.changed_by <> $5",
        subject,
        site,
        merged(before, wanted),
        before,
        job,
    )


async def revert(tx: Tx, subject: str, *, job: str) -> None:
    await tx.run(
        "update configurations set settings = previous, changed_by = 'undo ' || $2"
        " where subject = $1 and changed_by = $2",
        subject,
        job,
    )

"""Queries of configuration: one row per site, and one per environment with settings of its own."""

from stead.control.configuration.rules import Settings, merge
from stead.control.engines.postgres import Tx


async def get_settings(tx: Tx, subject: str) -> Settings:
    found: Settings | None = await tx.value("select settings from configurations where subject = $1", subject)
    return found or {}


async def apply_change(tx: Tx, subject: str, site: str, wanted: Settings, *, job: str) -> None:
    """A job applies its change once, even if the step is repeated. The settings before it are kept for
    `revert_change`."""
    before = await get_settings(tx, subject)
    await tx.run(
        "insert into configurations (subject, site_id, settings, previous, changed_by)"
        " values ($1, $2, $3, $4, $5) on conflict (subject) do update"
        " set settings = $3, previous = $4, changed_by = $5 where configurations.changed_by <> $5",
        subject,
        site,
        merge(before, wanted),
        before,
        job,
    )


async def revert_change(tx: Tx, subject: str, *, job: str) -> None:
    await tx.run(
        "update configurations set settings = previous, changed_by = 'undo ' || $2"
        " where subject = $1 and changed_by = $2",
        subject,
        job,
    )

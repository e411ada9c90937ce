"""What operators see of repositories: on a terminal, in metrics, and by how commands end."""

from collections.abc import AsyncIterator

import pytest

from stead.control.backups import operating, status_store
from stead.control.backups.recovery import RecoveredSite, Recovery
from stead.control.metrics import WORKER
from stead.shared.repository_layout import kind_prefix
from tests.repositories.maintained_site import MaintainedSite, Worker

GAUGES = ("overdue", "with_problem", "unmaintained", "oldest_uncopied_seconds")


async def describe(site: MaintainedSite, *, second: bool = True) -> tuple[dict[str, str], bool]:
    """The sections in which the site or its snapshots are, by their first line without the number."""
    async with site.worker.plane.database.reading() as tx:
        text, has_findings = await operating.describe(tx, has_second_store=second)
    sections = [each.splitlines() for each in text.split("\n\n")]
    names = {site.id, *(each.id for each in site.taken)}
    found = {
        section[0].partition(" ")[2]: line
        for section in sections
        for line in section
        if line.split(" ")[0] in names
    }
    return found, has_findings


async def measure(site: MaintainedSite, *, second: bool = True) -> dict[str, float]:
    async with site.worker.plane.database.reading() as tx:
        await operating.measure(tx, has_second_store=second)
    return {name: WORKER.value(f"stead_backups_{name}") or 0.0 for name in GAUGES}


async def test_a_repository_that_works_is_not_listed(site: MaintainedSite):
    await site.take_snapshot()
    assert await site.maintain(offsite=True)
    assert (await describe(site))[0] == {}


async def test_a_problem_is_listed_until_it_is_solved(site: MaintainedSite):
    await site.take_snapshot(host="elsewhere")
    before = await measure(site)
    assert not await site.maintain()
    found, has_findings = await describe(site)
    assert has_findings
    assert "names the unknown host 'elsewhere'" in found["repositories are suspicious or damaged"]
    assert (await measure(site))["with_problem"] == before["with_problem"] + 1
    await site.sql("update repositories set problem = $2 where site_id = $1", site.id, "a\x1b[2Jb\nc" * 999)
    found, _ = await describe(site)
    line = found["repositories are suspicious or damaged"]
    assert line.isprintable()
    assert len(line) < 400
    await site.sql("update repositories set problem = null where site_id = $1", site.id)
    assert (await measure(site))["with_problem"] == before["with_problem"]


async def test_a_snapshot_that_is_not_copied_within_a_day_is_listed(site: MaintainedSite):
    first = await site.take_snapshot()
    title = "snapshots wait for the second store"
    assert title not in (await describe(site))[0]
    await site.sql("update snapshots set stored_at = now() - interval '25 hours' where id = $1", first.id)
    found, has_findings = await describe(site)
    assert has_findings
    assert found[title].startswith(first.id)
    assert found[title].endswith(f"of {site.id}: not tried yet")
    assert (await measure(site))["oldest_uncopied_seconds"] > 24 * 3600
    # Without a second store, nothing waits for it.
    assert (await describe(site, second=False))[0] == {}
    assert (await measure(site, second=False))["oldest_uncopied_seconds"] == 0
    await site.worker.maintainer(offsite=True).maintain(site.id)
    assert (await describe(site))[0] == {}


async def test_a_repository_without_maintenance_is_listed_when_it_is_old_enough(site: MaintainedSite):
    title = "repositories were not maintained for 3 days"
    before = (await measure(site))["unmaintained"]
    assert title not in (await describe(site))[0]
    await site.sql(
        "update repositories set created_at = now() - interval '4 days' where site_id = $1", site.id
    )
    found, has_findings = await describe(site)
    assert has_findings
    assert found[title].endswith("no maintenance has ended yet")
    assert (await measure(site))["unmaintained"] == before + 1
    await site.take_snapshot()
    assert await site.maintain()
    assert title not in (await describe(site))[0]


async def test_a_long_list_is_cut_and_says_so(site: MaintainedSite, monkeypatch: pytest.MonkeyPatch):
    for _ in range(3):
        await site.take_snapshot()
    await site.sql("update snapshots set stored_at = now() - interval '2 days' where site_id = $1", site.id)
    monkeypatch.setattr(operating, "SHOWN", 2)
    async with site.worker.plane.database.reading() as tx:
        text, _ = await operating.describe(tx, has_second_store=True)
        count = (await status_store.list_uncopied(tx, tx.now - operating.COPIED_AFTER, limit=1)).count
    section = text.partition(f"{count} snapshots wait for the second store (the first 2 are listed)\n")[2]
    assert len(section.splitlines()) == 3


async def test_a_recovery_with_a_problem_is_not_complete(site: MaintainedSite, worker: Worker):
    await site.take_snapshot()
    assert await site.maintain(offsite=True)
    first = worker.gateway.store.objects()
    recovery = Recovery(worker.plane.database, worker.sealer, first, worker.second)

    async def recover() -> AsyncIterator[RecoveredSite]:
        yield await recovery.recover_site(site.id)

    lines: list[str] = []
    assert await operating.report_recovery(recover(), lines.append)
    for objects in (first, worker.second):
        async for names in objects.list_names(kind_prefix(site.id, "data")):
            await objects.delete(names)
    assert not await operating.report_recovery(recover(), lines.append)
    assert len(lines) == 4
    assert len(lines[3].split()) > len(lines[1].split())

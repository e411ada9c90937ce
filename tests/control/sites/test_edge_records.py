"""Edge records of a live site that is deleted, recovered and purged."""

import asyncio

from stead.control.edge_feed import announcements
from stead.control.jobs import service as jobs
from stead.control.sites import workflows
from stead.control.sites.jobs import SiteWork
from stead.protocol import edge_records
from tests.control.served_site import REGION, ServedSite


async def _delete(served_site: ServedSite) -> None:
    await served_site.complete("DELETE", "", {"confirm_domain": served_site.domain})


async def test_a_recovered_site_is_announced_again(served_site: ServedSite) -> None:
    await served_site.complete("POST", "/restart")
    served = dict(served_site.driver.announced)
    await _delete(served_site)
    assert set(served_site.driver.announced.values()) == {None}
    await served_site.complete("POST", "/recover")
    assert served_site.driver.announced == served
    assert edge_records.host_key(REGION, served_site.domain) in served


async def test_a_failed_recovery_deletes_the_environment_again(served_site: ServedSite) -> None:
    await _delete(served_site)
    await served_site.driver.undo_job((await served_site.request_job("POST", "/recover"))["id"])
    statuses = "select s.status || ' ' || e.status from sites s join environments e on e.site_id = s.id"
    assert (
        await served_site.driver.fetch_value(f"{statuses} where s.id = $1", served_site.id)
        == "deleted deleted"
    )


async def test_purging_a_site_that_never_had_redirects_announces_nothing(served_site: ServedSite) -> None:
    await _delete(served_site)
    before = dict(served_site.driver.announced)
    async with served_site.driver.plane.database.transaction() as tx:
        subject = jobs.Subject(served_site.id, served_site.person.id)
        job = await jobs.enqueue(tx, workflows.PURGE.kind, SiteWork(), subject, scope="sites:admin")
    forget = workflows.PURGE.steps["forget"].announce
    assert forget is not None
    async with served_site.driver.plane.database.reading() as tx:
        assert await forget(tx, workflows.PURGE.read(await served_site.driver.job_row(job.id))) is None
    assert await served_site.driver.run_job(job.id) == "deleted"
    assert served_site.driver.announced == before


async def test_an_announcement_that_was_built_later_has_a_higher_version(served_site: ServedSite) -> None:
    """Also if an earlier one is still being built: the later one waits for it."""
    database, site = served_site.driver.plane.database, served_site.id
    versions: list[int] = []

    async def build() -> None:
        async with database.transaction() as tx:
            announcement = await announcements.serve_site(tx, site)
            assert announcement is not None
            assert announcement.version is not None
            versions.append(announcement.version)
            await asyncio.sleep(0)

    async with database.transaction() as tx:
        first = await announcements.serve_site_with_redirects(tx, site)
        others = [asyncio.create_task(build()) for _ in range(3)]
        done, _ = await asyncio.wait(others, timeout=0.5)
        assert not done
    await asyncio.gather(*others)
    assert first is not None
    assert first.version is not None
    assert [first.version, *versions] == sorted({first.version, *versions})


async def test_versions_ascend_when_the_clock_goes_back(served_site: ServedSite) -> None:
    database, site = served_site.driver.plane.database, served_site.id
    ahead = 10**17
    async with database.transaction() as tx:
        await announcements.serve_site(tx, site)
        await tx.run("update edge_versions set version = $2 where site_id = $1", site, ahead)
        announcement = await announcements.serve_site(tx, site)
    assert announcement is not None
    assert announcement.version == ahead + 1

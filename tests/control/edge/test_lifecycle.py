"""What the edges are told when a live site is deleted, recovered and at last forgotten."""

from stead.control.jobs import service as jobs
from stead.control.sites import workflows
from stead.control.sites.jobs import SiteWork
from stead.protocol import edge_records
from tests.control.edge.conftest import REGION, Served


async def _delete(site: Served) -> None:
    await site.changed("DELETE", "", {"confirm_domain": site.domain})


async def test_a_recovered_site_is_announced_again(site: Served) -> None:
    await site.changed("POST", "/restart")
    served = dict(site.estate.announced)
    await _delete(site)
    assert set(site.estate.announced.values()) == {None}
    await site.changed("POST", "/recover")
    assert site.estate.announced == served
    assert edge_records.host_key(REGION, site.domain) in served


async def test_an_environment_is_deleted_again_when_its_recovery_failed(site: Served) -> None:
    await _delete(site)
    await site.estate.undo((await site.change("POST", "/recover"))["id"])
    statuses = "select s.status || ' ' || e.status from sites s join environments e on e.site_id = s.id"
    assert await site.estate.value(f"{statuses} where s.id = $1", site.id) == "deleted deleted"


async def test_purging_a_site_that_never_had_redirects_announces_nothing(site: Served) -> None:
    await _delete(site)
    told = dict(site.estate.announced)
    async with site.estate.plane.database.transaction() as tx:
        subject = jobs.Subject(site.id, site.person.id)
        job = await jobs.enqueue(tx, workflows.PURGE.kind, SiteWork(), subject, scope="sites:admin")
    forget = workflows.PURGE.steps["forget"].announce
    assert forget is not None
    async with site.estate.plane.database.reading() as tx:
        assert await forget(tx, workflows.PURGE.read(await site.estate._row(job.id))) is None
    assert await site.estate.perform(job.id) == "deleted"
    assert site.estate.announced == told

"""The certificates of a site's domain and preview host are requested when the site goes live, and removed
when it is deleted."""

import pytest

from stead.control.app import ControlPlane
from tests.client import Client
from tests.control.site_driver import SiteDriver, request_deletion, request_site
from tests.enrolled_nodes import record_node
from tests.people import Person

COUNT = "select count(*) from certificates where site_id = $1 and not forgotten"
HOSTS = "select array_agg(host order by host) from certificates where site_id = $1 and not forgotten"


@pytest.fixture
async def driver(plane: ControlPlane) -> SiteDriver:
    async with plane.database.transaction() as tx:
        await record_node(tx)
    return SiteDriver(plane)


async def _create_live_site(driver: SiteDriver, client: Client) -> str:
    job = (await request_site(client)).json()["data"]
    assert await driver.run_job(job["id"]) == "running"
    return str(job["resource"]["site_id"])


async def test_a_live_site_has_its_certificates_until_it_is_deleted(driver: SiteDriver, person: Person):
    site = await _create_live_site(driver, person.session)
    domain = str(await driver.fetch_value("select domain from sites where id = $1", site))
    preview = str(await driver.fetch_value("select subdomain from environments where site_id = $1", site))
    assert await driver.fetch_value(HOSTS, site) == sorted([domain, preview])
    deletion = (await request_deletion(person.session, site, domain)).json()["data"]["id"]
    assert await driver.fetch_value(COUNT, site) == 2
    assert await driver.run_job(deletion) == "deleted"
    assert await driver.fetch_value(COUNT, site) == 0
    recovery = (await person.session.post(f"/v1/sites/{site}/recover")).json()["data"]["id"]
    assert await driver.run_job(recovery) == "running"
    assert await driver.fetch_value(HOSTS, site) == sorted([domain, preview])


async def test_a_simulated_site_gets_no_certificate(driver: SiteDriver, person: Person):
    client = await person.key(mode="test")
    site = await _create_live_site(driver, client)
    assert await driver.fetch_value(COUNT, site) == 0
    status = await client.get(f"/v1/sites/{site}/tls")
    assert status.json()["data"]["state"] == "unconfigured"


async def test_the_status_needs_access_to_the_site_and_the_tls_scope(
    driver: SiteDriver, person: Person, stranger: Person
):
    site = await _create_live_site(driver, person.session)
    assert (await stranger.session.get(f"/v1/sites/{site}/tls")).status_code == 404
    without = await person.key("sites:read")
    assert (await without.get(f"/v1/sites/{site}/tls")).status_code == 403

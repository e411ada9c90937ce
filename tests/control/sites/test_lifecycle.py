"""Deleting, recovering and restarting a site: allowed statuses, confirmation and time limits."""

import asyncio
from datetime import timedelta
from typing import get_args

import pytest

from stead.control.sites.rules import NEXT_STATUSES, SiteStatus
from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.site_driver import SiteDriver, read_site, request_deletion, request_site
from tests.people import Person

STATUSES = get_args(SiteStatus)
RESTARTABLE = {"running", "stopped", "failed"}
SITE_JOB = {"type": "site"}


@pytest.mark.parametrize(
    "confirmed", ["other.example.com", "{}.", " {}", "{}\n", "UPPER", "https://{}", "{}x", "*"], ids=ascii
)
async def test_a_deletion_is_confirmed_with_the_exact_domain(
    person: Person, driver: SiteDriver, confirmed: str
):
    site, domain = await driver.insert_site(account=person.id)
    confirmation = domain.upper() if confirmed == "UPPER" else confirmed.format(domain)
    refused = await request_deletion(person.session, site, confirmation)
    assert (refused.status_code, code_of(refused)) == (400, "site.confirm_domain_mismatch")
    assert refused.json()["error"]["param"] == "confirm_domain"
    assert (await read_site(person.session, site))["status"] == "running"
    assert await driver.fetch_value("select count(*) from jobs where site_id = $1", site) == 0


@pytest.mark.parametrize("body", [None, {}, {"confirm_domain": None}, {"confirm_domain": ""}], ids=str)
async def test_a_deletion_without_confirmation_is_refused(person: Person, driver: SiteDriver, body: object):
    site, _ = await driver.insert_site(account=person.id)
    refused = await person.session.request("DELETE", f"/v1/sites/{site}", json=body)
    assert refused.status_code == 400
    assert (await read_site(person.session, site))["status"] == "running"


@pytest.mark.parametrize("status", STATUSES)
async def test_a_site_can_be_deleted_only_in_a_status_that_allows_it(
    person: Person, driver: SiteDriver, status: SiteStatus
):
    site, domain = await driver.insert_site(account=person.id, status=status)
    answer = await request_deletion(person.session, site, domain)
    after = (await read_site(person.session, site))["status"]
    if "deleting" in NEXT_STATUSES[status]:
        job = answer.json()["data"]
        assert (answer.status_code, job["type"], after) == (202, "site.delete", "deleting")
        assert job["resource"] == {"type": "site", "id": site, "site_id": site}
        assert answer.headers["location"] == job["links"]["self"]
    else:
        assert (code_of(answer), after) == ("site.busy", status)
        assert await driver.fetch_value("select count(*) from jobs where site_id = $1", site) == 0


async def test_one_of_ten_concurrent_deletions_is_accepted(person: Person, driver: SiteDriver):
    site, domain = await driver.insert_site(account=person.id)
    answers = await asyncio.gather(*(request_deletion(person.session, site, domain) for _ in range(10)))
    assert sorted(code_of(each) for each in answers) == ["202", *["site.busy"] * 9]
    assert await driver.fetch_value("select count(*) from jobs where site_id = $1", site) == 1


async def test_a_deleted_site_can_be_recovered_until_the_time_it_names(
    person: Person, driver: SiteDriver, node: str
):
    site, domain = await driver.insert_site(account=person.id)
    job = (await request_deletion(person.session, site, domain)).json()["data"]["id"]
    assert await driver.run_job(job) == "deleted"
    found = await read_site(person.session, site)
    assert found["recoverable_until"] is not None
    assert await driver.event_types(site) == ["site.deleted", "job.succeeded"]
    assert code_of(await request_deletion(person.session, site, domain)) == "site.busy"
    recovering = await person.session.post(f"/v1/sites/{site}/recover")
    job = recovering.json()["data"]
    assert (recovering.status_code, job["type"]) == (202, "site.restart")
    assert job["resource"] == {"type": "site", "id": site, "site_id": site}
    found = await read_site(person.session, site)
    assert (found["status"], found["recoverable_until"]) == ("provisioning", None)
    assert await driver.run_job(job["id"]) == "running"
    assert await driver.event_types(site) == [
        "site.deleted",
        "job.succeeded",
        "site.recovered",
        "job.succeeded",
    ]


@pytest.mark.parametrize(
    ("days", "code"), [(29.99, "202"), (30, "site.not_recoverable"), (31, "site.not_recoverable")]
)
async def test_a_site_can_be_recovered_for_thirty_days(
    person: Person, driver: SiteDriver, clock: MovableClock, days: float, code: str
):
    site, domain = await driver.insert_site(account=person.id)
    job = (await request_deletion(person.session, site, domain)).json()["data"]["id"]
    await driver.run_job(job)
    key = await person.key(expires_in_days=365)
    clock.ahead = timedelta(days=days)
    assert code_of(await key.post(f"/v1/sites/{site}/recover")) == code


@pytest.mark.parametrize("status", [each for each in STATUSES if each != "deleted"])
async def test_a_site_that_is_not_deleted_cannot_be_recovered(
    person: Person, driver: SiteDriver, status: SiteStatus
):
    site, _ = await driver.insert_site(account=person.id, status=status)
    assert code_of(await person.session.post(f"/v1/sites/{site}/recover")) == "site.not_recoverable"
    assert (await read_site(person.session, site))["status"] == status


async def test_a_recovery_is_refused_when_another_site_of_the_owner_has_the_domain(
    person: Person, driver: SiteDriver
):
    site, domain = await driver.insert_site(account=person.id, status="deleted")
    assert (await request_site(person.session, domain)).status_code == 202
    assert code_of(await person.session.post(f"/v1/sites/{site}/recover")) == "site.domain_taken"
    assert (await read_site(person.session, site))["status"] == "deleted"


async def test_a_site_whose_owner_used_its_domain_for_another_one_gets_it_back_after_that_is_deleted(
    person: Person, driver: SiteDriver
):
    site, domain = await driver.insert_site(account=person.id, status="deleted")
    another = (await request_site(person.session, domain)).json()["data"]
    await driver.run_job(another["id"])
    deletion = await request_deletion(person.session, another["resource"]["site_id"], domain)
    await driver.run_job(deletion.json()["data"]["id"])
    assert (await person.session.post(f"/v1/sites/{site}/recover")).status_code == 202
    hosts = "select hostname from domains where site_id = $1 and is_primary and status = 'verified'"
    assert await driver.fetch_value(hosts, site) == domain


async def test_a_recovery_and_a_creation_at_the_same_time_do_not_share_the_domain(
    new_person: NewPerson, driver: SiteDriver
):
    for _ in range(10):
        person = await new_person()
        site, domain = await driver.insert_site(account=person.id, status="deleted")
        answers = await asyncio.gather(
            person.session.post(f"/v1/sites/{site}/recover"), request_site(person.session, domain)
        )
        assert sorted(code_of(each) for each in answers) == ["202", "site.domain_taken"]
        assert await driver.fetch_value("select count(*) from domains where hostname = $1", domain) == 1


async def test_a_stranger_cannot_prevent_a_recovery_by_claiming_the_domain(
    new_person: NewPerson, driver: SiteDriver
):
    for _ in range(10):
        person, stranger = await new_person(), await new_person()
        site, domain = await driver.insert_site(account=person.id, status="deleted")
        recovered, claimed = await asyncio.gather(
            person.session.post(f"/v1/sites/{site}/recover"), request_site(stranger.session, domain)
        )
        assert (code_of(recovered), code_of(claimed)) == ("202", "site.domain_taken")


async def test_one_of_five_concurrent_recoveries_is_accepted(person: Person, driver: SiteDriver):
    site, _ = await driver.insert_site(account=person.id, status="deleted")
    answers = await asyncio.gather(*(person.session.post(f"/v1/sites/{site}/recover") for _ in range(5)))
    assert [each.status_code for each in answers].count(202) == 1
    assert {each.status_code for each in answers} == {202, 409}
    assert await driver.fetch_value("select count(*) from jobs where site_id = $1", site) == 1


async def test_a_recovery_requires_room_in_the_plan(
    new_person: NewPerson, driver: SiteDriver, one_site_plan: str
):
    person = await new_person(plan=one_site_plan)
    site, _ = await driver.insert_site(account=person.id, status="deleted")
    await driver.insert_site(account=person.id)
    assert code_of(await person.session.post(f"/v1/sites/{site}/recover")) == "quota.sites"


@pytest.mark.parametrize("status", STATUSES)
async def test_a_site_can_be_restarted_only_in_a_status_that_allows_it(
    person: Person, driver: SiteDriver, status: SiteStatus
):
    site, _ = await driver.insert_site(account=person.id, status=status)
    answer = await person.session.post(f"/v1/sites/{site}/restart")
    if status in RESTARTABLE:
        job = answer.json()["data"]
        assert (answer.status_code, job["type"]) == (202, "site.restart")
        assert job["resource"] == {"type": "site", "id": site, "site_id": site}
    else:
        assert code_of(answer) == "site.busy"
    assert (await read_site(person.session, site))["status"] == status
    assert await driver.event_types(site) == []


async def test_a_restart_is_published_once(person: Person, driver: SiteDriver, node: str):
    site, _ = await driver.insert_site(account=person.id)
    await driver.execute("update environments set node_id = $2 where site_id = $1", site, node)
    job = (await person.session.post(f"/v1/sites/{site}/restart")).json()["data"]["id"]
    assert await driver.run_job(job) == "running"
    assert await driver.event_types(site) == ["site.restarted", "job.succeeded"]


async def test_a_restart_places_a_site_that_no_node_hosts_or_fails(
    person: Person, driver: SiteDriver, node: str
):
    """The failed deployment of a new site was undone completely, so no node hosts the site."""
    site, _ = await driver.insert_site(account=person.id, status="failed")
    job = (await person.session.post(f"/v1/sites/{site}/restart")).json()["data"]["id"]
    status = await driver.run_job(job)
    host_node = await driver.fetch_value("select node_id from environments where site_id = $1", site)
    assert (status, host_node) in (("running", node), ("failed", None))


async def test_a_successful_deployment_is_published_once(person: Person, driver: SiteDriver, node: str):
    made = (await request_site(person.session)).json()["data"]
    site = made["resource"]["site_id"]
    assert await driver.run_job(made["id"]) == "running"
    assert await driver.event_types(site) == ["site.created", "deploy.completed", "job.succeeded"]
    job = (await person.session.get(f"/v1/jobs/{made['id']}")).json()["data"]
    found = await read_site(person.session, site)
    assert job["result"] == {"url": f"https://{found['domain']}/", "env_id": made["resource"]["env_id"]}

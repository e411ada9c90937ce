"""Deleting, recovering and restarting: from which state, with what confirmation, for how long."""

import asyncio
from datetime import timedelta
from typing import get_args

import pytest

from stead.control.app import ControlPlane
from stead.control.sites.rules import NEXT_STATUSES, SiteStatus
from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.sites.estate import Estate, create, delete, read
from tests.people import Person

STATUSES = get_args(SiteStatus)
RESTARTABLE = {"running", "stopped", "failed"}
SITE_JOB = {"type": "site"}


@pytest.mark.parametrize(
    "confirmed", ["other.example.com", "{}.", " {}", "{}\n", "UPPER", "https://{}", "{}x", "*"], ids=ascii
)
async def test_a_deletion_is_confirmed_by_the_domain_exactly(person: Person, estate: Estate, confirmed: str):
    site, domain = await estate.site(account=person.id)
    said = domain.upper() if confirmed == "UPPER" else confirmed.format(domain)
    refused = await delete(person.session, site, said)
    assert (refused.status_code, code_of(refused)) == (400, "site.confirm_domain_mismatch")
    assert refused.json()["error"]["param"] == "confirm_domain"
    assert (await read(person.session, site))["status"] == "running"
    assert await estate.value("select count(*) from jobs where site_id = $1", site) == 0


@pytest.mark.parametrize("body", [None, {}, {"confirm_domain": None}, {"confirm_domain": ""}], ids=str)
async def test_a_deletion_without_confirmation_is_none(person: Person, estate: Estate, body: object):
    site, _ = await estate.site(account=person.id)
    refused = await person.session.request("DELETE", f"/v1/sites/{site}", json=body)
    assert refused.status_code == 400
    assert (await read(person.session, site))["status"] == "running"


@pytest.mark.parametrize("status", STATUSES)
async def test_a_site_is_deleted_from_where_that_may_follow(
    person: Person, estate: Estate, status: SiteStatus
):
    site, domain = await estate.site(account=person.id, status=status)
    answer = await delete(person.session, site, domain)
    after = (await read(person.session, site))["status"]
    if "deleting" in NEXT_STATUSES[status]:
        job = answer.json()["data"]
        assert (answer.status_code, job["type"], after) == (202, "site.delete", "deleting")
        assert job["resource"] == {"type": "site", "id": site, "site_id": site}
        assert answer.headers["location"] == job["links"]["self"]
    else:
        assert (code_of(answer), after) == ("site.busy", status)
        assert await estate.value("select count(*) from jobs where site_id = $1", site) == 0


async def test_of_ten_deletions_at_once_one_is_taken_up(person: Person, estate: Estate):
    site, domain = await estate.site(account=person.id)
    answers = await asyncio.gather(*(delete(person.session, site, domain) for _ in range(10)))
    assert sorted(code_of(each) for each in answers) == ["202", *["site.busy"] * 9]
    assert await estate.value("select count(*) from jobs where site_id = $1", site) == 1


async def test_a_deleted_site_says_until_when_it_can_be_recovered(person: Person, estate: Estate, node: str):
    site, domain = await estate.site(account=person.id)
    job = (await delete(person.session, site, domain)).json()["data"]["id"]
    assert await estate.perform(job) == "deleted"
    found = await read(person.session, site)
    assert found["recoverable_until"] is not None
    assert await estate.events(site) == ["site.deleted", "job.succeeded"]
    assert code_of(await delete(person.session, site, domain)) == "site.busy"
    recovering = await person.session.post(f"/v1/sites/{site}/recover")
    job = recovering.json()["data"]
    assert (recovering.status_code, job["type"]) == (202, "site.restart")
    assert job["resource"] == {"type": "site", "id": site, "site_id": site}
    found = await read(person.session, site)
    assert (found["status"], found["recoverable_until"]) == ("provisioning", None)
    assert await estate.perform(job["id"]) == "running"
    assert await estate.events(site) == ["site.deleted", "job.succeeded", "site.recovered", "job.succeeded"]


@pytest.mark.parametrize(
    ("days", "code"), [(29.99, "202"), (30, "site.not_recoverable"), (31, "site.not_recoverable")]
)
async def test_a_site_is_recovered_within_thirty_days_of_its_deletion(
    person: Person, estate: Estate, clock: MovableClock, days: float, code: str
):
    site, domain = await estate.site(account=person.id)
    job = (await delete(person.session, site, domain)).json()["data"]["id"]
    await estate.perform(job)
    key = await person.key(expires_in_days=365)
    clock.ahead = timedelta(days=days)
    assert code_of(await key.post(f"/v1/sites/{site}/recover")) == code


@pytest.mark.parametrize("status", [each for each in STATUSES if each != "deleted"])
async def test_what_is_not_deleted_is_not_recovered(person: Person, estate: Estate, status: SiteStatus):
    site, _ = await estate.site(account=person.id, status=status)
    assert code_of(await person.session.post(f"/v1/sites/{site}/recover")) == "site.not_recoverable"
    assert (await read(person.session, site))["status"] == status


async def test_a_domain_that_was_taken_meanwhile_is_not_taken_back(
    person: Person, stranger: Person, estate: Estate
):
    site, domain = await estate.site(account=person.id, status="deleted")
    assert (await create(stranger.session, domain)).status_code == 202
    assert code_of(await person.session.post(f"/v1/sites/{site}/recover")) == "site.domain_taken"
    assert (await read(person.session, site))["status"] == "deleted"


async def test_a_recovery_and_a_creation_at_once_do_not_share_the_domain(
    new_person: NewPerson, estate: Estate
):
    for _ in range(10):
        person, stranger = await new_person(), await new_person()
        site, domain = await estate.site(account=person.id, status="deleted")
        answers = await asyncio.gather(
            person.session.post(f"/v1/sites/{site}/recover"), create(stranger.session, domain)
        )
        assert sorted(code_of(each) for each in answers) == ["202", "site.domain_taken"]


async def test_a_creation_that_comes_between_does_not_break_a_recovery(
    person: Person, stranger: Person, estate: Estate, plane: ControlPlane
):
    """The recovery has looked whether the domain is free when somebody else takes it."""
    site, _ = await estate.site(account=person.id, status="deleted")
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into sites"
            " (id, account_id, mode, slug, domain, profile, runtime, region, status, created_at)"
            " select 'site_' || substr(md5(id), 1, 26), $2, mode, slug || '-x', domain, profile, runtime,"
            " region, 'provisioning', created_at from sites where id = $1",
            *(site, stranger.id),
        )
        recovering = asyncio.create_task(person.session.post(f"/v1/sites/{site}/recover"))
        await asyncio.sleep(0.2)
    assert code_of(await recovering) == "site.domain_taken"


async def test_of_five_recoveries_at_once_one_is_taken_up(person: Person, estate: Estate):
    site, _ = await estate.site(account=person.id, status="deleted")
    answers = await asyncio.gather(*(person.session.post(f"/v1/sites/{site}/recover") for _ in range(5)))
    assert [each.status_code for each in answers].count(202) == 1
    assert {each.status_code for each in answers} == {202, 409}
    assert await estate.value("select count(*) from jobs where site_id = $1", site) == 1


async def test_a_recovered_site_needs_its_place_in_the_plan(
    new_person: NewPerson, estate: Estate, narrow: str
):
    person = await new_person(plan=narrow)
    site, _ = await estate.site(account=person.id, status="deleted")
    await estate.site(account=person.id)
    assert code_of(await person.session.post(f"/v1/sites/{site}/recover")) == "quota.sites"


@pytest.mark.parametrize("status", STATUSES)
async def test_a_site_is_restarted_when_it_is_there_to_be(person: Person, estate: Estate, status: SiteStatus):
    site, _ = await estate.site(account=person.id, status=status)
    answer = await person.session.post(f"/v1/sites/{site}/restart")
    if status in RESTARTABLE:
        job = answer.json()["data"]
        assert (answer.status_code, job["type"]) == (202, "site.restart")
        assert job["resource"] == {"type": "site", "id": site, "site_id": site}
    else:
        assert code_of(answer) == "site.busy"
    assert (await read(person.session, site))["status"] == status
    assert await estate.events(site) == []


async def test_a_restart_is_told_once(person: Person, estate: Estate, node: str):
    site, _ = await estate.site(account=person.id)
    await estate.run("update environments set node_id = $2 where site_id = $1", site, node)
    job = (await person.session.post(f"/v1/sites/{site}/restart")).json()["data"]["id"]
    assert await estate.perform(job) == "running"
    assert await estate.events(site) == ["site.restarted", "job.succeeded"]


async def test_a_restart_does_not_open_a_site_that_no_node_carries(person: Person, estate: Estate, node: str):
    """As it is after its deployment failed: everything was undone, its place on a node too."""
    site, _ = await estate.site(account=person.id, status="failed")
    job = (await person.session.post(f"/v1/sites/{site}/restart")).json()["data"]["id"]
    status = await estate.perform(job)
    carrier = await estate.value("select node_id from environments where site_id = $1", site)
    assert (status, carrier) in (("running", node), ("failed", None))


async def test_a_deployment_that_succeeded_is_told_once(person: Person, estate: Estate, node: str):
    made = (await create(person.session)).json()["data"]
    site = made["resource"]["site_id"]
    assert await estate.perform(made["id"]) == "running"
    assert await estate.events(site) == ["site.created", "deploy.completed", "job.succeeded"]
    job = (await person.session.get(f"/v1/jobs/{made['id']}")).json()["data"]
    found = await read(person.session, site)
    assert job["result"] == {"url": f"http://{found['domain']}/", "env_id": made["resource"]["env_id"]}

"""Cancelling: by whoever may start such a job, at once while it waits, and never what has ended."""

import asyncio

import pytest

from stead.control.app import ControlPlane
from stead.shared.roles import Role
from tests import teams
from tests.client import code_of
from tests.control.jobs.conftest import NewJob
from tests.control.site_driver import read_site, request_deletion, request_site
from tests.people import Person
from tests.teams import NOT_ON_THE_WAY, found_team


async def test_it_takes_the_scope_of_the_operation_that_started_it(person: Person, new_job: NewJob):
    for scope in ("sites:write", "sites:admin", "deployments:write"):
        job = await new_job(account=person.id, scope=scope)
        key = await person.key("jobs:read", "sites:read")
        refused = await key.post(f"/v1/jobs/{job}/cancel")
        assert (refused.status_code, code_of(refused)) == (403, "scope.insufficient")
        assert scope in refused.json()["error"]["message"]
        allowed = await person.key("jobs:read", scope)
        assert (await allowed.post(f"/v1/jobs/{job}/cancel")).status_code == 202


async def test_the_scope_of_the_operation_alone_is_not_enough(person: Person, new_job: NewJob):
    job = await new_job(account=person.id)
    key = await person.key("sites:admin")
    refused = await key.post(f"/v1/jobs/{job}/cancel")
    assert (code_of(refused), "jobs:read" in refused.text) == ("scope.insufficient", True)


@pytest.mark.parametrize(
    ("role", "code"),
    [(Role.OBSERVER, "role.insufficient"), (Role.BILLING, "job.not_found"), (Role.SITE_MANAGER, "202")],
)
async def test_the_role_in_the_team_must_allow_it(
    person: Person, stranger: Person, new_job: NewJob, role: Role, code: str
):
    team = await found_team(stranger)
    job = await new_job(team=team)
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, role)
    assert code_of(await person.session.post(f"/v1/jobs/{job}/cancel")) == code
    status = (await stranger.session.get(f"/v1/jobs/{job}")).json()["data"]["status"]
    assert status == ("failed" if code == "202" else "queued")


async def test_a_job_that_waits_fails_at_once(person: Person, new_job: NewJob):
    job = await new_job(account=person.id)
    answer = await person.session.post(f"/v1/jobs/{job}/cancel")
    cancelled = answer.json()["data"]
    assert (answer.status_code, cancelled["status"], cancelled["progress"]) == (202, "failed", 1)
    error = cancelled["error"]
    assert (error["type"], error["code"]) == ("conflict", "job.cancelled")
    assert error["message"]
    assert error["doc_url"] == "http://stead.test/docs/errors/conflict/job.cancelled"
    assert set(error) <= {"type", "message", "code", "param", "doc_url"}
    assert cancelled["result"] is None
    assert (await person.session.get(f"/v1/jobs/{job}")).json()["data"] == cancelled


async def test_a_job_that_runs_is_only_asked_to_stop(person: Person, plane: ControlPlane, new_job: NewJob):
    async with plane.database.reading() as tx:
        job = await new_job(account=person.id, status="running", dispatched_at=tx.now)
    for _ in range(2):
        answer = await person.session.post(f"/v1/jobs/{job}/cancel")
        assert (answer.status_code, answer.json()["data"]["status"]) == (202, "running")
    async with plane.database.reading() as tx:
        assert await tx.value("select cancel_requested_at is not null from jobs where id = $1", job)


@pytest.mark.parametrize("status", ["succeeded", "failed"])
async def test_what_has_ended_is_not_cancelled(person: Person, new_job: NewJob, status: str):
    job = await new_job(account=person.id, status=status)
    before = (await person.session.get(f"/v1/jobs/{job}")).headers["etag"]
    refused = await person.session.post(f"/v1/jobs/{job}/cancel")
    assert (refused.status_code, code_of(refused)) == (409, "job.already_final")
    assert (await person.session.get(f"/v1/jobs/{job}")).headers["etag"] == before


async def test_of_ten_cancellations_at_once_one_ends_the_job(
    person: Person, plane: ControlPlane, new_job: NewJob
):
    job = await new_job(account=person.id)
    answers = await asyncio.gather(*(person.session.post(f"/v1/jobs/{job}/cancel") for _ in range(10)))
    assert sorted(code_of(each) for each in answers) == ["202", *["job.already_final"] * 9]
    assert await _events(plane, job) == ["job.failed", "site.restart_failed"]


async def test_a_cancelled_deployment_does_not_keep_its_site_in_the_air(person: Person, plane: ControlPlane):
    """It is as if it had failed: the site can be deleted, and its domain is free again."""
    made = (await request_site(person.session)).json()["data"]
    assert (await person.session.post(f"/v1/jobs/{made['id']}/cancel")).status_code == 202
    site = await read_site(person.session, made["resource"]["site_id"])
    assert site["status"] == "failed"
    assert site["status_reason"]
    assert (await request_deletion(person.session, site["id"], site["domain"])).status_code == 202
    assert await _events(plane, made["id"]) == ["deploy.failed", "job.failed"]


async def test_a_cancelled_deletion_leaves_the_site_as_it_was(person: Person, plane: ControlPlane):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    domain = (await read_site(person.session, site))["domain"]
    job = (await request_deletion(person.session, site, domain)).json()["data"]["id"]
    assert (await person.session.post(f"/v1/jobs/{job}/cancel")).status_code == 202
    assert (await read_site(person.session, site))["status"] == "running"


async def test_a_cancelled_recovery_leaves_the_site_deleted(person: Person, plane: ControlPlane):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, status="deleted")
    before = await read_site(person.session, site)
    job = (await person.session.post(f"/v1/sites/{site}/recover")).json()["data"]["id"]
    assert (await person.session.post(f"/v1/jobs/{job}/cancel")).status_code == 202
    assert await read_site(person.session, site) == before
    assert (await person.session.post(f"/v1/sites/{site}/recover")).status_code == 202


async def _events(plane: ControlPlane, job: str) -> list[str]:
    async with plane.database.reading() as tx:
        told = f"select type from events where job_id = $1 and {NOT_ON_THE_WAY}"
        return sorted(await tx.all(str, told, job))

"""Reading jobs: whose they are, which are asked for, and what has changed since."""

from datetime import timedelta
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.http.principal import Pin
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.control.jobs.conftest import NewJob
from tests.people import Person
from tests.teams import found_team


async def _ids(client: Client, **query: Any) -> list[str]:
    answer = await client.get("/v1/jobs", params=query)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["data"]]


async def test_the_job_of_another_tenant_does_not_exist(person: Person, stranger: Person, new_job: NewJob):
    job = await new_job(account=stranger.id)
    site = (await stranger.session.get(f"/v1/jobs/{job}")).json()["data"]["resource"]["site_id"]
    assert code_of(await person.session.get(f"/v1/jobs/{job}")) == "job.not_found"
    assert code_of(await person.session.post(f"/v1/jobs/{job}/cancel")) == "job.not_found"
    assert await _ids(person.session) == []
    assert await _ids(person.session, site_id=site) == []
    assert (await stranger.session.get(f"/v1/jobs/{job}")).json()["data"]["status"] == "queued"


@pytest.mark.parametrize("id_", ["job_x", "nonsense", "job_01k9zy3v7d00r3m8w5x2t6b4qa", "%27%20or%201=1"])
async def test_what_is_not_there_is_not_found(person: Person, id_: str):
    assert code_of(await person.session.get(f"/v1/jobs/{id_}")) == "job.not_found"
    assert code_of(await person.session.post(f"/v1/jobs/{id_}/cancel")) == "job.not_found"
    assert code_of(await person.session.get(f"/v1/jobs/{id_}/stream")) == "job.not_found"


@pytest.mark.parametrize("role", list(Role))
async def test_members_who_see_sites_see_their_jobs(
    person: Person, stranger: Person, new_job: NewJob, role: Role
):
    team = await found_team(stranger)
    job = await new_job(team=team)
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, role)
    seen = role is not Role.BILLING
    assert await _ids(person.session) == ([job] if seen else [])
    assert (await person.session.get(f"/v1/jobs/{job}")).status_code == (200 if seen else 404)


async def test_a_membership_that_has_expired_shows_nothing(person: Person, stranger: Person, new_job: NewJob):
    team = await found_team(stranger)
    job = await new_job(team=team)
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, Role.ADMIN, expires_at=tx.now)
    assert code_of(await person.session.get(f"/v1/jobs/{job}")) == "job.not_found"
    assert await _ids(person.session) == []


async def test_a_pinned_key_lists_only_jobs_within_its_pin(
    person: Person, plane: ControlPlane, new_job: NewJob
):
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        project = await teams.insert_project(tx, team=team)
        site = await teams.insert_site(tx, team=team, project=project)
        other = await teams.insert_site(tx, team=team)
        own = await teams.insert_site(tx, account=person.id)
        env = await tx.value("select id from environments where site_id = $1", site)
    of_env, of_site = await new_job(site=site, env_id=env), await new_job(site=site)
    of_team, personal = await new_job(site=other), await new_job(site=own)
    pins = {
        Pin("environment", env): [of_env],
        Pin("site", site): [of_site, of_env],
        Pin("project", project): [of_site, of_env],
        Pin("team", team): [of_team, of_site, of_env],
    }
    for pin, seen in pins.items():
        async with plane.database.transaction() as tx:
            _, secret = await teams.insert_key(tx, person.id, pin=pin)
        key = person.session.as_(secret)
        assert await _ids(key) == seen
        for job in (of_env, of_site, of_team, personal):
            expected = "200" if job in seen else "job.not_found"
            assert code_of(await key.get(f"/v1/jobs/{job}")) == expected
            if job not in seen:
                assert code_of(await key.post(f"/v1/jobs/{job}/cancel")) == "job.not_found"
    assert await _ids(person.session) == [personal, of_team, of_site, of_env]


async def test_a_test_key_sees_jobs_of_test_sites_only(person: Person, plane: ControlPlane, new_job: NewJob):
    async with plane.database.transaction() as tx:
        simulated = await teams.insert_site(tx, account=person.id, mode="test")
    real, simulated_job = await new_job(account=person.id), await new_job(site=simulated)
    live, test = await person.key(), await person.key(mode="test")
    assert (await _ids(live), await _ids(test)) == ([real], [simulated_job])
    assert code_of(await test.get(f"/v1/jobs/{real}")) == "job.not_found"
    assert code_of(await live.post(f"/v1/jobs/{simulated_job}/cancel")) == "job.not_found"
    assert await _ids(person.session) == [simulated_job, real]


async def test_a_list_is_filtered_and_newest_first(person: Person, plane: ControlPlane, new_job: NewJob):
    async with plane.database.transaction() as tx:
        one, two = [await teams.insert_site(tx, account=person.id) for _ in range(2)]
    build = {"type": "build", "id": "build_1", "site_id": one}
    a, b = await new_job(site=one), await new_job(site=two, status="running")
    c, d = (
        await new_job(site=one, status="succeeded", resource=build),
        await new_job(site=two, status="failed"),
    )
    assert await _ids(person.session) == [d, c, b, a]
    for status, job in (("queued", a), ("running", b), ("succeeded", c), ("failed", d)):
        assert await _ids(person.session, status=status) == [job]
    assert await _ids(person.session, site_id=one) == [c, a]
    assert await _ids(person.session, resource_type="build") == [c]
    assert await _ids(person.session, resource_type="site") == [d, b, a]
    assert await _ids(person.session, resource_type="site", site_id=two, status="failed") == [d]
    assert await _ids(person.session, resource_type="nothing", site_id="nonsense") == []
    refused = await person.session.get("/v1/jobs", params={"status": "cancelled"})
    assert (code_of(refused), refused.json()["error"]["param"]) == ("request.field_invalid", "status")


async def test_a_cursor_fits_only_the_filters_it_was_made_for(person: Person, new_job: NewJob):
    jobs = [await new_job(account=person.id, status="running") for _ in range(5)]
    page = (await person.session.get("/v1/jobs", params={"limit": 2, "status": "running"})).json()
    assert page["pagination"]["has_more"] is True
    cursor = page["pagination"]["next_cursor"]
    rest = await _ids(person.session, limit=100, status="running", cursor=cursor)
    assert [each["id"] for each in page["data"]] + rest == jobs[::-1]
    for query in ({}, {"status": "failed"}, {"status": "running", "site_id": "x"}, {"resource_type": "site"}):
        refused = await person.session.get("/v1/jobs", params={**query, "cursor": cursor})
        assert code_of(refused) == "request.cursor_invalid"


async def test_a_job_that_begins_during_a_walk_does_not_disturb_it(person: Person, new_job: NewJob):
    jobs = [await new_job(account=person.id) for _ in range(4)]
    page = (await person.session.get("/v1/jobs", params={"limit": 2})).json()
    await new_job(account=person.id)
    rest = await _ids(person.session, limit=100, cursor=page["pagination"]["next_cursor"])
    assert rest == jobs[1::-1]


async def test_a_job_is_not_sent_again_until_it_changes(person: Person, plane: ControlPlane, new_job: NewJob):
    job = await new_job(account=person.id)
    path, tags = f"/v1/jobs/{job}", []
    for change in ("status = 'running'", 'result = \'{"url": "x"}\'', "status = 'succeeded'", None):
        tags.append((await person.session.get(path)).headers["etag"])
        unchanged = await person.session.get(path, headers={"if-none-match": tags[-1]})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        assert unchanged.headers["etag"] == tags[-1]
        if change:
            async with plane.database.transaction() as tx:
                await tx.run(f"update jobs set {change} where id = $1", job)
            fresh = await person.session.get(path, headers={"if-none-match": tags[-1]})
            assert (fresh.status_code, fresh.headers["etag"] != tags[-1]) == (200, True)
    assert len(set(tags)) == 4
    assert all(tag.startswith('"') and tag.endswith('"') for tag in tags)


@pytest.mark.parametrize("sent", ["W/{}", '"x", {}', '{}, "x"', 'W/"x" , W/{}', '"x",{},"y"', "*"])
async def test_any_way_to_name_the_tag_is_understood(person: Person, new_job: NewJob, sent: str):
    path = f"/v1/jobs/{await new_job(account=person.id)}"
    tag = (await person.session.get(path)).headers["etag"]
    assert (await person.session.get(path, headers={"if-none-match": sent.format(tag)})).status_code == 304


@pytest.mark.parametrize(
    "sent", ["", '"x"', 'W/"x"', "{bare}", '"{bare}', '"{bare}x"', '"x", "y"', "W/", '""', "null"]
)
async def test_an_unrelated_tag_gets_the_job(person: Person, new_job: NewJob, sent: str):
    path = f"/v1/jobs/{await new_job(account=person.id)}"
    bare = (await person.session.get(path)).headers["etag"].strip('"')
    answer = await person.session.get(path, headers={"if-none-match": sent.format(bare=bare)})
    assert answer.status_code == 200


async def test_the_tag_of_a_job_says_nothing_to_who_may_not_see_it(
    person: Person, stranger: Person, new_job: NewJob
):
    path = f"/v1/jobs/{await new_job(account=stranger.id)}"
    tag = (await stranger.session.get(path)).headers["etag"]
    assert (await person.session.get(path, headers={"if-none-match": tag})).status_code == 404


def _exported(plane: ControlPlane) -> dict[str, Any]:
    expires_at = plane.database.now() + timedelta(hours=1)
    return {"download_url": "exports/exp_1", "expires_at": expires_at.isoformat(), "size_bytes": 7}


async def test_a_download_is_for_those_who_may_start_the_job(
    person: Person, plane: ControlPlane, new_job: NewJob
):
    """Monitoring that watches jobs must not get the exports of all databases."""
    result = _exported(plane)
    done = {"status": "succeeded", "scope": "db:read"}
    job = await new_job(account=person.id, result=result, **done)
    old = await new_job(
        account=person.id, result=result | {"expires_at": "2000-01-01T00:00:00+00:00"}, **done
    )
    watching, reading = await person.key("jobs:read"), await person.key("jobs:read", "db:read")
    for client in (watching, reading, person.session):
        listed = (await client.get("/v1/jobs")).json()["data"]
        assert [each["result"].keys() for each in listed] == [{"expires_at", "size_bytes"}] * 2
        assert "exports/" not in (await client.get(f"/v1/jobs/{job}/stream")).text
        assert "download_url" not in (await client.get(f"/v1/jobs/{old}")).json()["data"]["result"]
    shown = (await watching.get(f"/v1/jobs/{job}")).json()["data"]["result"]
    assert shown == {"expires_at": result["expires_at"], "size_bytes": 7}
    for client in (reading, person.session):
        shown = (await client.get(f"/v1/jobs/{job}")).json()["data"]["result"]
        assert "/exports/exp_1?" in shown["download_url"]
        assert "X-Amz-Signature=" in shown["download_url"]


async def test_an_observer_of_a_team_gets_no_download(
    person: Person, stranger: Person, plane: ControlPlane, new_job: NewJob
):
    team = await found_team(stranger)
    result = _exported(plane)
    job = await new_job(team=team, result=result, status="succeeded", scope="db:write")
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, Role.OBSERVER)
    assert "download_url" not in (await person.session.get(f"/v1/jobs/{job}")).json()["data"]["result"]
    assert "download_url" in (await stranger.session.get(f"/v1/jobs/{job}")).json()["data"]["result"]

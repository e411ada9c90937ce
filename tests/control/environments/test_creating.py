"""Creating environments: names, hosts, limits and concurrent requests."""

import asyncio
import re
from collections import Counter

import pytest

from stead.control.app import ControlPlane
from stead.control.environments import actions, rules
from stead.control.environments.rules import EnvironmentBusy, SiteNotRunning
from stead.protocol import edge_records
from stead.shared.errors import FieldInvalid
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.environments.conftest import NODE, HostedSite, create_hosted_site
from tests.people import Person

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
PREVIEW = "preview.example"


async def _subdomain(site: HostedSite, env: str) -> str:
    return str(await site.column(env, "subdomain"))


async def test_staging_is_created_on_the_node_of_production(site: HostedSite):
    job = await site.request_environment(type="staging")
    assert job.status_code == 202, job.text
    data = job.json()["data"]
    env = data["resource"]["env_id"]
    assert data["type"] == "environment.clone"
    assert data["resource"] == {"type": "environment", "id": env, "site_id": site.id, "env_id": env}
    assert (await site.read(env))["status"] == "provisioning"
    await site.driver.run_job(data["id"])
    found = await site.read(env)
    slug = await site.driver.fetch_value("select slug from sites where id = $1", site.id)
    assert found["subdomain"].startswith(f"{slug}-staging.")
    assert (found["type"], found["branch"], found["status"]) == ("staging", None, "running")
    assert await site.column(env, "node_id") == NODE
    assert await site.result_events(env) == ["env.created"]
    assert site.host_record(found["subdomain"]) == edge_records.HostRecord(env, https=False)
    assert await site.list_ids() == [env]
    result = (await site.client.get(f"/v1/jobs/{data['id']}")).json()["data"]["result"]
    assert result == {"env_id": env, "url": f"https://{found['subdomain']}/"}


async def test_a_branch_gets_its_own_environment(site: HostedSite):
    job = await site.request_branch("feature/checkout")
    assert (job.status_code, job.json()["data"]["type"]) == (202, "environment.create")
    await site.driver.run_job(job.json()["data"]["id"])
    found = await site.read(job.json()["data"]["resource"]["env_id"])
    slug = await site.driver.fetch_value("select slug from sites where id = $1", site.id)
    assert found["subdomain"].startswith(f"{slug}-feature-checkout.")
    assert (found["type"], found["branch"]) == ("branch", "feature/checkout")


async def test_the_host_of_an_environment_has_a_certificate_until_it_is_destroyed(site: HostedSite):
    env = await site.create_environment(type="staging")
    wanted = "select forgotten from certificates where host = $1"
    assert await site.driver.fetch_value(wanted, await _subdomain(site, env)) is False
    await site.complete("DELETE", f"/{env}")
    assert await site.driver.fetch_value(wanted, await _subdomain(site, env)) is True


HOSTILE = [
    *("../..", "..", "a..b", "-", "-x", "--upload-pack=touch /tmp/x", "x" * 201, "", " ", "a b", "a\tb"),
    *("a\nb", "a\0b", "refs/../x", "/x", "x/", "x//y", ".x", "x/.y", "x.lock", "x.lock/y", "x.", "@", "HEAD"),
    *("a~1", "a^", "a:b", "a?b", "a*", "a[b", "a\\b", "a@{1}", "\u202eevil", "\ud7ff\u200bx"),
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
async def test_an_invalid_branch_name_is_refused(site: HostedSite, name: str):
    refused = await site.request_branch(name)
    malformed = "\0" in name
    assert refused.status_code == 400
    assert code_of(refused) == ("request.malformed" if malformed else "request.field_invalid")
    assert malformed or refused.json()["error"]["param"] == "branch"
    assert await site.list_ids() == []


ODD = [
    "main",
    "Feature/UPPER",
    "ümläut",
    "分支",
    "x" * 200,
    "a-",
    "release/1.2.3",
    "_",
    "staging",
    "xn--a",
    "'; --"[:2],
]


@pytest.mark.parametrize("name", ODD, ids=ascii)
async def test_every_branch_name_gets_a_valid_host(site: HostedSite, name: str):
    env = await site.create_environment(type="branch", branch=name)
    found = await site.read(env)
    label = found["subdomain"].partition(".")[0]
    assert LABEL.fullmatch(label)
    assert found["branch"] == name
    assert not re.match(r"..--", label), "it would be taken for an internationalized name"


ALIKE = ["feature/x", "feature-x", "Feature/X", "feature_x", "FEATURE-X", "feature/x!"]


async def test_similar_branch_names_do_not_share_a_host(site: HostedSite):
    answers = await asyncio.gather(*(site.request_branch(name) for name in ALIKE))
    assert {code_of(each) for each in answers} == {"202"}
    hosts = [await _subdomain(site, each.json()["data"]["resource"]["env_id"]) for each in answers]
    assert len(set(hosts)) == len(ALIKE)


async def test_a_branch_named_staging_does_not_get_the_host_of_staging(site: HostedSite):
    branch, staging = (
        await site.create_environment(type="branch", branch="staging"),
        await site.create_environment(type="staging"),
    )
    slug = await site.driver.fetch_value("select slug from sites where id = $1", site.id)
    assert (await _subdomain(site, staging)).startswith(f"{slug}-staging.")
    assert await _subdomain(site, branch) != await _subdomain(site, staging)


@pytest.mark.parametrize("slug", ["a-abcd", "x" * 40 + "-abcd"], ids=len)
@pytest.mark.parametrize("branch", [*ODD, *ALIKE, "staging", "production"], ids=ascii)
def test_host_labels_are_valid_dns_labels(slug: str, branch: str):
    for label in rules.host_labels(slug, "branch", branch):
        assert LABEL.fullmatch(label)
        assert label not in (f"{slug}-staging", f"{slug}-production")


@pytest.mark.parametrize(
    "body",
    [
        {"type": "branch"},
        {"type": "branch", "branch": None},
        {"type": "staging", "branch": "main"},
        {"type": "production"},
        {"type": "preview", "branch": "main"},
        {"type": "branch", "branch": 7},
        {"type": "staging", "name": "x"},
        {"type": "staging", "copy_uploads": "yes"},
        {},
        [],
    ],
    ids=str,
)
async def test_an_invalid_body_is_refused(site: HostedSite, body: object):
    assert (await site.request("POST", body=body)).status_code == 400
    assert await site.list_ids() == []


@pytest.mark.parametrize(
    "status", ["provisioning", "stopped", "deleting", "deleted", "failed", "awaiting_push"]
)
async def test_environments_can_be_created_only_on_a_running_site(site: HostedSite, status: str):
    await site.driver.set_status(site.id, status)
    refused = await site.request_environment(type="staging")
    assert (refused.status_code, code_of(refused)) == (409, "site.not_running")


async def test_a_site_has_one_staging_environment_and_one_per_branch(site: HostedSite):
    for body in ({"type": "staging"}, {"type": "branch", "branch": "main"}):
        assert (await site.request_environment(**body)).status_code == 202
        again = await site.request_environment(**body)
        assert (again.status_code, code_of(again)) == (409, "environment.exists")
    assert len(await site.list_ids()) == 2


async def test_one_of_ten_concurrent_requests_creates_the_environment(site: HostedSite):
    for body in ({"type": "staging"}, {"type": "branch", "branch": "main"}):
        answers = await asyncio.gather(*(site.request_environment(**body) for _ in range(10)))
        assert Counter(map(code_of, answers)) == {"202": 1, "environment.exists": 9}
    assert await site.driver.fetch_value("select count(*) from jobs where site_id = $1", site.id) == 2


@pytest.mark.parametrize("mode", ["live", "test"])
async def test_concurrent_requests_cannot_exceed_the_environments_of_the_plan(
    plane: ControlPlane, new_person: NewPerson, small_plan: str, mode: str
):
    person = await new_person(plan=small_plan)
    client = await person.key(mode=mode)
    sites = [await create_hosted_site(plane, person, client) for _ in range(6)]
    for site in sites:
        await site.driver.execute("update sites set mode = $2 where id = $1", site.id, mode)
    answers = await asyncio.gather(*(site.request_environment(type="staging") for site in sites))
    assert Counter(map(code_of, answers)) == {"202": 3, "quota.environments": 3}


@pytest.mark.parametrize("mode", ["live", "test"])
async def test_concurrent_requests_cannot_exceed_the_branches_of_the_plan(
    plane: ControlPlane, new_person: NewPerson, small_plan: str, mode: str
):
    person = await new_person(plan=small_plan)
    site = await create_hosted_site(plane, person, await person.key(mode=mode))
    await site.driver.execute("update sites set mode = $2 where id = $1", site.id, mode)
    answers = await asyncio.gather(*(site.request_branch(f"b{number}") for number in range(6)))
    assert Counter(map(code_of, answers)) == {"202": 2, "quota.branches": 4}
    assert (await site.request_environment(type="staging")).status_code == 202, (
        "staging does not count as a branch"
    )


async def test_failed_environments_count_towards_the_plan_and_destroyed_ones_do_not(
    plane: ControlPlane, new_person: NewPerson, small_plan: str
):
    site = await create_hosted_site(plane, await new_person(plan=small_plan))
    first = await site.create_environment(type="branch", branch="a")
    await site.insert_environment("failed", "b", None)
    assert code_of(await site.request_branch("c")) == "quota.branches"
    await site.complete("DELETE", f"/{first}")
    assert (await site.request_branch("c")).status_code == 202


async def test_a_transfer_requires_room_for_the_environments(
    plane: ControlPlane, new_person: NewPerson, small_plan: str
):
    person = await new_person(plan=small_plan)
    team = (await person.session.post("/v1/teams", json={"name": "Full"})).json()["data"]["team_id"]
    sites = [await create_hosted_site(plane, person) for _ in range(2)]
    for site in sites:
        for branch in ("a", "b"):
            await site.insert_environment(branch=branch)
    moved = [
        await person.session.post(f"/v1/sites/{h.id}/transfer", json={"to_team_id": team}) for h in sites
    ]
    assert [code_of(each) for each in moved] == ["200", "quota.environments"]


async def test_a_plan_reports_the_number_of_environments_in_use(plane: ControlPlane, person: Person):
    team = (await person.session.post("/v1/teams", json={"name": "A"})).json()["data"]["team_id"]
    site = await create_hosted_site(plane, person)
    await site.driver.execute("update sites set account_id = null, team_id = $2 where id = $1", site.id, team)
    await site.insert_environment()
    await site.insert_environment("deleted", "gone")
    found = (await person.session.get(f"/v1/teams/{team}/plan")).json()["data"]
    assert found["usage"]["environments"] == 1


async def test_an_environment_is_placed_on_another_node_if_that_of_production_is_full(
    site: HostedSite, other_node: str
):
    await site.driver.execute("update nodes set capacity = 0 where id = $1", NODE)
    try:
        env = await site.create_environment(type="staging")
        assert await site.column(env, "node_id") == other_node
    finally:
        await site.driver.execute("update nodes set capacity = 100000 where id = $1", NODE)


async def test_an_environment_whose_creation_failed_has_a_reason_and_no_host(site: HostedSite):
    job = await site.request_branch("main")
    await site.driver.undo_job(job.json()["data"]["id"])
    env = job.json()["data"]["resource"]["env_id"]
    found = await site.read(env)
    assert (found["status"], found["status_reason"]) == ("failed", "It did not answer.")
    assert site.host_record(found["subdomain"]) is None
    assert await site.result_events(env) == ["env.failed"]
    assert code_of(await site.request_branch("main")) == "environment.exists"
    await site.complete("DELETE", f"/{env}")
    assert (await site.request_branch("main")).status_code == 202


async def _push(site: HostedSite, branch: str) -> tuple[str, object]:
    async with site.driver.plane.database.transaction() as tx:
        return await actions.create_for_branch(tx, site.id, branch, preview_domain=PREVIEW)


async def test_concurrent_pushes_create_the_environment_of_the_branch_once(site: HostedSite):
    found = await asyncio.gather(*(_push(site, "main") for _ in range(5)))
    assert len({env for env, _ in found}) == 1
    assert [job is not None for _, job in found].count(True) == 1


async def test_a_push_creates_a_failed_environment_again(site: HostedSite):
    env = await site.insert_environment("failed", "main", None)
    assert (await _push(site, "main"))[0] == env
    assert (await site.read(env))["status"] == "provisioning"


async def test_a_push_is_refused_like_a_request(site: HostedSite):
    with pytest.raises(FieldInvalid):
        await _push(site, "../..")
    await site.insert_environment("deleting", "main")
    with pytest.raises(EnvironmentBusy):
        await _push(site, "main")
    await site.driver.set_status(site.id, "deleted")
    with pytest.raises(SiteNotRunning):
        await _push(site, "other")


async def test_an_environment_of_a_test_site_is_not_announced(plane: ControlPlane, person: Person):
    site = await create_hosted_site(plane, person, await person.key(mode="test"))
    await site.driver.execute("update sites set mode = 'test' where id = $1", site.id)
    env = await site.create_environment(type="staging")
    assert (await site.read(env))["status"] == "running"
    assert site.driver.announced == {}

"""Creating environments: what they are called, how many there may be, and what a race does not change."""

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
from tests.control.environments.conftest import NODE, Homestead, homestead
from tests.people import Person

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
PREVIEW = "preview.example"


async def _subdomain(home: Homestead, env: str) -> str:
    return str(await home.row(env, "subdomain"))


async def test_staging_is_a_clone_beside_production(home: Homestead):
    job = await home.create(type="staging")
    assert job.status_code == 202, job.text
    said = job.json()["data"]
    env = said["resource"]["env_id"]
    assert said["type"] == "environment.clone"
    assert said["resource"] == {"type": "environment", "id": env, "site_id": home.id, "env_id": env}
    assert (await home.read(env))["status"] == "provisioning"
    await home.estate.perform(said["id"])
    found = await home.read(env)
    slug = await home.estate.value("select slug from sites where id = $1", home.id)
    assert found["subdomain"].startswith(f"{slug}-staging.")
    assert (found["type"], found["branch"], found["status"]) == ("staging", None, "running")
    assert await home.row(env, "node_id") == NODE
    assert await home.told(env) == ["env.created"]
    assert home.host(found["subdomain"]) == edge_records.HostRecord(env, https=False)
    assert await home.listed() == [env]
    result = (await home.client.get(f"/v1/jobs/{said['id']}")).json()["data"]["result"]
    assert result == {"env_id": env, "url": f"http://{found['subdomain']}/"}


async def test_a_branch_has_an_environment_of_its_own(home: Homestead):
    job = await home.branch("feature/checkout")
    assert (job.status_code, job.json()["data"]["type"]) == (202, "environment.create")
    await home.estate.perform(job.json()["data"]["id"])
    found = await home.read(job.json()["data"]["resource"]["env_id"])
    slug = await home.estate.value("select slug from sites where id = $1", home.id)
    assert found["subdomain"].startswith(f"{slug}-feature-checkout.")
    assert (found["type"], found["branch"]) == ("branch", "feature/checkout")


async def test_a_certificate_is_wanted_for_its_host_until_it_is_destroyed(home: Homestead):
    env = await home.made(type="staging")
    wanted = "select forgotten from certificates where host = $1"
    assert await home.estate.value(wanted, await _subdomain(home, env)) is False
    await home.done("DELETE", f"/{env}")
    assert await home.estate.value(wanted, await _subdomain(home, env)) is True


HOSTILE = [
    *("../..", "..", "a..b", "-", "-x", "--upload-pack=touch /tmp/x", "x" * 201, "", " ", "a b", "a\tb"),
    *("a\nb", "a\0b", "refs/../x", "/x", "x/", "x//y", ".x", "x/.y", "x.lock", "x.lock/y", "x.", "@", "HEAD"),
    *("a~1", "a^", "a:b", "a?b", "a*", "a[b", "a\\b", "a@{1}", "\u202eevil", "\ud7ff\u200bx"),
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
async def test_what_no_branch_can_be_called_is_refused(home: Homestead, name: str):
    refused = await home.branch(name)
    malformed = "\0" in name
    assert refused.status_code == 400
    assert code_of(refused) == ("request.malformed" if malformed else "request.field_invalid")
    assert malformed or refused.json()["error"]["param"] == "branch"
    assert await home.listed() == []


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
async def test_whatever_a_branch_is_called_its_host_is_one(home: Homestead, name: str):
    env = await home.made(type="branch", branch=name)
    found = await home.read(env)
    label = found["subdomain"].partition(".")[0]
    assert LABEL.fullmatch(label)
    assert found["branch"] == name
    assert not re.match(r"..--", label), "which would be taken for an international name"


ALIKE = ["feature/x", "feature-x", "Feature/X", "feature_x", "FEATURE-X", "feature/x!"]


async def test_branches_that_look_alike_do_not_share_a_host(home: Homestead):
    answers = await asyncio.gather(*(home.branch(name) for name in ALIKE))
    assert {code_of(each) for each in answers} == {"202"}
    hosts = [await _subdomain(home, each.json()["data"]["resource"]["env_id"]) for each in answers]
    assert len(set(hosts)) == len(ALIKE)


async def test_a_branch_called_staging_does_not_take_the_host_of_staging(home: Homestead):
    branch, staging = await home.made(type="branch", branch="staging"), await home.made(type="staging")
    slug = await home.estate.value("select slug from sites where id = $1", home.id)
    assert (await _subdomain(home, staging)).startswith(f"{slug}-staging.")
    assert await _subdomain(home, branch) != await _subdomain(home, staging)


@pytest.mark.parametrize("slug", ["a-abcd", "x" * 40 + "-abcd"], ids=len)
@pytest.mark.parametrize("branch", [*ODD, *ALIKE, "staging", "production"], ids=ascii)
def test_labels_fit_into_dns(slug: str, branch: str):
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
async def test_a_body_that_makes_no_sense_is_refused(home: Homestead, body: object):
    assert (await home.ask("POST", body=body)).status_code == 400
    assert await home.listed() == []


@pytest.mark.parametrize(
    "status", ["provisioning", "stopped", "deleting", "deleted", "failed", "awaiting_push"]
)
async def test_only_a_running_site_gets_environments(home: Homestead, status: str):
    await home.estate.become(home.id, status)
    refused = await home.create(type="staging")
    assert (refused.status_code, code_of(refused)) == (409, "site.not_running")


async def test_there_is_one_staging_and_one_for_each_branch(home: Homestead):
    for body in ({"type": "staging"}, {"type": "branch", "branch": "main"}):
        assert (await home.create(**body)).status_code == 202
        again = await home.create(**body)
        assert (again.status_code, code_of(again)) == (409, "environment.exists")
    assert len(await home.listed()) == 2


async def test_of_ten_who_want_the_same_at_once_one_gets_it(home: Homestead):
    for body in ({"type": "staging"}, {"type": "branch", "branch": "main"}):
        answers = await asyncio.gather(*(home.create(**body) for _ in range(10)))
        assert Counter(map(code_of, answers)) == {"202": 1, "environment.exists": 9}
    assert await home.estate.value("select count(*) from jobs where site_id = $1", home.id) == 2


@pytest.mark.parametrize("mode", ["live", "test"])
async def test_of_many_at_the_limit_of_the_plan_exactly_as_many_get_one(
    plane: ControlPlane, new_person: NewPerson, cramped: str, mode: str
):
    person = await new_person(plan=cramped)
    client = await person.key(mode=mode)
    homes = [await homestead(plane, person, client) for _ in range(6)]
    for home in homes:
        await home.estate.run("update sites set mode = $2 where id = $1", home.id, mode)
    answers = await asyncio.gather(*(home.create(type="staging") for home in homes))
    assert Counter(map(code_of, answers)) == {"202": 3, "quota.environments": 3}


@pytest.mark.parametrize("mode", ["live", "test"])
async def test_of_many_at_the_limit_of_branches_exactly_as_many_get_one(
    plane: ControlPlane, new_person: NewPerson, cramped: str, mode: str
):
    person = await new_person(plan=cramped)
    home = await homestead(plane, person, await person.key(mode=mode))
    await home.estate.run("update sites set mode = $2 where id = $1", home.id, mode)
    answers = await asyncio.gather(*(home.branch(f"b{number}") for number in range(6)))
    assert Counter(map(code_of, answers)) == {"202": 2, "quota.branches": 4}
    assert (await home.create(type="staging")).status_code == 202, "which is no branch"


async def test_what_is_destroyed_makes_room_and_what_failed_does_not(
    plane: ControlPlane, new_person: NewPerson, cramped: str
):
    home = await homestead(plane, await new_person(plan=cramped))
    first = await home.made(type="branch", branch="a")
    await home.clone("failed", "b", None)
    assert code_of(await home.branch("c")) == "quota.branches"
    await home.done("DELETE", f"/{first}")
    assert (await home.branch("c")).status_code == 202


async def test_a_site_is_not_transferred_to_whoever_has_no_room_for_its_environments(
    plane: ControlPlane, new_person: NewPerson, cramped: str
):
    person = await new_person(plan=cramped)
    team = (await person.session.post("/v1/teams", json={"name": "Full"})).json()["data"]["team_id"]
    homes = [await homestead(plane, person) for _ in range(2)]
    for home in homes:
        for branch in ("a", "b"):
            await home.clone(branch=branch)
    moved = [
        await person.session.post(f"/v1/sites/{h.id}/transfer", json={"to_team_id": team}) for h in homes
    ]
    assert [code_of(each) for each in moved] == ["200", "quota.environments"]


async def test_a_plan_tells_how_many_environments_are_in_use(plane: ControlPlane, person: Person):
    team = (await person.session.post("/v1/teams", json={"name": "A"})).json()["data"]["team_id"]
    home = await homestead(plane, person)
    await home.estate.run("update sites set account_id = null, team_id = $2 where id = $1", home.id, team)
    await home.clone()
    await home.clone("deleted", "gone")
    found = (await person.session.get(f"/v1/teams/{team}/plan")).json()["data"]
    assert found["usage"]["environments"] == 1


async def test_a_full_node_sends_a_clone_elsewhere(home: Homestead):
    try:
        await home.estate.run("update nodes set capacity = 0 where id = $1", NODE)
        await home.estate.run(
            "insert into nodes (id, region, capacity, version, last_seen_at, created_at)"
            " select 'node-2', region, 1000, version, last_seen_at, created_at from nodes where id = $1"
            " on conflict (id) do update set capacity = 1000, last_seen_at = excluded.last_seen_at",
            NODE,
        )
        env = await home.made(type="staging")
        assert await home.row(env, "node_id") == "node-2"
    finally:
        await home.estate.run("update nodes set capacity = 100000 where id = $1", NODE)
        await home.estate.run("update nodes set capacity = 0 where id = 'node-2'")


async def test_one_that_could_not_be_made_says_why_and_is_nowhere(home: Homestead):
    job = await home.branch("main")
    await home.estate.undo(job.json()["data"]["id"])
    env = job.json()["data"]["resource"]["env_id"]
    found = await home.read(env)
    assert (found["status"], found["status_reason"]) == ("failed", "It did not answer.")
    assert home.host(found["subdomain"]) is None
    assert await home.told(env) == ["env.failed"]
    assert code_of(await home.branch("main")) == "environment.exists"
    await home.done("DELETE", f"/{env}")
    assert (await home.branch("main")).status_code == 202


async def _push(home: Homestead, branch: str) -> tuple[str, object]:
    async with home.estate.plane.database.transaction() as tx:
        return await actions.create_for_branch(tx, home.id, branch, preview_domain=PREVIEW)


async def test_a_push_makes_the_environment_of_its_branch_once(home: Homestead):
    found = await asyncio.gather(*(_push(home, "main") for _ in range(5)))
    assert len({env for env, _ in found}) == 1
    assert [job is not None for _, job in found].count(True) == 1


async def test_a_push_tries_again_what_could_not_be_made(home: Homestead):
    env = await home.clone("failed", "main", None)
    assert (await _push(home, "main"))[0] == env
    assert (await home.read(env))["status"] == "provisioning"


async def test_a_push_is_refused_like_a_caller(home: Homestead):
    with pytest.raises(FieldInvalid):
        await _push(home, "../..")
    await home.clone("deleting", "main")
    with pytest.raises(EnvironmentBusy):
        await _push(home, "main")
    await home.estate.become(home.id, "deleted")
    with pytest.raises(SiteNotRunning):
        await _push(home, "other")


async def test_a_clone_of_a_test_site_is_announced_to_nobody(plane: ControlPlane, person: Person):
    home = await homestead(plane, person, await person.key(mode="test"))
    await home.estate.run("update sites set mode = 'test' where id = $1", home.id)
    env = await home.made(type="staging")
    assert (await home.read(env))["status"] == "running"
    assert home.estate.announced == {}

"""Creating a site: validation, defaults, limits and the response."""

import asyncio
import dataclasses
import re
from datetime import datetime
from typing import Any

import pytest

from stead.control.accounts.service import owner_principal
from stead.control.app import ControlPlane
from stead.control.http.client_address import parse_networks
from stead.control.sealing import Sealer
from stead.control.sites import service as sites
from stead.control.sites.schema import NewSite
from stead.shared.errors import FieldInvalid
from tests import teams
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.site_driver import SiteDriver, create_site, new_domain, read_site, request_site
from tests.people import Person

GIT = "https://git.example.com/site.git"
HOSTILE_GIT = [
    *(
        "file:///etc/passwd",
        "ext::sh -c id",
        "ext::id",
        "/etc/passwd",
        "../../other",
        "git://h/x",
        "http://h/x",
    ),
    *("--upload-pack=id", "-oProxyCommand=id", "ssh://-oProxyCommand=id/x", "git@-oProxyCommand=id:x"),
    *(
        "https://-h/x",
        "https://h/x --upload-pack=id",
        "https://u:p@h.example/x",
        "https://localhost/x",
        "git@h.example:../x",
        "https://h/x\n",
        "https://h/\nx",
        "https://h/x\t",
        " https://h/x",
    ),
    *(
        "https://h/\x1b[31m",
        "HTTPS://h/x\u2028",
        "https://hö/x",
        "https://h.example:6379/x",
        "ssh://git@h.example:2222/x.git",
        "https://",
        "ssh://",
        "git@",
        "",
        "a" * 1_001,
    ),
]
HOSTILE_BRANCHES = [
    "-x",
    "--help",
    "a b",
    "a\n",
    "a:b",
    "a~1",
    "a^",
    "a?",
    "a..b",
    "a.lock",
    "a//b",
    "a/",
    "",
    "/a",
    ".a",
    "a\\b",
    "ä",
    "a" * 201,
]


async def test_the_response_is_a_job_at_its_location(person: Person):
    domain = new_domain()
    made = await request_site(person.session, domain)
    job = made.json()["data"]
    site = job["resource"]["site_id"]
    assert (made.status_code, made.headers["location"]) == (202, f"/v1/jobs/{job['id']}")
    env = job["resource"]["env_id"]
    assert env.startswith("env_")
    assert job == {
        "id": job["id"],
        "type": "deployment.deploy",
        "status": "queued",
        "progress": 0,
        "created_at": job["created_at"],
        "resource": {"type": "deployment", "id": site, "site_id": site, "env_id": env},
        "result": None,
        "error": None,
        "links": {"self": f"/v1/jobs/{job['id']}", "stream": f"/v1/jobs/{job['id']}/stream"},
    }
    assert datetime.fromisoformat(job["created_at"]).microsecond % 1000 == 0
    assert (await person.session.get(made.headers["location"])).json()["data"] == job


async def test_a_new_site_has_the_requested_values(person: Person, other_region: str):
    domain = new_domain()
    site = await create_site(person.session, domain, region=other_region)
    assert re.fullmatch(r"site_[0-9a-z]{26}", site["id"])
    assert site == {
        "id": site["id"],
        "slug": site["slug"],
        "domain": domain,
        "profile": "static",
        "runtime": "static",
        "php_version": None,
        "region": "eu-west",
        "git_repo": None,
        "git_branch": None,
        "team_id": None,
        "project_id": None,
        "status": "provisioning",
        "status_reason": None,
        "recoverable_until": None,
        "created_at": site["created_at"],
        "challenge": None,
    }


@pytest.mark.parametrize(
    ("body", "runtime", "php"),
    [
        ({"profile": "vanilla"}, "cms", "8.3"),
        ({"profile": "vanilla", "php_version": None}, "cms", "8.3"),
        *(({"profile": "vanilla", "php_version": php}, "cms", php) for php in ("8.2", "8.3", "8.4", "8.5")),
        ({"profile": "git_managed", "git_repo": GIT}, "cms", "8.3"),
        ({"profile": "static"}, "static", None),
        ({"profile": "wasm"}, "wasm", None),
    ],
    ids=str,
)
async def test_the_profile_determines_the_runtime_and_the_php_version(
    person: Person, body: dict[str, Any], runtime: str, php: str | None
):
    site = await create_site(person.session, **body)
    assert (site["runtime"], site["php_version"], site["region"]) == (runtime, php, "us-east")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"profile": "static", "php_version": "8.3"}, "php_version"),
        ({"profile": "wasm", "php_version": "8.3"}, "php_version"),
        ({"profile": "vanilla", "php_version": "8.1"}, "php_version"),
        ({"profile": "vanilla", "php_version": 8.3}, "php_version"),
        ({"profile": "vanilla", "php_version": "8.3\n"}, "php_version"),
        ({"profile": "git_managed"}, "git_repo"),
        ({"profile": "git_managed", "git_repo": None}, "git_repo"),
        ({"profile": "drupal"}, "profile"),
        ({"profile": None}, "profile"),
        *(
            ({"region": region}, "region")
            for region in ("", "US-EAST", "-a", "us east", "us-east\n", "a" * 42, "ü")
        ),
        *(({"profile": "git_managed", "git_repo": url}, "git_repo") for url in HOSTILE_GIT),
        *(
            ({"profile": "git_managed", "git_repo": GIT, "git_branch": branch}, "git_branch")
            for branch in HOSTILE_BRANCHES
        ),
        ({"status": "running"}, "status"),
        ({"mode": "test"}, "mode"),
        ({"id": "site_01k9zy3v7d00r3m8w5x2t6b4qa"}, "id"),
    ],
    ids=ascii,
)
async def test_an_invalid_value_is_refused_naming_the_field(
    person: Person, driver: SiteDriver, body: dict[str, Any], param: str
):
    refused = await request_site(person.session, **body)
    assert (code_of(refused), refused.json()["error"]["param"]) == ("request.field_invalid", param)
    assert await driver.fetch_value("select count(*) from sites where account_id = $1", person.id) == 0


@pytest.mark.parametrize("form", ["https://{}/x.git", "ssh://git@{}/x.git", "https://{}:443/x"])
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.0.0.7", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"),
        *("[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:10.0.0.7]", "[64:ff9b::a00:7]", "git.localhost"),
    ],
)
async def test_a_repository_at_an_address_that_is_not_public_is_refused(person: Person, form: str, host: str):
    refused = await request_site(person.session, profile="static", git_repo=form.format(host))
    assert (code_of(refused), refused.json()["error"]["param"]) == ("request.field_invalid", "git_repo")


async def test_a_repository_in_a_network_that_the_operator_allows_is_accepted(
    plane: ControlPlane, person: Person
):
    async def create(url: str) -> str | None:
        new = NewSite(domain=new_domain(), profile="static", git_repo=url)
        async with plane.database.transaction() as tx:
            networks = parse_networks(["10.1.0.0/16"])
            context = dataclasses.replace(plane.context, git_ports=frozenset(), git_networks=networks)
            sealer = Sealer.from_text(plane.settings.sealing_key)
            site, _ = await sites.create(tx, owner_principal(person.account), new, context, sealer)
        return site.git_repo

    assert await create("https://10.1.2.3/x.git") == "https://10.1.2.3/x.git"
    with pytest.raises(FieldInvalid):
        await create("https://10.2.0.1/x.git")


@pytest.mark.parametrize("url", [GIT, "ssh://git@h.example:22/x.git", "git@h.example:o/x.git"])
async def test_https_and_ssh_repositories_are_stored_unchanged(person: Person, url: str):
    site = await create_site(person.session, profile="git_managed", git_repo=url)
    assert (site["git_repo"], site["git_branch"]) == (url, "main")
    named = await create_site(person.session, profile="git_managed", git_repo=url, git_branch="release/2.x")
    assert named["git_branch"] == "release/2.x"


@pytest.mark.parametrize(
    ("version", "asked", "given"),
    [
        ("2026-06-23", "8.1", "8.2"),
        ("2026-07-02", "8.1", "8.2"),
        ("2026-07-02", "8.4", "8.4"),
        ("2026-07-04", "8.1", None),
        ("2026-07-05", "8.1", None),
    ],
)
async def test_older_api_versions_replace_php_81_with_the_oldest_supported_version(
    person: Person, version: str, asked: str, given: str | None
):
    headers = {"api-version": version}
    made = await request_site(person.session, profile="vanilla", php_version=asked, headers=headers)
    if given is None:
        assert (code_of(made), made.json()["error"]["param"]) == ("request.field_invalid", "php_version")
        return
    assert made.headers["deprecation"]
    assert (await read_site(person.session, made.json()["data"]["resource"]["site_id"]))[
        "php_version"
    ] == given


async def test_deleted_wordpress_sites_do_not_fill_the_disks_of_nodes(
    new_person: NewPerson, driver: SiteDriver, node: str, one_site_plan: str
):
    """Until they cannot be recovered any more, they keep the disk space that was promised to them."""
    person, other = await new_person(plan=one_site_plan), await new_person(plan=one_site_plan)
    for number in range(12):
        site, _ = await driver.insert_site("deleted", account=person.id)
        await driver.execute("update sites set runtime = 'cms', profile = 'vanilla' where id = $1", site)
        await driver.execute("update environments set node_id = $2 where site_id = $1", site, node)
        if number == 10:
            later = await request_site(person.session, profile="vanilla")
            assert code_of(later) == "202"
            await driver.execute(
                "update sites set status = 'deleted' where id = $1",
                later.json()["data"]["resource"]["site_id"],
            )
    refused = await request_site(person.session, profile="vanilla")
    assert (refused.status_code, code_of(refused)) == (429, "quota.deleted_sites")
    # One that was removed from its node does not count, nor do other kinds of sites and other owners.
    assert code_of(await request_site(other.session, profile="vanilla")) == "202"
    await driver.execute("update environments set node_id = null where site_id = $1", site)
    assert code_of(await request_site(person.session, profile="vanilla")) == "202"


async def test_one_of_ten_concurrent_requests_gets_the_last_site_of_a_plan(
    new_person: NewPerson, driver: SiteDriver, one_site_plan: str
):
    person = await new_person(plan=one_site_plan)
    codes = sorted(
        code_of(each) for each in await asyncio.gather(*(request_site(person.session) for _ in range(10)))
    )
    assert codes == ["202", *["quota.sites"] * 9]
    for what in ("sites where", "events where type = 'site.created' and"):
        assert await driver.fetch_value(f"select count(*) from {what} account_id = $1", person.id) == 1


async def test_at_most_a_hundred_jobs_can_be_queued(person: Person, driver: SiteDriver):
    site, _ = await driver.insert_site(account=person.id)
    async with person.transaction() as tx:
        for _ in range(99):
            await teams.insert_job(tx, site, person.id)
    assert (await request_site(person.session)).status_code == 202
    domain = new_domain()
    refused = await request_site(person.session, domain)
    assert (refused.status_code, code_of(refused)) == (429, "quota.jobs")
    assert refused.json()["error"]["type"] == "quota_exceeded"
    assert await driver.fetch_value("select count(*) from sites where domain = $1", domain) == 0
    sql = "select count(*) from events where data ->> 'domain' = $1"
    assert await driver.fetch_value(sql, domain) == 0
    other = await person.session.post(f"/v1/sites/{site}/restart")
    assert code_of(other) == "quota.jobs"
    await driver.execute("update jobs set status = 'running' where site_id = $1", site)
    assert (await request_site(person.session, domain)).status_code == 202


async def test_concurrent_requests_cannot_queue_more_than_a_hundred_jobs(person: Person, driver: SiteDriver):
    sites = [(await driver.insert_site(account=person.id))[0] for _ in range(12)]
    async with person.transaction() as tx:
        for _ in range(96):
            await teams.insert_job(tx, sites[0], person.id)
    answers = await asyncio.gather(*(person.session.post(f"/v1/sites/{each}/restart") for each in sites))
    assert sorted(code_of(each) for each in answers) == [*["202"] * 4, *["quota.jobs"] * 8]


async def test_a_repeated_creation_is_replayed_and_published_once(person: Person, driver: SiteDriver):
    domain, headers = new_domain(), {"idempotency-key": new_domain()}
    made = await request_site(person.session, domain, headers=headers)
    again = await request_site(person.session, domain, headers=headers)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json() == made.json()
    assert again.headers["location"] == made.headers["location"]
    site = made.json()["data"]["resource"]["site_id"]
    assert await driver.event_types(site) == ["site.created"]
    assert await driver.fetch_value("select count(*) from jobs where site_id = $1", site) == 1

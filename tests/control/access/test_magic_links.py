"""Sign-in links: who gets one, where it leads, and who can spend it."""

import asyncio
from datetime import timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from stead.control.access import magic_links
from stead.control.access.rules import LIFETIME, LINKS_PER_MINUTE, require_path
from stead.control.app import ControlPlane
from stead.protocol.sign_ins import SignIn, SignInRequest
from stead.shared.clock import MovableClock
from stead.shared.errors import FieldInvalid
from stead.shared.ids import new_id
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.control.conftest import Pin
from tests.control.exec.samples import insert_wordpress_site
from tests.control.site_driver import SiteDriver
from tests.people import Person

NODE = "node-1"


async def make_site(person: Person, *, team: str | None = None) -> tuple[str, str]:
    """A WordPress site on a node, and its production."""
    site = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        if team is not None:
            await tx.run("update sites set account_id = null, team_id = $2 where id = $1", site, team)
        await tx.run("update environments set node_id = $2 where site_id = $1", site, NODE)
        return site, await teams.environment_of(tx, site)


async def create(client: Client, site: str, **wanted: Any) -> dict[str, Any]:
    response = await client.post(f"/v1/sites/{site}/magic-link", json=wanted)
    assert response.status_code == 200, response.text
    return dict(response.json()["data"])


def use(link: dict[str, Any], environment: str, **other: Any) -> SignInRequest:
    """What the node asks when the link is used."""
    parts = urlsplit(link["url"])
    hash_ = sha256(parts.fragment.encode()).digest()
    return replace(SignInRequest(NODE, "q1", environment, parts.hostname or "", hash_), **other)


async def redeem(plane: ControlPlane, wanted: SignInRequest) -> SignIn:
    async with plane.database.transaction() as tx:
        return await magic_links.redeem(tx, wanted)


async def test_a_link_signs_in_once_and_both_times_are_in_the_audit_trail(
    person: Person, plane: ControlPlane
):
    site, environment = await make_site(person)
    link = await create(person.session, site, user="editor", redirect_to="/wp-admin/edit.php?post_type=page")
    url = urlsplit(link["url"])
    assert (url.scheme, url.path, url.query) == ("https", "/wp-login.php", "action=stead-sign-in")
    assert url.hostname == f"{site.replace('_', '-')}.example.com"
    assert len(url.fragment) == 43
    async with person.transaction() as tx:
        stored = await tx.value(
            "select magic_links::text from magic_links where environment_id = $1", environment
        )
    assert url.fragment not in stored
    wanted = use(link, environment)
    assert await redeem(plane, wanted) == SignIn("editor", "/wp-admin/edit.php?post_type=page")
    assert await redeem(plane, wanted) == SignIn()
    audit = (await person.session.get(f"/v1/sites/{site}/audit")).json()["data"]
    entries = [(each["event"], each["outcome"], each["meta"].get("user")) for each in audit]
    assert entries == [
        ("site_magic_link_redeem", "success", "editor"),
        ("site_magic_link", "success", "editor"),
    ]
    assert {each["actor_user_id"] for each in audit} == {person.id}
    assert url.fragment not in str(audit)


async def test_of_many_requests_at_the_same_time_one_signs_in(person: Person, plane: ControlPlane):
    site, environment = await make_site(person)
    wanted = use(await create(person.session, site), environment)
    answers = await asyncio.gather(*(redeem(plane, wanted) for _ in range(8)))
    assert sorted(answer.user for answer in answers) == [""] * 7 + ["admin"]


async def test_only_the_right_environment_host_and_node_spend_a_link(
    person: Person, stranger: Person, plane: ControlPlane, clock: MovableClock
):
    site, environment = await make_site(person)
    _, foreign = await make_site(stranger)
    async with person.transaction() as tx:
        staging = await teams.insert_environment(tx, site, node=NODE)
    link = await create(person.session, site)
    wanted = use(link, environment)
    for attempt in (
        replace(wanted, environment=staging),
        replace(wanted, environment=foreign),
        replace(wanted, environment=new_id("env")),
        replace(wanted, host="other.example.com"),
        replace(wanted, host=""),
        replace(wanted, node="node-2"),
        replace(wanted, token_hash=bytes(32)),
        replace(wanted, token_hash=urlsplit(link["url"]).fragment.encode()[:32]),
        *(replace(wanted, token_hash=sha256(bytes([guess])).digest()) for guess in range(50)),
    ):
        assert await redeem(plane, attempt) == SignIn(), attempt
    # None of these attempts has spent it.
    clock.move(LIFETIME - timedelta(seconds=5))
    assert (await redeem(plane, wanted)).user == "admin"


async def test_a_link_ends_after_a_minute(person: Person, plane: ControlPlane, clock: MovableClock):
    site, environment = await make_site(person)
    wanted = use(await create(person.session, site), environment)
    clock.move(LIFETIME)
    assert await redeem(plane, wanted) == SignIn()
    clock.move(timedelta(seconds=1))
    async with person.transaction() as tx:
        await magic_links.remove_expired(tx)
        assert not await tx.value("select count(*) from magic_links where environment_id = $1", environment)


@pytest.mark.parametrize(
    "change",
    [
        "update environments set status = 'suspended' where id = $2",
        "update environments set node_id = null where id = $2",
        "update sites set status = 'deleting' where id = $1",
    ],
)
async def test_a_link_ends_when_its_environment_is_not_served_there(
    person: Person, plane: ControlPlane, change: str
):
    site, environment = await make_site(person)
    wanted = use(await create(person.session, site), environment)
    async with person.transaction() as tx:
        await tx.run(change.replace("$2", "$1"), environment if "$2" in change else site)
    assert await redeem(plane, wanted) == SignIn()


async def test_a_link_ends_with_the_permission_of_its_creator(
    person: Person, stranger: Person, plane: ControlPlane
):
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, person.id)
        await teams.insert_member(tx, team, stranger.id, Role.SITE_MANAGER)
    site, environment = await make_site(person, team=team)
    key = await stranger.key("credentials:write")
    for statement, subject in (
        ("update team_members set role = 'observer' where account_id = $1", stranger.id),
        ("update team_members set role = 'site_manager', expires_at = now() - interval '1 day'"
         " where account_id = $1", stranger.id),
        ("delete from team_members where account_id = $1", stranger.id),
    ):  # fmt: skip
        async with person.transaction() as tx:
            await tx.run("delete from team_members where account_id = $1", stranger.id)
            await teams.insert_member(tx, team, stranger.id, Role.SITE_MANAGER)
        wanted = use(await create(key, site), environment)
        async with person.transaction() as tx:
            await tx.run(statement, subject)
        assert await redeem(plane, wanted) == SignIn(), statement
    mine = await person.key("credentials:write")
    for statement in (
        "update api_keys set scopes = '{sites:read}' where account_id = $1",
        "update api_keys set scopes = '{credentials:write}', revoked_at = now() where account_id = $1",
    ):
        wanted = use(await create(mine, site), environment)
        async with person.transaction() as tx:
            await tx.run(statement, person.id)
        assert await redeem(plane, wanted) == SignIn(), statement
        async with person.transaction() as tx:
            await tx.run(
                "update api_keys set scopes = '{credentials:write}', revoked_at = null where account_id = $1",
                person.id,
            )


async def test_a_link_of_staging_is_for_its_host_and_not_for_production(
    person: Person, plane: ControlPlane, pinned: Pin
):
    site, environment = await make_site(person)
    async with person.transaction() as tx:
        staging = await teams.insert_environment(tx, site, node=NODE)
    key = await pinned(person, ("site", site), "credentials:write")
    link = await create(key, site, environment=staging)
    assert urlsplit(link["url"]).hostname == f"{staging.replace('_', '-')}.preview.example"
    assert await redeem(plane, use(link, environment)) == SignIn()
    assert (await redeem(plane, use(link, staging))).user == "admin"


async def test_an_environment_gets_few_links_in_a_minute(
    person: Person, plane: ControlPlane, clock: MovableClock
):
    site, environment = await make_site(person)
    links = [await create(person.session, site) for _ in range(LINKS_PER_MINUTE)]
    refused = await person.session.post(f"/v1/sites/{site}/magic-link", json={})
    assert (refused.status_code, code_of(refused)) == (429, "rate_limit.magic_links")
    assert refused.headers["retry-after"] == "60"
    # The earlier ones are still valid.
    assert (await redeem(plane, use(links[0], environment))).user == "admin"
    clock.move(LIFETIME)
    await create(person.session, site)


@pytest.mark.parametrize("status", ["suspended", "provisioning", "failed"])
async def test_an_environment_that_does_not_run_gets_no_link(person: Person, status: str):
    site, environment = await make_site(person)
    async with person.transaction() as tx:
        await tx.run("update environments set status = $2 where id = $1", environment, status)
    for path in ("magic-link", "admin-password/reset"):
        refused = await person.session.post(f"/v1/sites/{site}/{path}")
        assert (refused.status_code, code_of(refused)) == (409, "environment.busy")


async def test_environments_of_other_sites_are_not_found(person: Person, stranger: Person):
    site, _ = await make_site(person)
    _, second = await make_site(person)
    _, foreign = await make_site(stranger)
    for environment in (second, foreign, new_id("env"), "", "staging", "../production"):
        refused = await person.session.post(f"/v1/sites/{site}/magic-link", json={"environment": environment})
        assert (refused.status_code, code_of(refused)) == (404, "environment.not_found"), environment


@pytest.mark.parametrize(
    "path",
    [
        *("", "wp-admin/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example"),
        *("https://evil.example", "https:/evil.example", "https:evil.example", "HTTPS://evil.example"),
        *("javascript:alert(1)", "data:text/html,x", " /wp-admin/", "/ /evil.example", "/wp-admin/ "),
        *("/\t/evil.example", "/\n/evil.example", "/\r\nSet-Cookie: x=1", "/x\x00", "/\x7f", "/\x0b/evil"),
        *("/%2fevil.example", "/%2Fevil.example", "/%5cevil.example", "/%09/evil.example", "/%0d%0aCookie:x"),
        *("/%252fevil.example", "/%255cevil.example", "/%00", "/x%0ay", "/%20/evil.example"),
        *("/wp-admin/#//evil", "/ümlaut", "/\u2028/evil", "/\uff0fevil.example", '/"><script>', "/a<b"),
        *("?redirect", "#x", ".", "..", "@evil.example", "evil.example", "/\u202e", "/a|b", "/`x`", "/^"),
    ],
)  # fmt: skip
def test_what_is_not_a_path_of_the_site_is_refused(path: str):
    with pytest.raises(FieldInvalid):
        require_path(path)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/wp-admin/", "/wp-admin/post.php?post=1&action=edit", "/2026/11/a-post/", "/caf%C3%A9/"),
        *("/shop/?filter=a,b;c", "/~user/", "/x?next=https://example.com/", "/x?q=a%20b", "/a//b"),
    ],
)
def test_a_path_is_accepted(path: str):
    require_path(path)


@pytest.mark.parametrize(
    "body",
    [
        {"redirect_to": "//evil.example"},
        {"redirect_to": "/" + "a" * 2000},
        {"redirect_to": None},
        {"user": ""},
        {"user": "a\nb"},
        {"user": "x" * 61},
        {"user": 1},
        {"user_id": 1},
        {"expires_in": 3600},
    ],
)
async def test_a_malformed_wish_is_refused(person: Person, body: dict[str, Any]):
    site, _ = await make_site(person)
    refused = await person.session.post(f"/v1/sites/{site}/magic-link", json=body)
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid"), body


async def test_links_can_be_switched_off_and_then_none_is_used(person: Person, plane: ControlPlane):
    site, environment = await make_site(person)
    earlier = await create(person.session, site)
    change = {"security": {"magic_links_enabled": False}}
    job = await person.session.patch(f"/v1/sites/{site}/config", json=change)
    await SiteDriver(plane).run_job(job.json()["data"]["id"])
    refused = await person.session.post(f"/v1/sites/{site}/magic-link")
    assert (refused.status_code, code_of(refused)) == (409, "magic_link.disabled")
    assert await redeem(plane, use(earlier, environment)) == SignIn()
    on = await person.session.patch(
        f"/v1/sites/{site}/environments/{environment}/config",
        json={"security": {"magic_links_enabled": True}},
    )
    await SiteDriver(plane).run_job(on.json()["data"]["id"])
    assert await redeem(plane, use(await create(person.session, site), environment)) != SignIn()

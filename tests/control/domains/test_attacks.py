"""What nobody can do with the names of others. In the DNS of these tests every name points here, so that
whoever asks first would get it without the rules."""

from datetime import timedelta

import pytest

from tests.client import code_of
from tests.control.domains.conftest import ELSEWHERE, PREVIEW, Harness
from tests.control.site_driver import new_domain, request_site

_HOUR = timedelta(hours=1)


async def test_a_name_below_the_domain_of_another_tenant_is_not_served_without_a_record(harness: Harness):
    victim = await harness.served_site()
    name = f"blog.{victim.domain}"
    attacker = await harness.create_site(name)
    for _ in range(3):
        await attacker.verify(name)
        await harness.look_up()
        harness.clock.ahead += _HOUR
    domain = await attacker.domain_of(name)
    assert domain["status"] == "pending"
    assert "a domain above it belongs to another account" in domain["reason"]
    assert harness.edges.environment_of(name) is None
    assert not await harness.certificate_requested(name)
    # The site itself works at its preview host.
    assert harness.edges.environment_of(attacker.subdomain) == attacker.env
    # The victim can use the name, because only the victim can write to the DNS.
    await harness.run(await victim.attach(name))
    await harness.prove(await victim.domain_of(name))
    await victim.verify(name)
    await harness.look_up()
    assert harness.edges.environment_of(name) == victim.env
    assert (await attacker.domain_of(name))["status"] == "failed"


async def test_an_owner_needs_no_record_for_a_name_below_its_own_domain(harness: Harness):
    site = await harness.served_site()
    await harness.run(await site.attach(f"blog.{site.domain}"))
    await harness.look_up()
    assert harness.edges.environment_of(f"blog.{site.domain}") == site.env


async def test_a_name_that_was_just_deleted_stays_with_its_owner_who_can_recover_the_site(harness: Harness):
    victim = await harness.served_site()
    await harness.delete(victim)
    assert harness.edges.environment_of(victim.domain) is None
    attacker = await harness.served_site()
    assert code_of(await request_site(attacker.owner, victim.domain)) == "site.domain_taken"
    assert code_of(await attacker.attach(victim.domain)) == "site.domain_taken"
    recovery = await victim.owner.post(f"/v1/sites/{victim.id}/recover")
    await harness.run(recovery)
    assert harness.edges.environment_of(victim.domain) == victim.env


async def test_a_name_that_another_tenant_gave_up_lately_needs_a_record(harness: Harness):
    victim, attacker = await harness.served_site(), await harness.served_site()
    name = new_domain()
    await harness.run(await victim.attach(name))
    await harness.look_up()
    assert (await victim.detach(name)).status_code == 204
    await harness.look_up()
    assert harness.edges.environment_of(name) is None
    await harness.run(await attacker.attach(name))
    await harness.look_up()
    domain = await attacker.domain_of(name)
    assert domain["status"] == "pending"
    assert "it belonged to another account in the last 30 days" in domain["reason"]
    await harness.prove(domain)
    await attacker.verify(name)
    await harness.look_up()
    assert harness.edges.environment_of(name) == attacker.env


async def test_a_name_that_another_tenant_gave_up_long_ago_needs_no_record(harness: Harness):
    victim, other = await harness.served_site(), await harness.served_site()
    name = new_domain()
    await harness.run(await victim.attach(name))
    await harness.look_up()
    await victim.detach(name)
    await harness.look_up()
    harness.clock.ahead += 31 * 24 * _HOUR
    await harness.run(await other.attach(name))
    await harness.look_up()
    assert harness.edges.environment_of(name) == other.env


async def test_claiming_a_name_first_does_not_keep_it_from_its_owner(harness: Harness):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    squatter = await harness.create_site(name)
    await harness.look_up()
    owner = await harness.create_site(name)
    # The owner moves its DNS here. Two accounts claim the name, so pointing here proves nothing.
    await harness.point_here(name)
    harness.clock.ahead += _HOUR
    await harness.look_up()
    for site in (squatter, owner):
        domain = await site.domain_of(name)
        assert domain["status"] == "pending"
        assert "another account claims it too" in domain["reason"]
    await harness.prove(await owner.domain_of(name))
    await owner.verify(name)
    await harness.look_up()
    assert harness.edges.environment_of(name) == owner.env
    lost = await squatter.domain_of(name)
    assert (lost["status"], lost["reason"]) == ("failed", "Another account has proved that it has this name.")
    # Deleting the squatter's site does not touch the owner's host or certificate.
    await harness.delete(squatter)
    assert harness.edges.environment_of(name) == owner.env
    assert await harness.certificate_requested(name)


async def test_a_name_that_points_elsewhere_is_not_served(harness: Harness):
    await harness.point("google.com", ELSEWHERE)
    site = await harness.create_site("google.com")
    await harness.look_up()
    domain = await site.domain_of("google.com")
    assert domain["status"] == "pending"
    assert domain["reason"].startswith(f"google.com points to {ELSEWHERE}. Point its A record to 127.0.0.1.")
    assert harness.edges.environment_of("google.com") is None
    assert not await harness.certificate_requested("google.com")


@pytest.mark.parametrize(
    "name",
    [
        *("co.uk", "github.io", "com.au", "gov.uk", "blogspot.com", "xn--p1ai.", "s3.amazonaws.com"),
        *(PREVIEW, f"a.{PREVIEW}", f"a.b.{PREVIEW}", f"A.{PREVIEW.upper()}."),
        *("api.platform-tests.example", "x.api.platform-tests.example"),
        *("reserved-tests.example", "deep.below.other-tests.example"),
        *("host.localhost", "printer.local", "db.internal", "nas.lan", "1.0.0.127.in-addr.arpa", "127.0.0.1"),
    ],
)
async def test_public_suffixes_and_names_of_the_platform_are_refused(harness: Harness, name: str):
    site = await harness.create_site()
    for refused in (await request_site(site.owner, name), await site.attach(name)):
        assert code_of(refused) == "request.field_invalid"
    count = await harness.row("select count(*) from domains where site_id = $1", site.id)
    assert count == (1,)


async def test_the_domain_above_the_names_of_the_platform_needs_a_record(harness: Harness):
    site = await harness.create_site("platform-tests.example")
    await harness.look_up()
    domain = await site.domain_of("platform-tests.example")
    assert domain["status"] == "pending"
    assert "it is under a domain of this platform" in domain["reason"]


async def test_a_record_with_the_value_of_another_claim_proves_nothing(harness: Harness):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    owner, attacker = await harness.create_site(name), await harness.create_site(name)
    await harness.prove(await owner.domain_of(name))
    await harness.look_up()
    assert (await attacker.domain_of(name))["status"] == "failed"
    assert harness.edges.environment_of(name) == owner.env


async def test_a_test_key_takes_no_name_from_a_live_site_and_gets_no_host(harness: Harness):
    victim = await harness.served_site()
    attacker = await harness.new_person()
    simulated = await harness.create_site(victim.domain, await attacker.key(mode="test"))
    await harness.look_up()
    assert (await simulated.domain_of(victim.domain))["status"] == "verified"
    assert harness.edges.environment_of(victim.domain) == victim.env
    # Nor does the simulated name count as one that somebody has.
    name = new_domain()
    await harness.create_site(name, await attacker.key(mode="test"))
    owner = await harness.served_site(name)
    assert harness.edges.environment_of(name) == owner.env
    await harness.delete(simulated)
    assert harness.edges.environment_of(victim.domain) == victim.env
    assert await harness.certificate_requested(victim.domain)


async def test_other_tenants_cannot_see_or_change_a_domain(harness: Harness):
    victim, attacker = await harness.served_site(), await harness.served_site()
    domain = await victim.domain_of(victim.domain)
    for path in (victim.domains_path, attacker.domains_path):
        one = f"{path}/{domain['id']}"
        codes = {
            code_of(await attacker.owner.get(one)),
            code_of(await attacker.owner.delete(one)),
            code_of(await attacker.owner.post(f"{one}/verify")),
            code_of(await attacker.owner.post(f"{one}/primary")),
        }
        assert codes <= {"domain.not_found", "environment.not_found"}, codes

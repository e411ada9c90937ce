"""Wildcard domains: who can have them, and what they need. In the DNS of these tests names point here."""

import asyncio
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.domains.names import list_wildcards_above, normalize_name
from stead.control.edge_feed.republishing import _is_known, _list_known
from stead.protocol import edge_records
from stead.protocol.edge_records import (
    certificate_key,
    host_key,
    host_of_name,
    name_of_host,
    name_of_wildcard,
)
from stead.shared.errors import FieldInvalid
from tests.client import Client, code_of
from tests.control.domains.conftest import ELSEWHERE, PREVIEW, REGION, Harness, Site
from tests.control.site_driver import new_domain, request_site
from tests.teams import insert_team

TAKEN = "site.domain_taken"


async def add_zone(harness: Harness, site: Site, *, delegation: str = "complete", published: int = 1) -> None:
    """The site has a zone, as if the name server had it and the domain were delegated to it."""
    records = f"/v1/sites/{site.id}/dns/records"
    made = await site.owner.post(records, json={"type": "TXT", "name": "@", "value": "a zone"})
    assert made.status_code == 201, made.text
    async with harness.plane.database.transaction() as tx:
        await tx.run(
            "update dns_zones set version = 1, published_version = $2, delegation = $3 where site_id = $1",
            *(site.id, published, delegation),
        )


async def attach_wildcard(harness: Harness, site: Site, base: str | None = None) -> dict[str, Any]:
    name = f"*.{base or site.domain}"
    await harness.run(await site.attach(name))
    return await site.domain_of(name)


async def site_with_wildcard(harness: Harness, **options: Any) -> Site:
    """It is verified and served."""
    site = await harness.served_site(**options)
    await add_zone(harness, site)
    await harness.prove(await attach_wildcard(harness, site))
    await harness.look_up()
    assert harness.edges.environment_of(f"*.{site.domain}") == site.env
    return site


async def test_nobody_else_gets_a_name_below_a_wildcard(harness: Harness):
    victim, attacker = await site_with_wildcard(harness), await harness.served_site()
    await add_zone(harness, attacker)
    for name in (f"blog.{victim.domain}", f"a.b.{victim.domain}"):
        assert code_of(await attacker.attach(name)) == TAKEN
        assert code_of(await request_site(attacker.owner, name)) == TAKEN
    # Nor with the record that would prove it, nor after a while.
    name = f"shop.{victim.domain}"
    await harness.set_txt(f"_stead-challenge.{name}", "stead-of-the-attacker")
    assert code_of(await attacker.attach(name)) == TAKEN
    # The wildcard itself, and one below it, belong to nobody else either.
    async with harness.plane.database.transaction() as tx:
        await tx.run("update dns_zones set name = $2 where site_id = $1", attacker.id, victim.domain)
    for name in (f"*.{victim.domain}", f"*.shop.{victim.domain}"):
        assert code_of(await attacker.attach(name)) == TAKEN
    assert harness.edges.environment_of(f"*.{victim.domain}") == victim.env


async def test_a_claim_that_is_older_than_a_wildcard_of_another_owner_fails(harness: Harness):
    victim = await harness.served_site()
    name = f"blog.{victim.domain}"
    attacker = await harness.create_site(name)
    await add_zone(harness, victim)
    await harness.prove(await attach_wildcard(harness, victim))
    await victim.verify(f"*.{victim.domain}")
    await harness.look_up()
    assert (await victim.domain_of(f"*.{victim.domain}"))["status"] == "verified"
    await harness.prove(await attacker.domain_of(name))
    await attacker.verify(name)
    await harness.look_up()
    lost = await attacker.domain_of(name)
    assert (lost["status"], lost["reason"]) == ("failed", "Another account has proved that it has this name.")
    assert harness.edges.environment_of(name) is None


@pytest.mark.parametrize("label", ["blog", "a.b"])
async def test_a_wildcard_is_not_above_a_name_of_another_owner(harness: Harness, label: str):
    base = new_domain()
    await harness.point(f"{label}.{base}", ELSEWHERE)
    tenant = await harness.create_site(f"{label}.{base}")
    owner = await harness.served_site(base)
    await add_zone(harness, owner)
    # The name below it is not verified yet: both are claimed, and the first one to prove its name has it.
    await harness.prove(await tenant.domain_of(tenant.domain))
    await attach_wildcard(harness, owner)
    await tenant.verify(tenant.domain)
    await harness.look_up()
    assert harness.edges.environment_of(tenant.domain) == tenant.env
    await harness.prove(await owner.domain_of(f"*.{base}"))
    await owner.verify(f"*.{base}")
    await harness.look_up()
    assert (await owner.domain_of(f"*.{base}"))["status"] == "failed"
    assert harness.edges.environment_of(f"*.{base}") is None
    assert not await harness.certificate_requested(f"*.{base}")
    await owner.detach(f"*.{base}")
    assert code_of(await owner.attach(f"*.{base}")) == TAKEN
    # A deleted site keeps its names as long as it can be recovered.
    await harness.delete(tenant)
    assert code_of(await owner.attach(f"*.{base}")) == TAKEN


async def test_only_one_of_two_owners_gets_names_that_overlap(harness: Harness):
    for _ in range(4):
        base = new_domain()
        owner = await harness.served_site(base)
        await add_zone(harness, owner)
        tenant = await harness.create_site(f"blog.{base}")
        await harness.prove(await attach_wildcard(harness, owner))
        await harness.prove(await tenant.domain_of(tenant.domain))
        await asyncio.gather(*(harness.look_up() for _ in range(3)))
        found = {
            (await owner.domain_of(f"*.{base}"))["status"],
            (await tenant.domain_of(tenant.domain))["status"],
        }
        assert found == {"verified", "failed"}


async def test_another_site_of_the_owner_keeps_its_name_below_a_wildcard(harness: Harness):
    client = await (await harness.new_person()).key(expires_in_days=365)
    first = await site_with_wildcard(harness, client=client)
    second = await harness.served_site(f"shop.{first.domain}", client)
    assert harness.edges.environment_of(second.domain) == second.env
    assert harness.edges.environment_of(f"*.{first.domain}") == first.env
    # And a wildcard comes later than names below it.
    third = await harness.served_site(client=client)
    fourth = await harness.served_site(f"shop.{third.domain}", client)
    await add_zone(harness, third)
    await harness.prove(await attach_wildcard(harness, third))
    await harness.look_up()
    assert harness.edges.environment_of(f"*.{third.domain}") == third.env
    assert harness.edges.environment_of(fourth.domain) == fourth.env


async def test_a_site_is_not_transferred_away_from_a_wildcard(harness: Harness):
    person = await harness.new_person()
    client = await person.key(expires_in_days=365)
    first = await site_with_wildcard(harness, client=client)
    second = await harness.served_site(f"shop.{first.domain}", client)
    async with harness.plane.database.transaction() as tx:
        team = await insert_team(tx, person.id)
    for site in (first, second):
        refused = await person.session.post(f"/v1/sites/{site.id}/transfer", json={"to_team_id": team})
        assert code_of(refused) == "domain.overlaps"
    assert (await first.detach(f"*.{first.domain}")).status_code == 204
    moved = await person.session.post(f"/v1/sites/{second.id}/transfer", json={"to_team_id": team})
    assert moved.status_code == 200, moved.text


async def test_only_the_record_of_the_base_proves_a_wildcard(harness: Harness):
    site = await harness.served_site()
    base = await site.domain_of(site.domain)
    await add_zone(harness, site)
    domain = await attach_wildcard(harness, site)
    # One record proves both.
    assert domain["challenge"] == base["challenge"]
    await harness.look_up()
    domain = await site.domain_of(f"*.{site.domain}")
    assert domain["status"] == "pending"
    assert f"*.{site.domain} has to be proved by a TXT record, because it is a wildcard." in domain["reason"]
    assert harness.edges.environment_of(f"*.{site.domain}") is None
    await harness.prove(domain)
    await site.verify(f"*.{site.domain}")
    await harness.look_up()
    assert harness.edges.environment_of(f"*.{site.domain}") == site.env
    assert await harness.certificate_requested(f"*.{site.domain}")
    assert (await site.detach(f"*.{site.domain}")).status_code == 204
    await harness.look_up()
    assert harness.edges.environment_of(f"*.{site.domain}") is None
    assert not await harness.certificate_requested(f"*.{site.domain}")


async def test_a_name_below_a_wildcard_that_was_given_up_lately_needs_a_record(harness: Harness):
    victim, attacker = await site_with_wildcard(harness), await harness.served_site()
    assert (await victim.detach(f"*.{victim.domain}")).status_code == 204
    await harness.look_up()
    await harness.delete(victim)
    async with harness.plane.database.transaction() as tx:
        await tx.run("update domains set hostname = $2 where hostname = $1", victim.domain, new_domain())
    name = f"blog.{victim.domain}"
    await harness.run(await attacker.attach(name))
    await harness.look_up()
    found = await attacker.domain_of(name)
    assert found["status"] == "pending"
    assert "a domain above it belongs to another account" in found["reason"]


async def test_a_wildcard_needs_a_zone_that_is_delegated_here(harness: Harness):
    site = await harness.served_site()
    name = f"*.{site.domain}"

    async def refusal() -> str:
        refused = await site.attach(name)
        assert code_of(refused) == "domain.needs_zone"
        return str(refused.json()["error"]["message"])

    assert f"the site has no zone with {site.domain}" in await refusal()
    await add_zone(harness, site, published=0)
    assert f"the zone {site.domain} is not published yet" in await refusal()
    for delegation in ("unknown", "none", "partial"):
        async with harness.plane.database.transaction() as tx:
            await tx.run(
                "update dns_zones set published_version = 1, delegation = $2 where site_id = $1",
                *(site.id, delegation),
            )
        assert "Set ns1.stead.example and ns2.stead.example as its name servers" in await refusal()
    async with harness.plane.database.transaction() as tx:
        await tx.run("update dns_zones set delegation = 'complete' where site_id = $1", site.id)
    name = f"*.{new_domain()}"
    assert "the site has no zone with" in await refusal()
    await site.owner.post(
        f"/v1/sites/{site.id}/dns/records", json={"type": "NS", "name": "lab", "value": "ns1.example.net"}
    )
    name = f"*.lab.{site.domain}"
    assert "an NS record of the zone gives" in await refusal()
    await harness.run(await site.attach(f"*.shop.{site.domain}"))
    await harness.prove(await site.domain_of(f"*.shop.{site.domain}"))
    await harness.look_up()
    assert harness.edges.environment_of(f"*.shop.{site.domain}") == site.env
    # What a wildcard is proved with cannot be given away afterwards.
    for label in ("shop", "_acme-challenge.shop"):
        body = {"type": "NS", "name": label, "value": "ns1.example.net"}
        refused = await site.owner.post(f"/v1/sites/{site.id}/dns/records", json=body)
        assert code_of(refused) == "dns_record.conflicts"


async def test_an_installation_without_zones_has_no_wildcards(harness: Harness):
    site = await harness.served_site()
    plane = ControlPlane(replace(harness.plane.settings, powerdns_url=""), clock=harness.clock)
    await plane.redis.start()
    try:
        client = Client(
            transport=httpx.ASGITransport(plane), base_url="http://stead.test", headers=site.owner.headers
        )
        refused = await client.post(site.domains_path, json={"hostname": f"*.{site.domain}"})
    finally:
        await plane.redis.close()
        await plane.database.close()
    assert code_of(refused) == "domain.needs_zone"
    assert "this installation serves no DNS zones" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "name",
    [
        *("*", "*.", "*.com", "*.co.uk", "*.github.io", "**.example.com", "*.*.example.com"),
        *("a.*.example.com", "*a.example.com", "*.127.0.0.1", "*.printer.local"),
        *(f"*.{PREVIEW}", "*.platform-tests.example", "*.reserved-tests.example", "*.x.other-tests.example"),
        f"*.{'.'.join(['a' * 63, *['a' * 62] * 3])}",
    ],
)
async def test_other_wildcards_are_refused(harness: Harness, name: str):
    site = await harness.create_site()
    assert code_of(await site.attach(name)) == "request.field_invalid"


async def test_a_wildcard_is_no_host(harness: Harness):
    site = await site_with_wildcard(harness)
    name = f"*.{site.domain}"
    assert code_of(await site.make_primary(name)) == "domain.is_wildcard"
    assert code_of(await request_site(site.owner, f"*.{new_domain()}")) == "request.field_invalid"
    assert code_of(await site.attach(name, include_www=True)) == "request.field_invalid"
    await harness.point(f"x.{site.domain}", ELSEWHERE)
    job = await harness.run(await site.attach(f"x.{site.domain}"))
    found = (await site.owner.get(f"/v1/jobs/{job['id']}")).json()["data"]
    assert found["result"]["url"] == f"https://{site.domain}/"


async def test_a_wildcard_can_redirect_to_the_primary_domain(harness: Harness):
    site = await harness.served_site()
    await add_zone(harness, site)
    await harness.run(await site.attach(f"*.{site.domain}", redirect_to_primary=True))
    await harness.prove(await site.domain_of(f"*.{site.domain}"))
    await harness.look_up()
    assert harness.edges.redirect_of(f"*.{site.domain}") == site.domain


async def test_a_simulated_wildcard_takes_nothing_from_live_sites(harness: Harness):
    person = await harness.new_person()
    simulated = await harness.create_site(client=await person.key(mode="test"))
    assert code_of(await simulated.attach(f"*.{simulated.domain}")) == "domain.needs_zone"
    await add_zone(harness, simulated, published=0, delegation="unknown")
    await attach_wildcard(harness, simulated)
    assert (await simulated.domain_of(f"*.{simulated.domain}"))["status"] == "verified"
    live = await harness.served_site(f"blog.{simulated.domain}")
    assert harness.edges.environment_of(live.domain) == live.env


async def test_records_of_wildcards_are_not_removed_as_unknown(harness: Harness):
    site = await site_with_wildcard(harness)
    known = [host_key(REGION, f"*.{site.domain}"), certificate_key(REGION, f"*.{site.domain}")]
    unknown = [host_key(REGION, f"*.{new_domain()}"), certificate_key(REGION, f"*.{new_domain()}")]
    async with harness.plane.database.reading() as tx:
        found = await _list_known(tx, [*known, *unknown])
    assert [_is_known(key, found) for key in (*known, *unknown)] == [True, True, False, False]


def test_names_of_wildcards():
    assert normalize_name(" *.München.example. ") == "*.xn--mnchen-3ya.example"
    assert normalize_name("www.example.com") == "www.example.com"
    with pytest.raises(FieldInvalid):
        normalize_name("*.example.com", own_names=["api.example.com"])
    assert list_wildcards_above("a.b.example.com") == ["*.b.example.com", "*.example.com"]
    assert list_wildcards_above("*.b.example.com") == ["*.example.com"]
    assert list_wildcards_above("*.example.com") == list_wildcards_above("example.com") == []
    assert name_of_host("*.example.com") == name_of_wildcard("a.example.com") == "_wildcard.example.com"
    assert host_of_name("_wildcard.example.com") == "*.example.com"
    assert host_of_name(name_of_host("a.example.com")) == "a.example.com"
    key = host_key(REGION, "*.example.com")
    assert edge_records.kind_and_name(key) == ("host", "_wildcard.example.com")

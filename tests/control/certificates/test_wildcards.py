"""Certificates of wildcards: proved in a zone of the name server, through the same steps as all others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import dns.asyncquery
import dns.message
import pytest
from cryptography import x509

from stead.control.certificates import service
from stead.control.certificates.preflight import Preflight
from stead.control.certificates.rules import LEASE
from stead.control.dns_records import store, zones
from stead.control.dns_records.publisher import ZonePublisher
from stead.control.dns_records.rules import CHALLENGES_KEPT
from stead.control.engines.powerdns import PowerDns
from stead.dev.engines.powerdns import PowerDns as PowerDnsEngine
from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge_records import name_of_host
from tests.control.certificates.acme_proxy import CHALLENGE, ORDER, AcmeProxy
from tests.control.certificates.conftest import REGION, Harness, Site
from tests.control.certificates.killed_certifier import kill_certifier_at
from tests.control.certificates.test_issuance import RENEWAL_AGE, _connect_with_tls
from tests.node.harness import until

NAMESERVERS = ("ns1.platform.example", "ns2.platform.example")
TIMEOUT = 30


async def _site_with_wildcard(harness: Harness) -> tuple[Site, str]:
    """A site whose zone is published, and whose wildcard wants a certificate."""
    site = await harness.create_site(requested=False)
    async with harness.plane.database.transaction() as tx:
        await tx.run("update domains set proved_by_record = true where site_id = $1", site.id)
        await store.change_zone(tx, site.id, site.domain, "live")
        await service.request_certificate(tx, site.id, f"*.{site.domain}", REGION)
    await _publisher(harness).publish_due()
    await _until_answered(harness, site.domain, "NS", 2)
    return site, f"*.{site.domain}"


def _publisher(harness: Harness) -> ZonePublisher:
    engine = harness.stack[PowerDnsEngine]
    server = PowerDns(engine.url, engine.key)
    return ZonePublisher(harness.plane.database, server, NAMESERVERS, Preflight(LOOPBACK))


@asynccontextmanager
async def _zones_published(harness: Harness) -> AsyncIterator[None]:
    """Another task of the worker publishes zones meanwhile."""

    async def publish() -> None:
        while True:
            await _publisher(harness).publish_due()
            await asyncio.sleep(0.1)

    task = asyncio.create_task(publish())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _texts(harness: Harness, name: str, kind: str = "TXT") -> list[str]:
    """What the name server answers."""
    query = dns.message.make_query(f"{name}.", kind)
    port = harness.stack[PowerDnsEngine].dns_port
    answer = await dns.asyncquery.udp(query, LOOPBACK, port=port, timeout=5)
    return [str(each) for part in answer.answer for each in part]


async def _until_answered(harness: Harness, name: str, kind: str, count: int) -> None:
    async def has_answers() -> bool | None:
        return len(await _texts(harness, name, kind)) == count or None

    await until(has_answers)


async def _state(harness: Harness, host: str) -> tuple[str, str | None]:
    row = await harness.row(host)
    return row["state"], row["error_code"]


async def test_a_wildcard_is_proved_in_its_zone_and_trusted_by_visitors(harness: Harness):
    site, wildcard = await _site_with_wildcard(harness)
    async with _zones_published(harness):
        assert await harness.certifier().process_due() == 1
        assert await _state(harness, wildcard) == ("valid", None)
        await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 0)
    assert (await harness.row(wildcard))["challenge"] is None
    found = harness.publisher.certificate(name_of_host(wildcard))
    assert found is not None
    names = x509.load_pem_x509_certificate(found.chain.encode()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == [wildcard]
    for host in ("anything", "something-else"):
        await _connect_with_tls(harness, f"{host}.{site.domain}")
    assert await harness.events(site) == ["certificate.issued"]

    harness.clock.move(RENEWAL_AGE)
    async with _zones_published(harness):
        assert await harness.certifier().process_due() == 1
        await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 0)
    assert await harness.events(site) == ["certificate.issued", "certificate.renewed"]
    assert len(set(harness.publisher.keys)) == 2


async def test_another_worker_finishes_and_removes_what_a_killed_worker_has_published(
    harness: Harness, proxy: AcmeProxy
):
    site, wildcard = await _site_with_wildcard(harness)
    async with _zones_published(harness):
        await kill_certifier_at(CHALLENGE, harness, proxy)
        await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 1)
        harness.clock.move(LEASE * 1.01)
        await harness.certifier(proxy.directory).process_due()
        assert await _state(harness, wildcard) == ("valid", None)
        await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 0)
    assert proxy.passed[ORDER] == 1


async def test_a_proof_that_nobody_removes_expires(harness: Harness):
    site, wildcard = await _site_with_wildcard(harness)
    async with harness.plane.database.transaction() as tx:
        assert await zones.add_challenge(tx, site.id, site.domain, wildcard, "a-proof") is not None
    await _publisher(harness).publish_due()
    await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 1)
    harness.clock.move(CHALLENGES_KEPT + timedelta(minutes=1))
    await _publisher(harness).compare()
    await _publisher(harness).publish_due()
    await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 0)


async def test_a_wildcard_whose_certificate_is_removed_leaves_no_proof(harness: Harness, proxy: AcmeProxy):
    site, wildcard = await _site_with_wildcard(harness)
    proxy.hold_back = CHALLENGE
    async with _zones_published(harness):
        working = asyncio.create_task(harness.certifier(proxy.directory).process_due())
        await asyncio.wait_for(proxy.held_back.wait(), TIMEOUT)
        working.cancel()
        await asyncio.wait({working}, timeout=TIMEOUT)
        proxy.release_responses()
        async with harness.plane.database.transaction() as tx:
            await service.remove_certificate(tx, wildcard)
        await harness.certifier(proxy.directory).process_due()
        await _until_answered(harness, f"_acme-challenge.{site.domain}", "TXT", 0)
    assert await harness.row(wildcard) == {}


@pytest.mark.parametrize("lost", ["released", "another zone"])
async def test_a_wildcard_without_its_zone_costs_no_order(harness: Harness, proxy: AcmeProxy, lost: str):
    site, wildcard = await _site_with_wildcard(harness)
    async with harness.plane.database.transaction() as tx:
        if lost == "released":
            released = "is_primary = false, released_at = $2, released_by = 'somebody'"
            await tx.run(f"update domains set {released} where site_id = $1", site.id, tx.now)
        else:
            await tx.run("update dns_zones set name = 'elsewhere.example' where site_id = $1", site.id)
    await _publisher(harness).compare()
    await harness.certifier(proxy.directory).process_due()
    assert await _state(harness, wildcard) == ("pending", "zone")
    assert proxy.passed[ORDER] == 0
    assert "is in no DNS zone that this platform serves" in (await harness.row(wildcard))["error"]


async def test_an_authority_that_finds_no_proof_is_quoted(harness: Harness):
    """The domain is delegated to other name servers: those that the authority asks do not have the proof."""
    site, wildcard = await _site_with_wildcard(harness)
    engine = harness.stack[PowerDnsEngine]
    server = PowerDns(engine.url, engine.key)
    part = f"_acme-challenge.{site.domain}"
    await server.replace_zone(part, [], NAMESERVERS)
    async with _zones_published(harness):
        await harness.certifier().process_due()
    await server.delete_zone(part)
    assert await _state(harness, wildcard) == ("pending", "challenge_failed")
    message = (await harness.row(wildcard))["error"]
    assert f"looked up the TXT records of _acme-challenge.{site.domain}" in message
    assert "is delegated to the name servers of this platform" in message

"""A host gets a certificate that visitors trust, and the certificate is renewed."""

import asyncio
import ssl
import time
from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest
from cryptography import x509

from stead.control.certificates import service
from stead.control.certificates.certifier import CONCURRENCY
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.pebble import Pebble
from stead.dev.supervised_program import LOOPBACK
from tests.control.certificates.conftest import REGION, Harness
from tests.matrix.dump import rows_mentioning

RENEWAL_AGE = timedelta(days=61, hours=1)
NAMES = 1_000


async def test_a_requested_certificate_is_trusted_by_visitors(harness: Harness):
    site = await harness.create_site()
    await harness.certifier().process_due()
    status = await site.tls()
    assert (status["domain"], status["state"]) == (site.domain, "valid")
    assert status["ca"].startswith("Pebble")
    assert status["issued_at"] < status["expires_at"]
    assert "error" not in status
    assert await harness.events(site) == ["certificate.issued"]
    assert harness.refreshed == [site.id]
    assert harness.publisher.challenges() == []
    await _connect_with_tls(harness, site.domain)


async def test_a_thousand_names_are_issued_and_served_by_one_edge(
    harness: Harness, record_property: Callable[[str, object], None]
):
    site = await harness.create_site(requested=False)
    hosts = [f"n{number}.{site.domain}" for number in range(NAMES)]
    async with harness.plane.database.transaction() as tx:
        for host in hosts:
            await service.request_certificate(tx, site.id, host, REGION)
    began = time.monotonic()
    certifier = harness.certifier()
    assert sum(await asyncio.gather(*(certifier.process_due() for _ in range(CONCURRENCY)))) >= NAMES
    issued = time.monotonic() - began
    async with harness.plane.database.reading() as tx:
        states = await tx.all(str, "select distinct state from certificates where site_id = $1", site.id)
    assert states == ["valid"]
    assert harness.publisher.challenges() == []
    context = await _trusting_context(harness.stack[Pebble])
    for host in hosts:
        await _connect_with_tls(harness, host, context)
    record_property("figure", f"certificates: {NAMES} names issued in {issued:.0f} s, each served by its own")


async def _connect_with_tls(harness: Harness, host: str, context: ssl.SSLContext | None = None) -> None:
    """Connect to the edge as a visitor who trusts the authority's root only."""
    context = context or await _trusting_context(harness.stack[Pebble])
    port = harness.stack[Nginx].tls_port
    _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=context, server_hostname=host)
    writer.close()


async def _trusting_context(pebble: Pebble) -> ssl.SSLContext:
    """Pebble has another root after a restart."""
    verify = ssl.create_default_context(cafile=str(pebble.server_certificate))
    async with httpx.AsyncClient(verify=verify) as client:
        root = (await client.get(pebble.roots_url)).text
    return ssl.create_default_context(cadata=root)


async def test_the_status_before_the_first_attempt(harness: Harness):
    unrequested, site = await harness.create_site(requested=False), await harness.create_site()
    assert (await unrequested.tls())["state"] == "unconfigured"
    assert (await site.tls())["state"] == "unconfigured"
    await harness.certifier().enroll_and_expire()
    assert (await site.tls())["state"] == "not_registered"
    assert (await unrequested.tls()) == {
        "domain": unrequested.domain,
        "state": "unconfigured",
        "ca": None,
        "issued_at": None,
        "expires_at": None,
    }


async def test_a_certificate_is_renewed_after_two_thirds_of_its_life(harness: Harness):
    site = await harness.create_site()
    await harness.certifier().process_due()
    first = harness.publisher.certificate(site.domain)
    harness.clock.move(timedelta(days=59))
    assert await harness.certifier().process_due() == 0
    harness.clock.move(RENEWAL_AGE - timedelta(days=59))
    assert await harness.certifier().process_due() == 1
    second = harness.publisher.certificate(site.domain)
    assert first is not None
    assert second is not None
    serials = {x509.load_pem_x509_certificate(each.chain.encode()).serial_number for each in (first, second)}
    assert len(serials) == 2
    assert len(set(harness.publisher.keys)) == 2
    assert await harness.events(site) == ["certificate.issued", "certificate.renewed"]


async def test_a_certificate_counts_as_served_when_the_sites_records_are_refreshed(harness: Harness):
    site = await harness.create_site()

    async def is_served() -> bool:
        async with harness.plane.database.reading() as tx:
            return await service.has_served_certificate(tx, site.domain)

    results: list[bool] = []

    async def check(_: str) -> None:
        results.append(await is_served())

    assert not await is_served()
    await harness.certifier(refresh_site=check).process_due()
    assert results == [True]
    harness.clock.move(timedelta(days=91))
    assert not await is_served()


async def test_no_private_key_is_readable_in_the_database(harness: Harness):
    """Neither the account's, nor that of an unfinished order, nor that of a certificate."""
    site = await harness.create_site()
    harness.publisher.ignoring = True
    await harness.certifier().process_due()
    harness.publisher.ignoring = False
    harness.clock.move(timedelta(minutes=2))
    await harness.certifier().process_due()
    assert (await site.tls())["state"] == "valid"
    [key] = harness.publisher.keys
    body = [line for line in key.decode().splitlines() if "-----" not in line]
    words = [*body, key.hex(), "PRIVATE KEY", b"PRIVATE KEY".hex()]
    assert await rows_mentioning(harness.plane.database, words) == set()
    assert await rows_mentioning(harness.plane.database, ["BEGIN CERTIFICATE"]) != set()


async def test_a_removed_certificate_is_withdrawn_from_the_edges(harness: Harness):
    site = await harness.create_site()
    await harness.certifier().process_due()
    async with harness.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
        assert not await service.has_served_certificate(tx, site.domain)
    assert (await site.tls())["state"] == "unconfigured"
    assert harness.publisher.certificate(site.domain) is not None
    await harness.certifier().process_due()
    assert harness.publisher.certificate(site.domain) is None
    assert await harness.row(site.domain) == {}


async def test_a_host_that_is_requested_again_keeps_its_certificate(harness: Harness):
    """The authority is not reachable, so no new certificate can be issued."""
    site, other = await harness.create_site(), await harness.create_site(requested=False)
    await harness.certifier().process_due()
    async with harness.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
        await service.request_certificate(tx, other.id, site.domain, "eu-west")
    harness.publisher.published.clear()
    await harness.certifier(f"https://{LOOPBACK}:1/dir").process_due()
    assert harness.publisher.published == [
        f"{region}.certificate.{site.domain}" for region in (REGION, "eu-west")
    ]
    assert (await harness.row(site.domain))["told_region"] == "eu-west"
    assert harness.refreshed == [site.id, other.id]
    assert (await harness.row(site.domain))["site_id"] == other.id


async def test_randomly_rejected_nonces_do_not_fail_the_issuance(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
):
    pebble = type(harness.stack[Pebble])
    monkeypatch.setattr(
        harness.stack[Pebble],
        "process_environment",
        lambda: {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "50"},
    )
    await harness.stack.stop(pebble)
    await harness.stack.start(pebble)
    sites = [await harness.create_site() for _ in range(5)]
    await harness.certifier().process_due()
    assert [(await site.tls())["state"] for site in sites] == ["valid"] * 5
    monkeypatch.undo()
    await harness.stack.stop(pebble)
    await harness.stack.start(pebble)

"""A host that is wanted gets a certificate that visitors can trust, and keeps it."""

import asyncio
import ssl
import time
from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest
from cryptography import x509

from stead.control.certificates import service
from stead.control.certificates.certifier import HANDS
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.pebble import Pebble
from stead.dev.supervised_program import LOOPBACK
from tests.control.certificates.conftest import REGION, Office
from tests.matrix.dump import rows_mentioning

MOST_OF_ITS_LIFE = timedelta(days=61, hours=1)
NAMES = 1_000
_VISITORS: dict[str, ssl.SSLContext] = {}


async def test_a_wanted_host_gets_a_certificate_that_visitors_trust(office: Office):
    site = await office.site()
    await office.certifier().work()
    shown = await site.tls()
    assert (shown["domain"], shown["state"]) == (site.domain, "valid")
    assert shown["ca"].startswith("Pebble")
    assert shown["issued_at"] < shown["expires_at"]
    assert "error" not in shown
    assert await office.events(site) == ["certificate.issued"]
    assert office.refreshed == [site.id]
    assert office.door.challenges() == []
    await _shake_hands(office, site.domain)


async def test_a_thousand_names_are_issued_and_served_by_one_edge(
    office: Office, record_property: Callable[[str, object], None]
):
    site = await office.site(wanted=False)
    hosts = [f"n{number}.{site.domain}" for number in range(NAMES)]
    async with office.plane.database.transaction() as tx:
        for host in hosts:
            await service.request_certificate(tx, site.id, host, REGION)
    began = time.monotonic()
    certifier = office.certifier()
    assert sum(await asyncio.gather(*(certifier.work() for _ in range(HANDS)))) >= NAMES
    issued = time.monotonic() - began
    async with office.plane.database.reading() as tx:
        states = await tx.all(str, "select distinct state from certificates where site_id = $1", site.id)
    assert states == ["valid"]
    assert office.door.challenges() == []
    for host in hosts:
        await _shake_hands(office, host)
    record_property("figure", f"certificates: {NAMES} names issued in {issued:.0f} s, each served by its own")


async def _shake_hands(office: Office, host: str) -> None:
    """With the edge, as a visitor who trusts the authority's root only."""
    visiting = await _visitor(office.stack[Pebble])
    port = office.stack[Nginx].tls_port
    _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=visiting, server_hostname=host)
    writer.close()


async def _visitor(pebble: Pebble) -> ssl.SSLContext:
    if pebble.roots_url not in _VISITORS:
        async with httpx.AsyncClient(
            verify=ssl.create_default_context(cafile=str(pebble.server_certificate))
        ) as client:
            root = (await client.get(pebble.roots_url)).text
        _VISITORS[pebble.roots_url] = ssl.create_default_context(cadata=root)
    return _VISITORS[pebble.roots_url]


async def test_it_says_where_a_host_stands_before_its_first_attempt(office: Office):
    never, site = await office.site(wanted=False), await office.site()
    assert (await never.tls())["state"] == "unconfigured"
    assert (await site.tls())["state"] == "unconfigured"
    await office.certifier().watch()
    assert (await site.tls())["state"] == "not_registered"
    assert (await never.tls()) == {
        "domain": never.domain,
        "state": "unconfigured",
        "ca": None,
        "issued_at": None,
        "expires_at": None,
    }


async def test_a_certificate_is_renewed_after_two_thirds_of_its_life(office: Office):
    site = await office.site()
    await office.certifier().work()
    first = office.door.certificate(site.domain)
    office.clock.move(timedelta(days=59))
    assert await office.certifier().work() == 0
    office.clock.move(MOST_OF_ITS_LIFE - timedelta(days=59))
    assert await office.certifier().work() == 1
    second = office.door.certificate(site.domain)
    assert first is not None
    assert second is not None
    serials = {x509.load_pem_x509_certificate(each.chain.encode()).serial_number for each in (first, second)}
    assert len(serials) == 2
    assert len(set(office.door.keys)) == 2
    assert await office.events(site) == ["certificate.issued", "certificate.renewed"]


async def test_whether_a_host_is_served_is_known_to_whoever_builds_its_records(office: Office):
    site = await office.site()

    async def served() -> bool:
        async with office.plane.database.reading() as tx:
            return await service.has_served_certificate(tx, site.domain)

    seen: list[bool] = []

    async def look(_: str) -> None:
        seen.append(await served())

    assert not await served()
    await office.certifier(refreshed=look).work()
    assert seen == [True]
    office.clock.move(timedelta(days=91))
    assert not await served()


async def test_no_private_key_stands_in_the_database(office: Office):
    """Neither that of the account, nor that of an order under way, nor that of a certificate."""
    site = await office.site()
    office.door.deaf = True
    await office.certifier().work()
    office.door.deaf = False
    office.clock.move(timedelta(minutes=2))
    await office.certifier().work()
    assert (await site.tls())["state"] == "valid"
    [key] = office.door.keys
    body = [line for line in key.decode().splitlines() if "-----" not in line]
    words = [*body, key.hex(), "PRIVATE KEY", b"PRIVATE KEY".hex()]
    async with office.plane.database.reading() as tx:
        assert await rows_mentioning(tx, words) == set()
        assert await rows_mentioning(tx, ["BEGIN CERTIFICATE"]) != set()


async def test_a_forgotten_host_is_forgotten_by_the_edges_too(office: Office):
    site = await office.site()
    await office.certifier().work()
    async with office.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
        assert not await service.has_served_certificate(tx, site.domain)
    assert (await site.tls())["state"] == "unconfigured"
    assert office.door.certificate(site.domain) is not None
    await office.certifier().work()
    assert office.door.certificate(site.domain) is None
    assert await office.row(site.domain) == {}


async def test_a_host_that_is_wanted_again_keeps_its_certificate(office: Office):
    """The authority cannot be asked here: it is not there."""
    site, other = await office.site(), await office.site(wanted=False)
    await office.certifier().work()
    async with office.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
        await service.request_certificate(tx, other.id, site.domain, "eu-west")
    office.door.told.clear()
    await office.certifier(f"https://{LOOPBACK}:1/dir").work()
    assert office.door.told == [f"{region}.certificate.{site.domain}" for region in (REGION, "eu-west")]
    assert (await office.row(site.domain))["told_region"] == "eu-west"
    assert office.refreshed == [site.id, other.id]
    assert (await office.row(site.domain))["site_id"] == other.id


async def test_nonces_that_the_authority_refuses_by_chance_are_no_reason_to_fail(
    office: Office, monkeypatch: pytest.MonkeyPatch
):
    pebble = type(office.stack[Pebble])
    monkeypatch.setattr(
        office.stack[Pebble],
        "process_environment",
        lambda: {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "50"},
    )
    await office.stack.stop(pebble)
    await office.stack.start(pebble)
    sites = [await office.site() for _ in range(5)]
    await office.certifier().work()
    assert [(await site.tls())["state"] for site in sites] == ["valid"] * 5
    monkeypatch.undo()
    await office.stack.stop(pebble)
    await office.stack.start(pebble)

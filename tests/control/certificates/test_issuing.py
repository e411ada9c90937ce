"""A host that is wanted gets a certificate that visitors can trust, and keeps it."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509

from stead.control.certificates import service
from stead.dev.engine import LOOPBACK
from tests.control.certificates.conftest import REGION, Office
from tests.matrix.dump import rows_mentioning

MOST_OF_ITS_LIFE = timedelta(days=61, hours=1)


async def test_a_wanted_host_gets_a_certificate_that_visitors_trust(office: Office, tmp_path: Path):
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
    await _shake_hands(office, site.domain, tmp_path)


async def _shake_hands(office: Office, host: str, scratch: Path) -> None:
    """A TLS server with what the edges were told, and a visitor who trusts the authority's root only."""
    record = office.door.certificate(host)
    assert record is not None
    file = scratch / "served.pem"
    file.write_bytes(record.chain.encode() + office.door.key_of(REGION, host))
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(file)
    server = await asyncio.start_server(lambda _, writer: writer.close(), LOOPBACK, 0, ssl=serving)
    pebble = office.stack.pebble
    async with httpx.AsyncClient(verify=ssl.create_default_context(cafile=str(pebble.trust))) as client:
        root = (await client.get(pebble.roots_url)).text
    visiting = ssl.create_default_context(cadata=root)
    port = server.sockets[0].getsockname()[1]
    _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=visiting, server_hostname=host)
    writer.close()
    server.close()


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
            return await service.is_served(tx, site.domain)

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
        await service.forget(tx, site.domain)
        assert not await service.is_served(tx, site.domain)
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
        await service.forget(tx, site.domain)
        await service.want(tx, other.id, site.domain, "eu-west")
    office.door.told.clear()
    await office.certifier(f"https://{LOOPBACK}:1/dir").work()
    assert office.door.told == [f"{region}.certificate.{site.domain}" for region in (REGION, "eu-west")]
    assert (await office.row(site.domain))["told_region"] == "eu-west"
    assert office.refreshed == [site.id, other.id]
    assert (await office.row(site.domain))["site_id"] == other.id


async def test_nonces_that_the_authority_refuses_by_chance_are_no_reason_to_fail(
    office: Office, monkeypatch: pytest.MonkeyPatch
):
    pebble = type(office.stack.pebble)
    monkeypatch.setattr(
        office.stack.pebble, "env", lambda: {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "50"}
    )
    await office.stack.stop(pebble)
    await office.stack.start(pebble)
    sites = [await office.site() for _ in range(5)]
    await office.certifier().work()
    assert [(await site.tls())["state"] for site in sites] == ["valid"] * 5
    monkeypatch.undo()
    await office.stack.stop(pebble)
    await office.stack.start(pebble)

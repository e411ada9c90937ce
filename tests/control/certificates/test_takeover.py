"""Workers share the certificates; another worker finishes what a dead one has begun."""

import asyncio
from datetime import timedelta

import pytest

from stead.control.certificates import service
from stead.control.certificates.certifier import CONCURRENCY
from stead.control.certificates.rules import LEASE, ORDERS_PERIOD, OWNER_LIMIT_SPREAD, Problem
from tests.control.certificates.acme_proxy import CERTIFICATE, CHALLENGE, FINALIZE, ORDER, AcmeProxy
from tests.control.certificates.conftest import REGION, Harness, Site
from tests.control.certificates.killed_certifier import kill_certifier_at
from tests.patience import slowdown

TIMEOUT = 30


@pytest.mark.parametrize("path", [ORDER, CHALLENGE, FINALIZE, CERTIFICATE])
async def test_another_worker_finishes_what_a_killed_worker_has_begun(
    path: str, harness: Harness, proxy: AcmeProxy
):
    site = await harness.create_site()
    await kill_certifier_at(path, harness, proxy)
    assert (await site.tls())["state"] == "pending"
    certifier = harness.certifier(proxy.directory)
    assert await certifier.process_due() == 0
    harness.clock.move(LEASE * 1.01)
    await certifier.process_due()
    assert (await site.tls())["state"] == "valid"
    assert await harness.events(site) == ["certificate.issued"]
    assert harness.publisher.challenges() == []
    # A recorded order is continued; one whose response was lost is not recorded.
    assert proxy.passed[ORDER] == (2 if path == ORDER else 1)
    assert proxy.passed[FINALIZE] == 1


async def test_two_workers_issue_each_of_fifty_names_once(harness: Harness, proxy: AcmeProxy):
    sites = [await harness.create_site() for _ in range(50)]
    workers = [harness.certifier(proxy.directory) for _ in range(2)]
    processed = await asyncio.gather(
        *(worker.process_due() for worker in workers for _ in range(CONCURRENCY))
    )
    assert sum(processed) == 50
    assert {(await site.tls())["state"] for site in sites} == {"valid"}
    assert [await harness.events(site) for site in sites] == [["certificate.issued"]] * 50
    assert proxy.passed[FINALIZE] == 50
    async with harness.plane.database.reading() as tx:
        assert await tx.value("select count(*) from acme_accounts") == 1


async def test_owners_take_turns_however_many_names_one_has(harness: Harness):
    """A site can have a hundred names that all fail slowly."""
    crowd = await harness.create_site(requested=False)
    async with harness.plane.database.transaction() as tx:
        for number in range(20):
            await service.request_certificate(tx, crowd.id, f"n{number}.{crowd.domain}", REGION)
    other = await harness.create_site()
    looked: list[str] = []
    most, may_end = asyncio.Event(), asyncio.Event()

    class Slow:
        async def check(self, host: str, _region: str) -> None:
            looked.append(host)
            if len(looked) == 5:
                most.set()
            await may_end.wait()
            raise Problem("dns", "not now")

    certifier = harness.certifier(preflight=Slow())
    workers = [asyncio.create_task(certifier.process_due()) for _ in range(CONCURRENCY)]
    await asyncio.wait_for(most.wait(), TIMEOUT * slowdown())
    # The others have found nothing that they may do.
    await asyncio.wait(workers, timeout=TIMEOUT * slowdown(), return_when=asyncio.FIRST_COMPLETED)
    assert other.domain in looked
    assert len(looked) == 5
    may_end.set()
    assert sum(await asyncio.gather(*workers)) == 21


async def test_an_owner_does_not_use_up_the_orders_that_the_authority_allows(
    harness: Harness, proxy: AcmeProxy
):
    crowd, other = await harness.create_site(requested=False), await harness.create_site(requested=False)
    hosts = [f"n{number}.{crowd.domain}" for number in range(4)]

    async def request(site: Site, *names: str) -> None:
        async with harness.plane.database.transaction() as tx:
            for name in names:
                await service.request_certificate(tx, site.id, name, REGION)

    await request(crowd, *hosts)
    certifier = harness.certifier(proxy.directory, orders_per_owner=3)
    assert await certifier.process_due() == 4
    assert proxy.passed[ORDER] == 3
    [waiting] = [row for host in hosts if (row := await harness.row(host))["state"] == "pending"]
    assert waiting["error_code"] == "ca_rate_limited"
    assert "for your sites" in waiting["error"]
    # Requesting it again, as a restart of the site does, does not help; others are not concerned.
    await request(crowd, waiting["host"])
    await request(other, other.domain)
    assert await certifier.process_due() == 1
    assert (await other.tls())["state"] == "valid"
    assert await harness.events(crowd) == ["certificate.issued"] * 3
    assert waiting["attempts"] == 0
    harness.clock.move(ORDERS_PERIOD + OWNER_LIMIT_SPREAD)
    await certifier.delete_old_orders()
    assert await certifier.process_due() == 1
    assert (await harness.row(waiting["host"]))["state"] == "valid"
    assert len(await _orders(harness, crowd)) == 1


async def test_renewals_and_orders_that_cannot_be_placed_use_up_nothing(harness: Harness, proxy: AcmeProxy):
    site, other = await harness.create_site(), await harness.create_site()
    await harness.certifier(proxy.directory, orders_per_owner=1).process_due()
    assert len(await _orders(harness, site)) == 1
    # The first order is the last one that its owner has for now; the renewal is ordered nevertheless.
    async with harness.plane.database.transaction() as tx:
        await tx.run(
            "update certificates set stage = 'wanted', next_attempt_at = $2 where host = $1",
            site.domain,
            tx.now,
        )
    assert await harness.certifier(proxy.directory, orders_per_owner=1).process_due() == 1
    assert await harness.events(site) == ["certificate.issued", "certificate.renewed"]
    assert len(await _orders(harness, site)) == 2
    async with harness.plane.database.transaction() as tx:
        await service.request_certificate(tx, other.id, f"more.{other.domain}", REGION)
    certifier = harness.certifier("https://127.0.0.1:1/dir", orders_per_owner=5)
    assert await certifier.process_due() == 1
    assert (await harness.row(f"more.{other.domain}"))["error_code"] == "ca_unreachable"
    assert len(await _orders(harness, other)) == 1


async def _orders(harness: Harness, site: Site) -> list[str]:
    async with harness.plane.database.reading() as tx:
        return await tx.all(
            str,
            "select o.placed_at::text from certificate_orders o join sites s on s.account_id = o.owner"
            " where s.id = $1",
            site.id,
        )


async def test_a_stopped_worker_releases_its_lease_immediately(harness: Harness, proxy: AcmeProxy):
    site = await harness.create_site()
    proxy.hold_back = FINALIZE
    working = asyncio.create_task(harness.certifier(proxy.directory).process_due())
    await asyncio.wait_for(proxy.held_back.wait(), TIMEOUT)
    working.cancel()
    await asyncio.wait({working}, timeout=TIMEOUT)
    assert working.cancelled()
    proxy.release_responses()
    assert await harness.certifier(proxy.directory).process_due() == 1
    assert (await site.tls())["state"] == "valid"


async def test_a_worker_whose_lease_has_ended_changes_nothing(harness: Harness, proxy: AcmeProxy):
    site = await harness.create_site()
    proxy.hold_back = CERTIFICATE
    slow = asyncio.create_task(harness.certifier(proxy.directory).process_due())
    await asyncio.wait_for(proxy.held_back.wait(), TIMEOUT)
    proxy.hold_back = None
    harness.clock.move(LEASE * 1.01)
    assert await harness.certifier(proxy.directory).process_due() == 1
    before = await harness.row(site.domain)
    proxy.release_responses()
    await asyncio.wait({slow}, timeout=TIMEOUT)
    assert slow.done()
    assert await harness.row(site.domain) == before
    assert await harness.events(site) == ["certificate.issued"]


async def test_a_published_certificate_is_completed_without_the_authority(harness: Harness):
    """Only the records of the site could not be published; nothing else is repeated."""
    site = await harness.create_site()

    async def fail(_: str) -> None:
        raise LookupError("no")

    await harness.certifier(refresh_site=fail).process_due()
    assert (await site.tls())["error_code"] == "internal"
    published = list(harness.publisher.published)
    harness.clock.move(timedelta(minutes=2))
    await harness.certifier("https://127.0.0.1:1/dir").process_due()
    status = await site.tls()
    assert (status["state"], "error" in status) == ("valid", False)
    assert (harness.refreshed, harness.publisher.published) == ([site.id], published)


async def test_removing_a_certificate_stops_the_worker_that_processes_it(harness: Harness, proxy: AcmeProxy):
    site = await harness.create_site()
    proxy.hold_back = FINALIZE
    working = asyncio.create_task(harness.certifier(proxy.directory).process_due())
    await asyncio.wait_for(proxy.held_back.wait(), TIMEOUT)
    async with harness.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
    proxy.release_responses()
    await asyncio.wait_for(working, TIMEOUT)
    await harness.certifier(proxy.directory).process_due()
    assert await harness.row(site.domain) == {}
    assert harness.publisher.certificate(site.domain) is None
    assert await harness.events(site) == []


async def test_a_challenge_left_by_a_stopped_worker_is_withdrawn_when_the_certificate_is_removed(
    harness: Harness, proxy: AcmeProxy
):
    site = await harness.create_site()
    proxy.hold_back = CHALLENGE
    working = asyncio.create_task(harness.certifier(proxy.directory).process_due())
    await asyncio.wait_for(proxy.held_back.wait(), TIMEOUT)
    working.cancel()
    await asyncio.wait({working}, timeout=TIMEOUT)
    proxy.release_responses()
    row = await harness.row(site.domain)
    async with harness.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
    await harness.certifier(proxy.directory).process_due()
    assert row["order_uri"] is not None
    assert harness.publisher.challenges() == []
    assert await harness.row(site.domain) == {}


async def test_a_withdrawal_is_retried_when_the_edges_are_unavailable(harness: Harness):
    site = await harness.create_site()
    await harness.certifier().process_due()
    async with harness.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
    harness.publisher.unavailable = True
    assert await harness.certifier().process_due() == 1
    assert await harness.seconds_until_due(site.domain) > 0
    harness.publisher.unavailable = False
    harness.clock.move(timedelta(minutes=2))
    await harness.certifier().process_due()
    assert await harness.row(site.domain) == {}
    assert await harness.events(site) == ["certificate.issued"]

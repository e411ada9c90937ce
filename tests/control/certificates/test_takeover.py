"""Workers share the work; one that dies leaves nothing that another cannot end."""

import asyncio
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from stead.control.certificates import service
from stead.control.certificates.certifier import HANDS
from stead.control.certificates.rules import LEASE
from stead.dev.engines.pebble import Pebble
from stead.dev.subprocesses import Streams, spawn, wait_for_exit
from tests.control.certificates.between import CERTIFICATE, CHALLENGE, FINALIZE, ORDER, Between
from tests.control.certificates.conftest import Office

PATIENCE = 30


@pytest.mark.parametrize("where", [ORDER, CHALLENGE, FINALIZE, CERTIFICATE])
async def test_what_a_killed_worker_had_begun_another_ends(where: str, office: Office, between: Between):
    """It dies while the authority has done what was asked and the answer is on its way."""
    site = await office.site()
    between.withhold = where
    settings, pebble = office.plane.settings, office.stack[Pebble]
    with tempfile.TemporaryFile() as nothing:
        victim = spawn(
            [
                *(sys.executable, "-m", "tests.control.certificates.hand"),
                *(
                    settings.database_url,
                    settings.sealing_key,
                    between.directory,
                    str(pebble.server_certificate),
                ),
                str(office.stack.node_data),
            ],
            streams=Streams(nothing, nothing, sys.stderr.fileno()),
            cwd=Path(__file__).parents[3],
        )
    try:
        await asyncio.wait_for(between.withheld.wait(), PATIENCE)
    finally:
        victim.kill()
        await wait_for_exit(victim)
    between.let_go()
    assert (await site.tls())["state"] == "pending"
    certifier = office.certifier(between.directory)
    assert await certifier.work() == 0
    office.clock.move(LEASE * 1.01)
    await certifier.work()
    assert (await site.tls())["state"] == "valid"
    assert await office.events(site) == ["certificate.issued"]
    assert office.door.challenges() == []
    # What was ordered is taken up; an order of which nobody heard cannot be.
    assert between.passed[ORDER] == (2 if where == ORDER else 1)
    assert between.passed[FINALIZE] == 1


async def test_two_workers_issue_each_of_fifty_names_once(office: Office, between: Between):
    sites = [await office.site() for _ in range(50)]
    workers = [office.certifier(between.directory) for _ in range(2)]
    seen_to = await asyncio.gather(*(worker.work() for worker in workers for _ in range(HANDS)))
    assert sum(seen_to) == 50
    assert {(await site.tls())["state"] for site in sites} == {"valid"}
    assert [await office.events(site) for site in sites] == [["certificate.issued"]] * 50
    assert between.passed[FINALIZE] == 50
    async with office.plane.database.reading() as tx:
        assert await tx.value("select count(*) from acme_accounts") == 1


async def test_a_worker_that_is_stopped_leaves_its_work_at_once(office: Office, between: Between):
    site = await office.site()
    between.withhold = FINALIZE
    working = asyncio.create_task(office.certifier(between.directory).work())
    await asyncio.wait_for(between.withheld.wait(), PATIENCE)
    working.cancel()
    await asyncio.wait({working}, timeout=PATIENCE)
    assert working.cancelled()
    between.let_go()
    assert await office.certifier(between.directory).work() == 1
    assert (await site.tls())["state"] == "valid"


async def test_a_worker_whose_lease_is_over_changes_nothing_any_more(office: Office, between: Between):
    site = await office.site()
    between.withhold = CERTIFICATE
    slow = asyncio.create_task(office.certifier(between.directory).work())
    await asyncio.wait_for(between.withheld.wait(), PATIENCE)
    between.withhold = None
    office.clock.move(LEASE * 1.01)
    assert await office.certifier(between.directory).work() == 1
    before = await office.row(site.domain)
    between.let_go()
    await asyncio.wait({slow}, timeout=PATIENCE)
    assert slow.done()
    assert await office.row(site.domain) == before
    assert await office.events(site) == ["certificate.issued"]


async def test_what_remains_after_the_edges_were_told_needs_no_authority(office: Office):
    """The records of the site could not be published; nothing else is done twice."""
    site = await office.site()

    async def fail(_: str) -> None:
        raise LookupError("no")

    await office.certifier(refreshed=fail).work()
    assert (await site.tls())["error_code"] == "internal"
    told = list(office.door.told)
    office.clock.move(timedelta(minutes=2))
    await office.certifier("https://127.0.0.1:1/dir").work()
    shown = await site.tls()
    assert (shown["state"], "error" in shown) == ("valid", False)
    assert (office.refreshed, office.door.told) == ([site.id], told)


async def test_a_forgotten_host_stops_the_worker_that_is_at_it(office: Office, between: Between):
    site = await office.site()
    between.withhold = FINALIZE
    working = asyncio.create_task(office.certifier(between.directory).work())
    await asyncio.wait_for(between.withheld.wait(), PATIENCE)
    async with office.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
    between.let_go()
    await asyncio.wait_for(working, PATIENCE)
    await office.certifier(between.directory).work()
    assert await office.row(site.domain) == {}
    assert office.door.certificate(site.domain) is None
    assert await office.events(site) == []


async def test_a_challenge_that_was_left_behind_goes_with_its_host(office: Office, between: Between):
    site = await office.site()
    between.withhold = CHALLENGE
    working = asyncio.create_task(office.certifier(between.directory).work())
    await asyncio.wait_for(between.withheld.wait(), PATIENCE)
    working.cancel()
    await asyncio.wait({working}, timeout=PATIENCE)
    between.let_go()
    left = await office.row(site.domain)
    async with office.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
    await office.certifier(between.directory).work()
    assert left["order_uri"] is not None
    assert office.door.challenges() == []
    assert await office.row(site.domain) == {}


async def test_edges_that_cannot_be_told_to_forget_are_told_later(office: Office):
    site = await office.site()
    await office.certifier().work()
    async with office.plane.database.transaction() as tx:
        await service.remove_certificate(tx, site.domain)
    office.door.silent = True
    assert await office.certifier().work() == 1
    assert await office.due_in(site.domain) > 0
    office.door.silent = False
    office.clock.move(timedelta(minutes=2))
    await office.certifier().work()
    assert await office.row(site.domain) == {}
    assert await office.events(site) == ["certificate.issued"]

"""How names become verified, and what their owners are told."""

import asyncio
import contextlib
from datetime import timedelta

from stead.control.domains.proof import Finding
from stead.control.domains.rules import GIVE_UP
from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.control.domains.conftest import ELSEWHERE, Harness, Site
from tests.control.site_driver import new_domain
from tests.patience import time_limit

HOUR = timedelta(hours=1)


async def test_a_new_domain_is_pending_until_it_points_here(harness: Harness):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    site = await harness.create_site(name)
    domain = await site.domain_of(name)
    assert (domain["status"], domain["reason"]) == ("pending", "The name has not been looked up yet.")
    assert domain["primary"]
    assert domain["tls"] == {
        "domain": name,
        "state": "unconfigured",
        "ca": None,
        "issued_at": None,
        "expires_at": None,
    }
    assert harness.edges.environment_of(name) is None
    assert harness.edges.environment_of(site.subdomain) == site.env
    job = (await site.owner.get(f"/v1/jobs/{site.job}")).json()["data"]
    assert (job["status"], job["result"]["url"]) == ("succeeded", f"https://{site.subdomain}/")
    await harness.look_up()
    assert ELSEWHERE in (await site.domain_of(name))["reason"]
    await harness.point_here(name)
    assert (await site.verify(name)).status_code == 200
    await harness.look_up()
    domain = await site.domain_of(name)
    assert (domain["status"], domain["reason"]) == ("verified", None)
    # Only the record proves that the owner may also have the DNS zone of the name here.
    assert domain["challenge"]["name"] == f"_stead-challenge.{name}"
    assert harness.edges.environment_of(name) == site.env
    assert await harness.certificate_requested(name)
    assert "domain.verified" in await harness.events(site)


async def test_the_record_proves_a_name_before_it_points_here(harness: Harness):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    site = await harness.create_site(name)
    challenge = (await site.read())["challenge"]
    assert challenge == (await site.domain_of(name))["challenge"]
    assert challenge["name"] == f"_stead-challenge.{name}"
    await harness.set_txt(challenge["name"], "something else")
    await harness.look_up()
    assert (await site.domain_of(name))["status"] == "pending"
    await harness.set_txt(challenge["name"], challenge["value"])
    await site.verify(name)
    await harness.look_up()
    domain = await site.domain_of(name)
    assert (domain["status"], domain["challenge"]) == ("verified", None)
    assert (await site.read())["challenge"] is None


async def test_a_refused_record_is_quoted_in_bounded_length(harness: Harness):
    victim = await harness.served_site()
    name = f"shop.{victim.domain}"
    site = await harness.create_site(name)
    await harness.set_txt(f"_stead-challenge.{name}", "x" * 250)
    await harness.look_up()
    reason = (await site.domain_of(name))["reason"]
    assert f"_stead-challenge.{name} has the TXT record 'xxx" in reason
    assert len(reason) < 600


async def test_name_servers_that_do_not_answer_are_reported(harness: Harness):
    name = new_domain()
    for each in (name, f"_stead-challenge.{name}"):
        await harness.break_dns(each)
    site = await harness.create_site(name)
    await harness.look_up()
    domain = await site.domain_of(name)
    assert domain["status"] == "pending"
    assert "its name servers do not answer" in domain["reason"]


async def test_one_address_elsewhere_is_enough_to_refuse(harness: Harness):
    name = new_domain()
    await harness.point(name, "127.0.0.1", ELSEWHERE)
    site = await harness.create_site(name)
    await harness.look_up()
    assert (await site.domain_of(name))["status"] == "pending"


async def test_without_addresses_of_edges_only_the_record_proves_a_name(harness: Harness):
    from stead.control.domains.proof import ProofChecker

    site = await harness.create_site()
    verifier = harness.verifier(checker=ProofChecker("", harness.dns.address))
    await verifier.process_due()
    assert (await site.domain_of(site.domain))["status"] == "pending"
    await harness.prove(await site.domain_of(site.domain))
    await site.verify(site.domain)
    await verifier.process_due()
    assert (await site.domain_of(site.domain))["status"] == "verified"


async def test_pending_names_are_looked_up_less_often_with_time_and_then_given_up(
    harness: Harness, clock: MovableClock
):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    site = await harness.create_site(name)
    looks, waited = 0, []
    while (await site.domain_of(name))["status"] == "pending":
        looks += await harness.look_up()
        row = await harness.row(
            "select extract(epoch from next_check_at - $2)::float from domains where hostname = $1",
            name,
            clock(),
        )
        if row[0] is None:
            break
        waited.append(row[0])
        clock.ahead += timedelta(seconds=row[0] + 0.01)
    assert sorted(waited[:8]) == waited[:8]
    assert waited[0] < 12
    assert max(waited) <= 3600 * 1.11
    assert looks <= 9 + GIVE_UP / HOUR
    domain = await site.domain_of(name)
    assert domain["status"] == "failed"
    assert ELSEWHERE in domain["reason"]
    assert (await harness.events(site)).count("domain.failed") == 1
    # It is not looked up again until its owner asks.
    clock.ahead += 24 * HOUR
    assert await harness.look_up() == 0
    await harness.point_here(name)
    assert (await site.verify(name)).json()["data"]["status"] == "pending"
    await harness.look_up()
    assert (await site.domain_of(name))["status"] == "verified"


async def test_an_owner_may_ask_for_a_look_up_every_ten_seconds(harness: Harness, clock: MovableClock):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    site = await harness.create_site(name)
    assert (await site.verify(name)).status_code == 200
    refused = await site.verify(name)
    assert code_of(refused) == "rate_limit.exceeded"
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    clock.ahead += timedelta(seconds=10)
    assert (await site.verify(name)).status_code == 200
    assert await harness.look_up() == 1


async def test_verifying_a_verified_domain_changes_nothing(harness: Harness):
    site = await harness.served_site()
    for _ in range(3):
        assert (await site.verify(site.domain)).json()["data"]["status"] == "verified"
    assert await harness.look_up() == 0


async def test_owners_take_turns_however_many_names_one_has(harness: Harness):
    crowd = await harness.create_site()
    for _ in range(20):
        assert (await crowd.attach(new_domain())).status_code == 202
    other = await harness.create_site()
    order: list[str] = []

    class Recorder:
        async def check(self, claim, _needed):
            order.append(claim.owner)
            await asyncio.sleep(0.05)
            return Finding(False, reason="not now")

    verifier = harness.verifier(checker=Recorder())
    await asyncio.gather(*(verifier.process_due() for _ in range(4)))
    assert len(order) == 22
    owner = (await harness.row("select account_id from sites where id = $1", other.id))[0]
    assert order.index(owner) < 3


async def test_several_workers_look_each_name_up_once(harness: Harness):
    sites = [await harness.create_site() for _ in range(10)]
    looked = await asyncio.gather(*(harness.look_up() for _ in range(8)))
    assert sum(looked) == len(sites)
    assert {harness.edges.environment_of(site.domain) for site in sites} == {site.env for site in sites}


async def test_a_verified_name_is_announced_once_the_edges_can_be_reached(
    harness: Harness, clock: MovableClock
):
    site = await harness.create_site()
    harness.edges.is_down = True
    await harness.look_up()
    assert (await site.domain_of(site.domain))["status"] == "verified"
    assert harness.edges.environment_of(site.domain) is None
    harness.edges.is_down = False
    clock.ahead += timedelta(minutes=1)
    await harness.look_up()
    assert harness.edges.environment_of(site.domain) == site.env


async def test_a_worker_that_dies_during_a_look_up_is_replaced_when_its_lease_ends(
    harness: Harness, clock: MovableClock
):
    site = await harness.create_site()

    class Dying:
        async def check(self, _claim, _needed):
            raise asyncio.CancelledError

    with contextlib.suppress(asyncio.CancelledError):
        await harness.verifier(checker=Dying()).process_due()
    assert await harness.look_up() == 0
    clock.ahead += timedelta(minutes=2)
    assert await harness.look_up() == 1
    assert (await site.domain_of(site.domain))["status"] == "verified"


async def test_a_domain_of_a_deleted_site_is_not_looked_up_until_the_site_is_recovered(harness: Harness):
    name = new_domain()
    await harness.point(name, ELSEWHERE)
    site: Site = await harness.create_site(name)
    await harness.look_up()
    await harness.delete(site)
    row = await harness.row("select next_check_at from domains where hostname = $1", name)
    assert row[0] is None, "names that wait for a recovery are not read every second"
    await harness.point_here(name)
    harness.clock.ahead += HOUR
    assert await harness.look_up() == 0
    await harness.run(await site.owner.post(f"/v1/sites/{site.id}/recover"))
    await harness.look_up()
    assert harness.edges.environment_of(name) == site.env


async def test_whoever_finds_nothing_to_lease_waits_for_nobody(harness: Harness):
    """Also if names are due whose owner has all its leases: one owner could keep every worker waiting."""
    crowd = await harness.create_site()
    for _ in range(4):
        assert (await crowd.attach(new_domain())).status_code == 202
    looking, may_end = asyncio.Semaphore(0), asyncio.Event()

    class Slow:
        async def check(self, _claim, _needed):
            looking.release()
            await may_end.wait()
            return Finding(False, reason="not now")

    async with asyncio.TaskGroup() as group, time_limit(30.0):
        for _ in range(2):
            group.create_task(harness.verifier(checker=Slow()).process_due())
        for _ in range(2):
            await looking.acquire()
        async with harness.plane.database.transaction() as tx:
            await tx.run("select pg_advisory_xact_lock(hashtext('domains.claim'))")
            assert await harness.look_up() == 0
        may_end.set()

"""Where there is no certificate, its owner is told why, truly, and it is tried again at the right time."""

from datetime import timedelta

import pytest

from stead.control.certificates import service
from stead.control.certificates.certifier import Certifier
from stead.control.certificates.preflight import Preflight
from stead.control.certificates.rules import PAUSES
from stead.dev.engines.dns import LoopbackDns
from stead.dev.engines.pebble import Pebble
from stead.dev.supervised_program import LOOPBACK
from tests.control.certificates.between import CERTIFICATE, CHALLENGE, FINALIZE, ORDER, Between, refusal
from tests.control.certificates.conftest import REGION, Office, Site

NOBODY = f"https://{LOOPBACK}:1/dir"
LONG_ENOUGH = PAUSES[0] * 1.2
HIGHEST_JITTER = 1.11


async def fails(office: Office, certifier: Certifier, reason: str) -> tuple[Site, str]:
    """A fresh site whose certificate cannot be had, and what its owner is told."""
    site = await office.site()
    await certifier.work()
    shown = await site.tls()
    assert (shown["state"], shown["error_code"]) == ("pending", reason)
    assert await office.events(site) == ["certificate.failed"]
    return site, str(shown["error"])


async def recovers(office: Office, site: Site, certifier: Certifier | None = None) -> None:
    await (certifier or office.certifier()).work()
    shown = await site.tls()
    assert shown["state"] == "valid", shown
    assert "error" not in shown
    assert "error_code" not in shown
    assert await office.events(site) == ["certificate.failed", "certificate.issued"]


async def test_a_host_that_leads_elsewhere_does_not_trouble_the_authority(office: Office):
    """The authority is not there at all, and that is not what is said."""
    site = await office.site()
    await office.lead(site.domain, "192.0.2.7")
    await office.certifier(NOBODY).work()
    shown = await site.tls()
    assert (shown["state"], shown["error_code"]) == ("pending", "dns")
    assert shown["error"] == f"{site.domain} leads to 192.0.2.7. Let its A record lead to 127.0.0.1."
    await office.dns("clear-a", host=f"{site.domain}.")
    office.clock.move(LONG_ENOUGH)
    await recovers(office, site)


@pytest.mark.parametrize(
    ("kind", "addresses", "said"),
    [
        ("a", ["192.0.2.7", "192.0.2.8"], "leads to 192.0.2.7 or 192.0.2.8. Let its A records lead to"),
        ("a", ["127.0.0.1", "192.0.2.7"], "Remove its A record with that address"),
        ("aaaa", ["2001:db8::7"], "leads to 2001:db8::7. Remove its AAAA record"),
    ],
)
async def test_every_address_of_a_host_must_be_ours(
    kind: str, addresses: list[str], said: str, office: Office
):
    site = await office.site()
    await office.lead(site.domain, *addresses, kind=kind)
    await office.certifier(NOBODY).work()
    assert (await site.tls())["error_code"] == "dns"
    assert said in (await site.tls())["error"]


async def test_addresses_of_another_region_are_not_ours(office: Office):
    resolver = office.stack[LoopbackDns].address
    here, there = (Preflight(f"{where}={LOOPBACK}", resolver) for where in (REGION, "eu-west"))
    await here.check("a.example.com", REGION)
    await there.check("a.example.com", REGION)
    both = Preflight(f"{REGION}=192.0.2.0/24, eu-west={LOOPBACK}", resolver)
    _, said = await fails(office, office.certifier(NOBODY, preflight=both), "dns")
    assert said.endswith("Let its A record lead to 192.0.2.0/24.")


async def test_name_servers_that_fail_are_not_taken_for_a_wrong_address(office: Office):
    site = await office.site()
    await office.dns("set-servfail", host=f"{site.domain}.")
    await office.certifier(NOBODY).work()
    assert (await site.tls())["error_code"] == "dns_unanswered"
    await office.dns("clear-servfail", host=f"{site.domain}.")
    office.clock.move(LONG_ENOUGH)
    await recovers(office, site)


async def test_an_authority_that_is_down_is_asked_again_when_it_is_back(office: Office):
    """Pebble has forgotten our account by then: it is registered anew."""
    await office.site()
    await office.certifier().work()
    await office.stack.stop(Pebble)
    try:
        site, said = await fails(office, office.certifier(), "ca_unreachable")
        assert "does not answer" in said
    finally:
        await office.stack.start(Pebble)
    assert await office.certifier().work() == 0
    office.clock.move(LONG_ENOUGH)
    await recovers(office, site)


async def test_an_authority_in_trouble_is_told_from_one_that_refuses(office: Office, between: Between):
    between.refuse[ORDER] = refusal("serverInternal", "on fire", "503 Service Unavailable")
    site, said = await fails(office, office.certifier(between.directory), "ca_unreachable")
    assert "503" in said
    between.refuse.clear()
    office.clock.move(LONG_ENOUGH)
    await recovers(office, site, office.certifier(between.directory))


async def test_something_else_in_the_authoritys_place_is_no_reason_to_break(office: Office, between: Between):
    between.refuse["/dir"] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    _, said = await fails(office, office.certifier(between.directory), "ca_unreachable")
    assert "does not speak ACME" in said


async def test_the_authoritys_limits_are_kept(office: Office, between: Between):
    between.refuse[ORDER] = refusal(
        "rateLimited", "too many certificates", "429 Too Many Requests", "Retry-After: 7200\r\n"
    )
    certifier = office.certifier(between.directory)
    site, said = await fails(office, certifier, "ca_rate_limited")
    assert "too many certificates" in said
    assert await office.due_in(site.domain) > 7100
    between.refuse.clear()
    async with office.plane.database.transaction() as tx:
        await service.request_certificate(tx, site.id, site.domain, REGION)
    assert await certifier.work() == 0
    office.clock.move(timedelta(seconds=7210))
    await recovers(office, site, certifier)


async def test_a_host_that_is_wanted_anew_is_tried_at_once(office: Office):
    site, _ = await fails(office, office.certifier(NOBODY), "ca_unreachable")
    assert await office.certifier().work() == 0
    async with office.plane.database.transaction() as tx:
        await service.request_certificate(tx, site.id, site.domain, REGION)
    await recovers(office, site)


async def test_an_authority_whose_own_certificate_is_not_trusted_is_asked_for_nothing(
    office: Office, between: Between
):
    own_roots = office.certifier(between.directory, trust="")
    _, said = await fails(office, own_roots, "ca_untrusted")
    assert "not trusted" in said
    assert not between.passed


async def test_a_proof_that_the_authority_does_not_find_is_told_with_what_it_saw(office: Office):
    office.door.deaf = True
    site, said = await fails(office, office.certifier(), "challenge_failed")
    assert site.domain in said
    assert "404" in said
    office.door.deaf = False
    office.clock.move(LONG_ENOUGH)
    await recovers(office, site)


async def test_a_host_that_the_authority_does_not_issue_for_is_told_so(office: Office):
    site = await office.site(wanted=False)
    domain = f"{site.id.replace('_', '-')}.blocked.stead.example"
    async with office.plane.database.transaction() as tx:
        await tx.run("update sites set domain = $2 where id = $1", site.id, domain)
        await service.request_certificate(tx, site.id, domain, REGION)
    await office.certifier().work()
    shown = await site.tls()
    assert (shown["state"], shown["error_code"]) == ("pending", "ca_refused")


@pytest.mark.parametrize("at", [ORDER, FINALIZE])
async def test_a_caa_record_that_forbids_is_named(at: str, office: Office, between: Between):
    between.refuse[at] = refusal("caa", "CAA record forbids issuance", "403 Forbidden")
    _, said = await fails(office, office.certifier(between.directory), "caa")
    assert "CAA record in the DNS" in said


async def test_edges_that_cannot_be_told_are_ours_to_mend(office: Office, between: Between):
    """And the order that was placed is taken up when they can."""
    office.door.silent = True
    certifier = office.certifier(between.directory)
    site, _ = await fails(office, certifier, "edges")
    office.door.silent = False
    office.clock.move(LONG_ENOUGH)
    await recovers(office, site, certifier)
    assert between.passed[ORDER] == 1


async def test_a_failure_is_told_once_until_its_reason_changes(office: Office):
    site, _ = await fails(office, office.certifier(NOBODY), "ca_unreachable")
    for pause in (PAUSES[0], PAUSES[1]):
        office.clock.move(pause * HIGHEST_JITTER)
        assert await office.certifier(NOBODY).work() == 1
    assert await office.events(site) == ["certificate.failed"]
    await office.lead(site.domain, "192.0.2.7")
    office.clock.move(PAUSES[2] * HIGHEST_JITTER)
    await office.certifier(NOBODY).work()
    assert (await site.tls())["error_code"] == "dns"
    assert await office.events(site) == ["certificate.failed"] * 2


async def test_the_pauses_between_attempts_grow_and_end_at_six_hours(office: Office):
    site = await office.site()
    for pause in (*PAUSES, PAUSES[-1], PAUSES[-1]):
        assert await office.certifier(NOBODY).work() == 1
        due = await office.due_in(site.domain)
        assert pause.total_seconds() * 0.95 <= due <= pause.total_seconds() * HIGHEST_JITTER
        office.clock.move(timedelta(seconds=due + 1))


async def test_a_renewal_that_fails_leaves_the_certificate_in_place_and_says_why(office: Office):
    site = await office.site()
    await office.certifier().work()
    before = office.door.certificate(site.domain)
    office.clock.move(timedelta(days=62))
    await office.certifier(NOBODY).work()
    shown = await site.tls()
    assert (shown["state"], shown["error_code"]) == ("valid", "ca_unreachable")
    assert office.door.certificate(site.domain) == before
    assert await office.events(site) == ["certificate.issued", "certificate.failed"]


async def test_a_certificate_whose_end_has_passed_is_expired_and_still_renewed(office: Office):
    site = await office.site()
    await office.certifier().work()
    office.clock.move(timedelta(days=91))
    assert (await site.tls())["state"] == "expired"
    away = office.certifier(NOBODY)
    for _ in range(2):
        await away.watch()
        await away.work()
    shown = await site.tls()
    assert (shown["state"], shown["error_code"]) == ("expired", "ca_unreachable")
    assert office.refreshed == [site.id, site.id]
    told = ["certificate.issued", "certificate.expired", "certificate.failed"]
    assert await office.events(site) == told
    office.clock.ahead *= 0
    async with office.plane.database.transaction() as tx:
        await service.request_certificate(tx, site.id, site.domain, REGION)
    await office.certifier().work()
    assert (await site.tls())["state"] == "valid"
    assert await office.events(site) == [*told, "certificate.renewed"]


@pytest.mark.parametrize("at", [ORDER, CHALLENGE, FINALIZE, CERTIFICATE])
async def test_an_answer_that_makes_no_sense_leaves_a_reason_and_a_next_attempt(
    at: str, office: Office, between: Between
):
    between.refuse[at] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    site = await office.site()
    await office.certifier(between.directory).work()
    shown = await site.tls()
    assert shown["state"] == "pending"
    assert shown["error_code"] in ("ca_unreachable", "internal")
    assert await office.due_in(site.domain) > 0

"""A failure is reported to the owner with its reason, and retried at the right time."""

from datetime import timedelta

import pytest

from stead.control.certificates import service
from stead.control.certificates.certifier import Certifier
from stead.control.certificates.preflight import Preflight
from stead.control.certificates.rules import RETRY_DELAYS
from stead.dev.engines.dns import LoopbackDns
from stead.dev.engines.pebble import Pebble
from stead.dev.supervised_program import LOOPBACK
from tests.control.certificates.acme_proxy import CERTIFICATE, CHALLENGE, FINALIZE, ORDER, AcmeProxy, refusal
from tests.control.certificates.conftest import REGION, Harness, Site

UNREACHABLE_AUTHORITY = f"https://{LOOPBACK}:1/dir"
AFTER_FIRST_RETRY = RETRY_DELAYS[0] * 1.2
MAX_JITTER = 1.11


async def fail(harness: Harness, certifier: Certifier, reason: str) -> tuple[Site, str]:
    """Create a site whose certificate fails; return it with the error message that its owner sees."""
    site = await harness.create_site()
    await certifier.process_due()
    status = await site.tls()
    assert (status["state"], status["error_code"]) == ("pending", reason)
    assert await harness.events(site) == ["certificate.failed"]
    return site, str(status["error"])


async def recover(harness: Harness, site: Site, certifier: Certifier | None = None) -> None:
    await (certifier or harness.certifier()).process_due()
    status = await site.tls()
    assert status["state"] == "valid", status
    assert "error" not in status
    assert "error_code" not in status
    assert await harness.events(site) == ["certificate.failed", "certificate.issued"]


async def test_the_authority_is_not_contacted_for_a_host_that_points_elsewhere(harness: Harness):
    """The authority is not reachable, but that is not the reported reason."""
    site = await harness.create_site()
    await harness.point(site.domain, "192.0.2.7")
    await harness.certifier(UNREACHABLE_AUTHORITY).process_due()
    status = await site.tls()
    assert (status["state"], status["error_code"]) == ("pending", "dns")
    assert status["error"] == f"{site.domain} points to 192.0.2.7. Point its A record to 127.0.0.1."
    await harness.manage_dns("clear-a", host=f"{site.domain}.")
    harness.clock.move(AFTER_FIRST_RETRY)
    await recover(harness, site)


@pytest.mark.parametrize(
    ("kind", "addresses", "message"),
    [
        ("a", ["192.0.2.7", "192.0.2.8"], "points to 192.0.2.7 and 192.0.2.8. Point its A records to"),
        ("a", ["127.0.0.1", "192.0.2.7"], "Remove its A record with this address"),
        ("aaaa", ["2001:db8::7"], "points to 2001:db8::7. Remove its AAAA record"),
    ],
)
async def test_every_address_of_a_host_must_belong_to_an_edge(
    kind: str, addresses: list[str], message: str, harness: Harness
):
    site = await harness.create_site()
    await harness.point(site.domain, *addresses, kind=kind)
    await harness.certifier(UNREACHABLE_AUTHORITY).process_due()
    assert (await site.tls())["error_code"] == "dns"
    assert message in (await site.tls())["error"]


async def test_addresses_of_another_region_do_not_count(harness: Harness):
    resolver = harness.stack[LoopbackDns].address
    here, there = (Preflight(f"{region}={LOOPBACK}", resolver) for region in (REGION, "eu-west"))
    await here.check("a.example.com", REGION)
    await there.check("a.example.com", REGION)
    both = Preflight(f"{REGION}=192.0.2.0/24, eu-west={LOOPBACK}", resolver)
    _, message = await fail(harness, harness.certifier(UNREACHABLE_AUTHORITY, preflight=both), "dns")
    assert message.endswith("Point its A record to 192.0.2.0/24.")


async def test_failing_name_servers_are_not_reported_as_a_wrong_address(harness: Harness):
    site = await harness.create_site()
    await harness.manage_dns("set-servfail", host=f"{site.domain}.")
    await harness.certifier(UNREACHABLE_AUTHORITY).process_due()
    assert (await site.tls())["error_code"] == "dns_unanswered"
    await harness.manage_dns("clear-servfail", host=f"{site.domain}.")
    harness.clock.move(AFTER_FIRST_RETRY)
    await recover(harness, site)


async def test_an_unreachable_authority_is_retried(harness: Harness):
    """Pebble loses our account when it restarts, so the account is registered again."""
    await harness.create_site()
    await harness.certifier().process_due()
    await harness.stack.stop(Pebble)
    try:
        site, message = await fail(harness, harness.certifier(), "ca_unreachable")
        assert "does not answer" in message
    finally:
        await harness.stack.start(Pebble)
    assert await harness.certifier().process_due() == 0
    harness.clock.move(AFTER_FIRST_RETRY)
    await recover(harness, site)


async def test_an_internal_error_of_the_authority_is_not_reported_as_a_refusal(
    harness: Harness, proxy: AcmeProxy
):
    proxy.refuse[ORDER] = refusal("serverInternal", "on fire", "503 Service Unavailable")
    site, message = await fail(harness, harness.certifier(proxy.directory), "ca_unreachable")
    assert "503" in message
    proxy.refuse.clear()
    harness.clock.move(AFTER_FIRST_RETRY)
    await recover(harness, site, harness.certifier(proxy.directory))


async def test_a_server_that_does_not_speak_acme_is_reported(harness: Harness, proxy: AcmeProxy):
    proxy.refuse["/dir"] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    _, message = await fail(harness, harness.certifier(proxy.directory), "ca_unreachable")
    assert "does not speak ACME" in message


async def test_the_rate_limits_of_the_authority_are_respected(harness: Harness, proxy: AcmeProxy):
    proxy.refuse[ORDER] = refusal(
        "rateLimited", "too many certificates", "429 Too Many Requests", "Retry-After: 7200\r\n"
    )
    certifier = harness.certifier(proxy.directory)
    site, message = await fail(harness, certifier, "ca_rate_limited")
    assert "too many certificates" in message
    assert await harness.seconds_until_due(site.domain) > 7100
    proxy.refuse.clear()
    async with harness.plane.database.transaction() as tx:
        await service.request_certificate(tx, site.id, site.domain, REGION)
    assert await certifier.process_due() == 0
    harness.clock.move(timedelta(seconds=7210))
    await recover(harness, site, certifier)


async def test_requesting_a_failed_certificate_again_retries_it_immediately(harness: Harness):
    site, _ = await fail(harness, harness.certifier(UNREACHABLE_AUTHORITY), "ca_unreachable")
    assert await harness.certifier().process_due() == 0
    async with harness.plane.database.transaction() as tx:
        await service.request_certificate(tx, site.id, site.domain, REGION)
    await recover(harness, site)


async def test_an_authority_with_an_untrusted_certificate_receives_no_request(
    harness: Harness, proxy: AcmeProxy
):
    public_roots = harness.certifier(proxy.directory, trust="")
    _, message = await fail(harness, public_roots, "ca_untrusted")
    assert "not trusted" in message
    assert not proxy.passed


async def test_a_failed_challenge_is_reported_with_what_the_authority_received(harness: Harness):
    harness.publisher.ignoring = True
    site, message = await fail(harness, harness.certifier(), "challenge_failed")
    assert site.domain in message
    assert "404" in message
    harness.publisher.ignoring = False
    harness.clock.move(AFTER_FIRST_RETRY)
    await recover(harness, site)


async def test_a_host_that_the_authority_rejects_is_reported(harness: Harness):
    site = await harness.create_site(requested=False)
    domain = f"{site.id.replace('_', '-')}.blocked.stead.example"
    async with harness.plane.database.transaction() as tx:
        await tx.run("update sites set domain = $2 where id = $1", site.id, domain)
        await service.request_certificate(tx, site.id, domain, REGION)
    await harness.certifier().process_due()
    status = await site.tls()
    assert (status["state"], status["error_code"]) == ("pending", "ca_refused")


@pytest.mark.parametrize("at", [ORDER, FINALIZE])
async def test_a_caa_record_that_forbids_issuance_is_reported(at: str, harness: Harness, proxy: AcmeProxy):
    proxy.refuse[at] = refusal("caa", "CAA record forbids issuance", "403 Forbidden")
    _, message = await fail(harness, harness.certifier(proxy.directory), "caa")
    assert "CAA record in the DNS" in message


async def test_unavailable_edges_are_reported_and_the_order_is_kept(harness: Harness, proxy: AcmeProxy):
    harness.publisher.unavailable = True
    certifier = harness.certifier(proxy.directory)
    site, _ = await fail(harness, certifier, "edges")
    harness.publisher.unavailable = False
    harness.clock.move(AFTER_FIRST_RETRY)
    await recover(harness, site, certifier)
    assert proxy.passed[ORDER] == 1


async def test_the_failure_event_is_published_once_until_the_reason_changes(harness: Harness):
    site, _ = await fail(harness, harness.certifier(UNREACHABLE_AUTHORITY), "ca_unreachable")
    for delay in (RETRY_DELAYS[0], RETRY_DELAYS[1]):
        harness.clock.move(delay * MAX_JITTER)
        assert await harness.certifier(UNREACHABLE_AUTHORITY).process_due() == 1
    assert await harness.events(site) == ["certificate.failed"]
    await harness.point(site.domain, "192.0.2.7")
    harness.clock.move(RETRY_DELAYS[2] * MAX_JITTER)
    await harness.certifier(UNREACHABLE_AUTHORITY).process_due()
    assert (await site.tls())["error_code"] == "dns"
    assert await harness.events(site) == ["certificate.failed"] * 2


async def test_the_retry_delays_grow_up_to_six_hours(harness: Harness):
    site = await harness.create_site()
    for delay in (*RETRY_DELAYS, RETRY_DELAYS[-1], RETRY_DELAYS[-1]):
        assert await harness.certifier(UNREACHABLE_AUTHORITY).process_due() == 1
        due = await harness.seconds_until_due(site.domain)
        assert delay.total_seconds() * 0.95 <= due <= delay.total_seconds() * MAX_JITTER
        harness.clock.move(timedelta(seconds=due + 1))


async def test_a_failed_renewal_keeps_the_certificate_and_reports_the_reason(harness: Harness):
    site = await harness.create_site()
    await harness.certifier().process_due()
    before = harness.publisher.certificate(site.domain)
    harness.clock.move(timedelta(days=62))
    await harness.certifier(UNREACHABLE_AUTHORITY).process_due()
    status = await site.tls()
    assert (status["state"], status["error_code"]) == ("valid", "ca_unreachable")
    assert harness.publisher.certificate(site.domain) == before
    assert await harness.events(site) == ["certificate.issued", "certificate.failed"]


async def test_an_expired_certificate_is_marked_and_still_renewed(harness: Harness):
    site = await harness.create_site()
    await harness.certifier().process_due()
    harness.clock.move(timedelta(days=91))
    assert (await site.tls())["state"] == "expired"
    without_authority = harness.certifier(UNREACHABLE_AUTHORITY)
    for _ in range(2):
        await without_authority.enroll_and_expire()
        await without_authority.process_due()
    status = await site.tls()
    assert (status["state"], status["error_code"]) == ("expired", "ca_unreachable")
    assert harness.refreshed == [site.id, site.id]
    events = ["certificate.issued", "certificate.expired", "certificate.failed"]
    assert await harness.events(site) == events
    harness.clock.ahead *= 0
    async with harness.plane.database.transaction() as tx:
        await service.request_certificate(tx, site.id, site.domain, REGION)
    await harness.certifier().process_due()
    assert (await site.tls())["state"] == "valid"
    assert await harness.events(site) == [*events, "certificate.renewed"]


@pytest.mark.parametrize("at", [ORDER, CHALLENGE, FINALIZE, CERTIFICATE])
async def test_an_invalid_response_is_reported_and_retried(at: str, harness: Harness, proxy: AcmeProxy):
    proxy.refuse[at] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    site = await harness.create_site()
    await harness.certifier(proxy.directory).process_due()
    status = await site.tls()
    assert status["state"] == "pending"
    assert status["error_code"] in ("ca_unreachable", "internal")
    assert await harness.seconds_until_due(site.domain) > 0

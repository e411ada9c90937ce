"""The authority is asked when to renew, and can bring a renewal forward (RFC 9773).

Debian's Pebble offers no renewal information. Certificates are issued by Pebble; the directory with
`renewalInfo` and the renewal information are served by the HTTPS proxy in front of it, with its certificate.
"""

import asyncio
import base64
from datetime import datetime, timedelta

import msgspec
import pytest
from cryptography import x509

from stead.control.certificates.rules import RenewalWindow, apply_renewal_window
from stead.dev.supervised_program import LOOPBACK
from tests.control.certificates.acme_proxy import ORDER, AcmeProxy, refusal
from tests.control.certificates.conftest import Harness, Site
from tests.patience import time_limit

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
RENEWAL_INFO = "/renewal-info/"


def respond(body: object, headers: str = "") -> bytes:
    content = msgspec.json.encode(body)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content


def window(start: datetime, end: datetime) -> dict[str, object]:
    return {"suggestedWindow": {"start": start.isoformat(), "end": end.isoformat()}}


async def issue(harness: Harness) -> Site:
    """Issue a certificate, and move the clock to the time of its first check."""
    site = await harness.create_site()
    await harness.certifier().process_due()
    harness.clock.move(DAY + HOUR)
    return site


def suggest(proxy: AcmeProxy, body: object, headers: str = "", *, at: str = RENEWAL_INFO) -> None:
    base = f"https://{LOOPBACK}:{proxy.port}"
    proxy.refuse["/dir"] = respond({"renewalInfo": f"{base}{RENEWAL_INFO.rstrip('/')}"})
    proxy.refuse[at] = respond(body, headers)


async def check(harness: Harness, proxy: AcmeProxy) -> int:
    return await harness.certifier(proxy.directory).renewal_checker.check_batch()


async def seconds_until_check(harness: Harness, site: Site) -> float:
    at = datetime.fromisoformat((await harness.row(site.domain))["renewal_check_at"])
    return (at - harness.clock()).total_seconds()


def certificate_id(chain: str) -> str:
    """As RFC 9773 defines it: the issuer's key identifier and the serial number."""
    leaf = x509.load_pem_x509_certificate(chain.encode())
    issuer = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    assert issuer is not None
    serial = leaf.serial_number.to_bytes(leaf.serial_number.bit_length() // 8 + 1)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (issuer, serial))


async def test_a_certificate_whose_window_has_passed_is_renewed_at_once(harness: Harness, proxy: AcmeProxy):
    site = await harness.create_site()
    await harness.certifier().process_due()
    now = harness.clock()
    address = RENEWAL_INFO + certificate_id((await harness.row(site.domain))["chain"])
    suggest(proxy, window(now - 2 * HOUR, now - HOUR), at=address)
    assert await check(harness, proxy) == 0
    harness.clock.move(DAY + HOUR)
    assert await check(harness, proxy) == 1
    assert await harness.certifier().process_due() == 1
    assert await harness.events(site) == ["certificate.issued", "certificate.renewed"]
    suggest(proxy, window(now - 2 * HOUR, now - HOUR))
    assert await check(harness, proxy) == 0, "the next order must not follow at once"


async def test_an_earlier_window_moves_the_renewal_into_it_and_further_checks_keep_it(
    harness: Harness, proxy: AcmeProxy
):
    site = await issue(harness)
    now = harness.clock()
    suggest(proxy, window(now + 10 * DAY, now + 12 * DAY))
    assert await check(harness, proxy) == 1
    moved = (await harness.row(site.domain))["next_attempt_at"]
    assert now + 10 * DAY <= datetime.fromisoformat(moved) <= now + 12 * DAY
    assert await check(harness, proxy) == 0
    harness.clock.move(DAY)
    assert await check(harness, proxy) == 1
    assert (await harness.row(site.domain))["next_attempt_at"] == moved
    assert await harness.certifier().process_due() == 0
    harness.clock.move(11 * DAY + HOUR)
    assert await harness.certifier().process_due() == 1


def test_the_renewals_of_many_certificates_are_spread_over_the_window():
    now = datetime.fromisoformat("2026-01-01T00:00:00Z")
    suggested = RenewalWindow(now, now + 10 * DAY)
    moments = [
        apply_renewal_window(suggested, now + 60 * DAY, seed=f"certificate {number}", now=now)
        for number in range(1_000)
    ]
    per_day = [sum(now + day * DAY <= each < now + (day + 1) * DAY for each in moments) for day in range(10)]
    assert sum(per_day) == 1_000
    assert min(per_day) > 50


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            window(*(datetime.fromisoformat("2999-01-01T00:00:00Z") + n * DAY for n in (0, 1))), id="later"
        ),
        pytest.param(
            window(*(datetime.fromisoformat("2001-01-02T00:00:00Z") - n * DAY for n in (0, 1))), id="reversed"
        ),
        pytest.param(
            {"suggestedWindow": {"start": "0001-01-01T00:00:00Z", "end": "0001-01-01T00:00:00Z"}}, id="empty"
        ),
        pytest.param({"suggestedWindow": {"start": "tomorrow", "end": 5}}, id="no dates"),
        pytest.param({"suggestedWindow": {"start": "2001-01-01T00:00:00Z"}}, id="no end"),
        pytest.param({"suggestedWindow": None}, id="no window"),
        pytest.param(["hello"], id="not an object"),
    ],
)
async def test_a_useless_answer_leaves_the_renewal_where_it_was(
    body: object, harness: Harness, proxy: AcmeProxy
):
    site = await issue(harness)
    before = (await harness.row(site.domain))["next_attempt_at"]
    suggest(proxy, body)
    assert await check(harness, proxy) == 1
    assert (await harness.row(site.domain))["next_attempt_at"] == before
    assert HOUR.total_seconds() <= await seconds_until_check(harness, site) <= DAY.total_seconds()
    assert "error" not in await site.tls()


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param("/none", b"", id="no renewal information"),
        pytest.param(
            "/dir", refusal("serverInternal", "on fire", "503 Service Unavailable"), id="no directory"
        ),
        pytest.param("/dir", respond({"renewalInfo": 5}), id="directory without an address"),
        pytest.param(
            RENEWAL_INFO, refusal("malformed", "unknown certificate", "404 Not Found"), id="unknown"
        ),
        pytest.param(
            RENEWAL_INFO,
            refusal("rateLimited", "slowly", "429 Too Many Requests", "Retry-After: 9e9\r\n"),
            id="limit",
        ),
    ],
)
async def test_an_authority_that_does_not_answer_leaves_the_renewal_where_it_was(
    path: str, answer: bytes, harness: Harness, proxy: AcmeProxy
):
    site = await issue(harness)
    before = (await harness.row(site.domain))["next_attempt_at"]
    if path == RENEWAL_INFO:
        suggest(proxy, {})
    proxy.refuse[path] = answer
    assert await check(harness, proxy) == 1
    assert (await harness.row(site.domain))["next_attempt_at"] == before
    assert HOUR.total_seconds() <= await seconds_until_check(harness, site) <= DAY.total_seconds()


@pytest.mark.parametrize(
    ("header", "hours"),
    [("", 6), ("10", 1), ("7200", 2), ("9" * 5_000, 24), ("Fri, 31 Dec 2999 23:59:59 GMT", 24), ("soon", 6)],
)
async def test_the_next_check_follows_retry_after_within_limits(
    header: str, hours: int, harness: Harness, proxy: AcmeProxy
):
    site = await issue(harness)
    now = harness.clock()
    suggest(proxy, window(now + 70 * DAY, now + 71 * DAY), f"Retry-After: {header}\r\n" if header else "")
    assert await check(harness, proxy) == 1
    assert await seconds_until_check(harness, site) == pytest.approx(hours * 3600, abs=60)


async def test_the_retry_of_a_failed_renewal_is_not_brought_forward(harness: Harness, proxy: AcmeProxy):
    site = await issue(harness)
    now = harness.clock()
    suggest(proxy, window(now - 2 * HOUR, now - HOUR))
    assert await check(harness, proxy) == 1
    del proxy.refuse["/dir"]
    proxy.refuse[ORDER] = refusal("rateLimited", "slowly", "429 Too Many Requests", "Retry-After: 604800\r\n")
    assert await harness.certifier(proxy.directory).process_due() == 1
    suggest(proxy, window(now - 2 * HOUR, now - HOUR))
    harness.clock.move(2 * DAY)
    assert await check(harness, proxy) == 0
    assert await harness.seconds_until_due(site.domain) > 4 * DAY.total_seconds()


async def test_a_certificate_is_checked_by_one_worker_at_a_time(harness: Harness, proxy: AcmeProxy):
    """If the certificate is removed during the check, the answer is not recorded."""
    site = await issue(harness)
    now = harness.clock()
    suggest(proxy, window(now + DAY, now + 2 * DAY))
    proxy.hold_back = RENEWAL_INFO
    async with time_limit(30), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(check(harness, proxy))
        await proxy.held_back.wait()
        assert await check(harness, proxy) == 0
        async with harness.plane.database.transaction() as tx:
            await tx.run("update certificates set forgotten = true where host = $1", site.domain)
        proxy.release_responses()
    assert first.result() == 0

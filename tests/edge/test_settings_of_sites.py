"""The effect of settings of a site at the edge: listed networks, a partner's firewall, lockout, hot pages."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stead.control.configuration.rules import digest_partner_secret
from stead.dev.supervised_program import LOOPBACK
from stead.node.listed_networks import FILE, ListedNetworks
from stead.protocol.edge_records import PartnerRecord, PurgeRecord
from tests.edge.edge_harness import BOUND, POLL, EdgeHarness, status_of
from tests.edge.fastcgi import Application, Reply, Request
from tests.patience import time_limit

KEY = "a-long-key-that-only-the-partner-knows"
PARTNER = {"X-WAF-Partner-Id": "acme", "X-WAF-Partner-Key": KEY}


@pytest.fixture(scope="module")
async def app(edge: EdgeHarness) -> Application:
    made = await edge.application("set")
    numbers = itertools.count()

    async def respond(request: Request) -> Reply:
        told = request.params
        return Reply(
            b"%d %s" % (next(numbers), told["REMOTE_ADDR"].encode()), headers=(("Cache-Tag", "news"),)
        )

    made.handler = respond
    await edge.site("set.test", "set", None, runtime="cms", waf="off", cache_ttl=600)
    await edge.site("files.test", "files", {"index.html": "a file"}, ip_reputation=True)
    return made


async def change(edge: EdgeHarness, **fields: Any) -> None:
    await edge.environment("set", **({"runtime": "cms", "waf": "off", "cache_ttl": 600} | fields))


async def send(edge: EdgeHarness, host: str, path: str, address: str, **headers: str) -> bytes:
    """From another address of this machine."""
    reader, writer = await asyncio.open_connection(LOOPBACK, edge.port, local_addr=(address, 0))
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    writer.write(
        "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()
    )
    async with time_limit(BOUND):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.fixture
async def listed(edge: EdgeHarness, tmp_path: Path) -> AsyncIterator[Path]:
    """The operator's list; nginx reads it."""
    source = tmp_path / "networks.txt"
    source.write_text("# attackers\n127.0.5.0/24 ; SBL1\n\n2001:db8::/32\n127.0.6.7\n")
    assert await ListedNetworks(str(source), edge.data, every=60).refresh()
    yield source
    await ListedNetworks("", edge.data, every=60).refresh()


async def until_status(edge: EdgeHarness, host: str, address: str, status: int) -> bytes:
    async with time_limit(BOUND):
        while True:
            answer = await send(edge, host, "/", address)
            if status_of(answer) == status:
                return answer
            await asyncio.sleep(POLL)


async def test_visitors_from_listed_networks_are_refused(
    edge: EdgeHarness, app: Application, listed: Path
) -> None:
    await change(edge, ip_reputation=True)
    for host in ("set.test", "files.test"):
        answer = await until_status(edge, host, "127.0.5.9", 403)
        assert b"X-Stead-Reason: listed" in answer
        # Each worker reads the list itself.
        for _ in range(20):
            await until_status(edge, host, "127.0.5.9", 403)
        assert status_of(await send(edge, host, "/", "127.0.6.7")) == 403
        for address in ("127.0.0.1", "127.0.4.255", "127.0.6.6", "127.0.6.8"):
            assert status_of(await send(edge, host, "/", address)) == 200
    await send(edge, "set.test", "/listed-visit", "127.0.5.9")
    line = await edge.ledgered("/listed-visit")
    assert (line["status"], line["reason"], line["environment"]) == (403, "listed", "env_set")
    await change(edge, ip_reputation=False)
    assert status_of(await send(edge, "set.test", "/", "127.0.5.9")) == 200


async def refresh(edge: EdgeHarness, source: Path, text: str) -> bool:
    await asyncio.to_thread(source.write_text, text)
    return await ListedNetworks(str(source), edge.data, every=60).refresh()


async def test_a_list_that_cannot_be_used_changes_nothing(
    edge: EdgeHarness, app: Application, listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = (edge.run / FILE).read_bytes()
    for bad in ("<html>error</html>\n" * 3, "0.0.0.0/0\n", "127.0.0.1\n" * 300 + "nonsense\n" * 9):
        assert not await refresh(edge, listed, bad)
    monkeypatch.setattr("stead.node.listed_networks.MAX_BYTES", 10)
    assert not await refresh(edge, listed, "10.0.0.0/8\n10.1.0.0/16\n")
    assert not await ListedNetworks("/nowhere", edge.data, every=60).refresh()
    # Nobody listens there.
    assert not await ListedNetworks(f"https://{LOOPBACK}:1/list", edge.data, every=60).refresh()
    assert (edge.run / FILE).read_bytes() == good
    await until_status(edge, "files.test", "127.0.5.9", 403)


async def test_a_file_in_quarantine_is_blocked_and_the_ledger_says_so(
    edge: EdgeHarness, app: Application
) -> None:
    await change(edge, quarantined=("/wp-content/uploads/bad file.php",))
    try:
        for path in ("/wp-content/uploads/bad%20file.php", "/wp-content/./uploads/bad%20file.php?cmd=id"):
            answer = await send(edge, "set.test", path, LOOPBACK)
            assert status_of(answer) == 403
            assert b"X-Stead-Reason: quarantined" in answer
        assert status_of(await send(edge, "set.test", "/beside-quarantine", LOOPBACK)) == 200
        line = await edge.ledgered("/wp-content/uploads/bad%20file.php")
        assert (line["status"], line["reason"]) == (403, "quarantined")
    finally:
        await change(edge)
    restored = await send(edge, "set.test", "/wp-content/uploads/bad%20file.php?restored", LOOPBACK)
    assert b"X-Stead-Reason: quarantined" not in restored


async def test_a_site_with_a_partner_answers_only_through_the_partner(
    edge: EdgeHarness, app: Application
) -> None:
    await change(edge, partner=PartnerRecord("acme", digest_partner_secret(KEY)))
    try:
        wrong = [{}, PARTNER | {"X-WAF-Partner-Key": "x"}, PARTNER | {"X-WAF-Partner-Id": "other"}]
        for headers in wrong * 2:
            answer = await send(edge, "set.test", "/partner", LOOPBACK, **headers)
            assert status_of(answer) == 403
            assert b"X-Stead-Reason: not_through_partner" in answer
        for _ in range(2):
            seen = {"X-Forwarded-For": "203.0.113.5, 198.51.100.7", "Cookie": "own=1"}
            answer = await send(edge, "set.test", "/partner", LOOPBACK, **PARTNER, **seen)
            assert b"198.51.100.7" in answer
        told = app.seen[-1].params
        assert KEY not in str(told.values())
    finally:
        await change(edge)


async def test_without_a_partner_nobody_can_pretend_an_address(edge: EdgeHarness, app: Application) -> None:
    forged = {"X-Forwarded-For": "198.51.100.7", "Cookie": "own=1"}
    assert b"198.51.100.7" not in await send(edge, "set.test", "/x", LOOPBACK, **PARTNER, **forged)


async def warm(edge: EdgeHarness, path: str, wanted: str) -> bytes:
    reader, writer = await asyncio.open_unix_connection(edge.run / "private" / "probe.sock")
    lines = [f"GET {path} HTTP/1.1", "Host: set.test", f"X-Stead-Warm: {wanted}", "Connection: close", "", ""]
    writer.write("\r\n".join(lines).encode())
    async with time_limit(BOUND):
        answer = await reader.read()
    writer.close()
    return answer


async def test_a_page_is_kept_warm_without_visitors_noticing(edge: EdgeHarness, app: Application) -> None:
    await change(edge, hot_pages=5, hot_ttl=60)
    first = (await edge.get("set.test", "/hot")).text
    assert b"X-Cache: HIT" in await warm(edge, "/hot", "http")
    assert b"X-Cache: BYPASS" in await warm(edge, "/hot", "http refresh")
    fresh = await edge.get("set.test", "/hot")
    assert (fresh.headers["x-cache"], fresh.text != first) == ("HIT", True)
    await edge.tell("purge", "env_set.tag.x", PurgeRecord("env_set", tag="news"))
    assert b"X-Cache: MISS" in await warm(edge, "/hot", "http")
    assert (await edge.get("set.test", "/hot")).headers["x-cache"] == "HIT"
    # Pages of HTTPS are others.
    assert b"X-Cache: MISS" in await warm(edge, "/hot", "https")
    before = len(app.seen)
    assert status_of(await warm(edge, "/wp-login.php", "http refresh")) == 204
    assert len(app.seen) == before
    # A visitor cannot use it.
    answer = await edge.get("set.test", "/hot", headers={"X-Stead-Warm": "http refresh"})
    assert answer.headers["x-cache"] == "HIT"


async def test_a_site_cannot_use_up_the_counters_of_failed_sign_ins(
    edge: EdgeHarness, app: Application
) -> None:
    """An attacker with many addresses signs in at a site of his own; the lockout of another site stays."""
    await change(edge, login_lockout=True)
    attacked = await edge.application("own")
    await edge.site("own.test", "own", None, runtime="cms", waf="off", login_lockout=True)

    async def fail(host: str, address: str) -> int:
        reader, writer = await asyncio.open_connection(LOOPBACK, edge.port, local_addr=(address, 0))
        head = (
            f"POST /wp-login.php HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode())
        async with time_limit(BOUND):
            answer = await reader.read()
        writer.close()
        return status_of(answer)

    for _ in range(5):
        assert await fail("set.test", "127.0.7.1") == 200
    assert await fail("set.test", "127.0.7.1") == 429
    free = (await edge.admin.state()).free["lockout"]
    addresses = [f"127.{b}.{c}.1" for b in range(20, 30) for c in range(150)]
    for start in range(0, len(addresses), 50):
        await asyncio.gather(*(fail("own.test", each) for each in addresses[start : start + 50]))
    assert (await edge.admin.state()).free["lockout"] > free - 256 * 1024
    # Addresses without a counter of their own share one, so they cannot try without limit.
    assert await fail("own.test", "127.40.0.1") == 429
    assert await fail("own.test", addresses[0]) == 200
    assert await fail("set.test", "127.0.7.1") == 429
    # Those that were under way together are not counted yet.
    assert len(attacked.seen) <= 512 + 16 * 50 + 50

"""Probes through the private socket: they can see releases that visitors cannot see yet."""

import httpx
import pytest

from tests.edge.edge_harness import EdgeHarness

SHOWN, NEXT = "a" * 64, "b" * 64


async def _asked(edge: EdgeHarness, host: str, release: str | None) -> tuple[int, str]:
    """Through the socket that only the node can open."""
    door = httpx.AsyncHTTPTransport(uds=str(edge.run / "private" / "probe.sock"))
    headers = {"host": host} | ({"x-stead-release": release} if release is not None else {})
    async with httpx.AsyncClient(transport=door) as client:
        answer = await client.get("http://edge/", headers=headers)
    return answer.status_code, answer.text


async def _site(edge: EdgeHarness, host: str, **how: object) -> str:
    edge.release(SHOWN, {"index.html": "what visitors see"})
    edge.release(NEXT, {"index.html": "what comes next"})
    await edge.site(host, host.partition(".")[0], None, release=SHOWN, **how)
    return host


async def test_a_probe_can_request_a_release_that_no_record_names(edge: EdgeHarness) -> None:
    host = await _site(edge, "probed.test")
    assert await _asked(edge, host, NEXT) == (200, "what comes next")
    assert await _asked(edge, host, None) == (200, "what visitors see")
    assert (await edge.get(host)).text == "what visitors see"


async def test_a_probe_passes_the_address_allowlist(edge: EdgeHarness) -> None:
    host = await _site(edge, "closed.test", allowed_ips=["192.0.2.0/24"])
    assert await _asked(edge, host, NEXT) == (200, "what comes next")
    assert (await edge.get(host, headers={"x-stead-release": NEXT})).status_code == 403


async def test_a_visitor_cannot_request_a_release(edge: EdgeHarness) -> None:
    host = await _site(edge, "forged.test")
    for name in ("x-stead-release", "X-Stead-Release"):
        answer = await edge.get(
            host, headers={name: NEXT, "x-forwarded-for": "unix:", "x-stead-visitor": "unix:"}
        )
        assert (answer.status_code, answer.text) == (200, "what visitors see")


@pytest.mark.parametrize("name", ["..", "../..", "b" * 63, "b" * 65, "B" * 64, "", "/etc", f"{'b' * 62}/."])
async def test_a_malformed_release_is_ignored(edge: EdgeHarness, name: str) -> None:
    host = await _site(edge, "strange.test")
    assert await _asked(edge, host, name) == (200, "what visitors see")

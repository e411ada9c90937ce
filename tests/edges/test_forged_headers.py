"""What the edges say to one another in headers, said by a visitor, gains him nothing."""

import pytest

from tests.edges.region import Region

ALLOWED = "203.0.113.7"
FORGED = {
    "Forwarded": f"for={ALLOWED};proto=https",
    "True-Client-IP": ALLOWED,
    "X-Accel-Internal": "/",
    "X-Client-IP": ALLOWED,
    "X-Forwarded-For": ALLOWED,
    "X-Forwarded-Host": "forged.example.com",
    "X-Forwarded-Proto": "https",
    "X-Original-URL": "/forged.html",
    "X-Real-IP": ALLOWED,
    "X-Rewrite-URL": "/forged.html",
    "X-Stead-Cacheable": "1",
    "X-Stead-Scheme": "https",
    "X-Stead-Verdict": "pass",
    "X-Stead-Visitor": ALLOWED,
}
HOP = {"X-Stead-Hop": "1"}


async def test_the_same_page_is_shown(region: Region) -> None:
    for carrier in region.machines:
        site, wanted = await region.publish(carrier), await region.publish(carrier)
        words = {"X-Stead-Environment": wanted.environment, "X-Stead-Release": wanted.release}
        for machine in region.machines:
            answer = await region.visit(machine, site.host, **FORGED, **words)
            assert (answer.status_code, answer.text) == (200, site.page)


@pytest.mark.parametrize("hop", [{}, HOP], ids=["plain", "as an edge"])
async def test_an_address_that_is_not_allowed_stays_outside(region: Region, hop: dict[str, str]) -> None:
    for carrier in region.machines:
        site = await region.publish(carrier, allowed_ips=(ALLOWED,))
        answer = await region.visit(site.carrier, site.host, **FORGED, **hop)
        assert (answer.status_code, answer.headers["x-stead-reason"]) == (403, "not_allowed")
        answer = await region.visit(site.other, site.host, **FORGED, **hop)
        assert site.page not in answer.text
        # Whoever says that he was passed on already is not passed on again.
        assert answer.headers["x-stead-reason"].startswith("loop" if hop else "not_allowed")


@pytest.mark.parametrize("hop", [{}, HOP], ids=["plain", "as an edge"])
async def test_whoever_came_without_tls_is_sent_to_it(region: Region, hop: dict[str, str]) -> None:
    site = await region.publish(region.machines[0], https=True)
    for machine in region.machines:
        answer = await region.visit(machine, site.host, "/here?a=b", **FORGED, **hop)
        assert answer.status_code == 301
        assert answer.headers["location"] == f"https://{site.host}/here?a=b"


async def test_the_ledger_names_the_visitor_s_own_network(region: Region) -> None:
    site = await region.publish(region.machines[0])
    for machine in region.machines:
        await region.visit(machine, site.host, "/forged", **FORGED)
    await region.visit(site.carrier, site.host, "/forged", **FORGED, **HOP)
    visits = await site.carrier.visits("/forged", host=site.host, at_least=3)
    mine = site.carrier.namespace.address.rpartition(".")[0] + ".0"
    assert [visit["address"] for visit in visits] == [mine] * 3

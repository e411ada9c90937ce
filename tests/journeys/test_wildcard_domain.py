"""A wildcard domain: from the zone to visitors of any name below it, over HTTPS."""

import dns.asyncquery
import dns.message
import httpx
import pytest

from stead.dev.engines.powerdns import PowerDns
from stead.dev.running_stack import RunningStack
from stead.dev.supervised_program import LOOPBACK
from stead.node.drivers.placeholder import PAGE
from tests.client import code_of
from tests.journeys.customer import Customer
from tests.journeys.visitor import Answer, Visitor
from tests.node.harness import until

DOMAIN = "wildcard-journey.example"
TITLE = PAGE.split("<title>")[1].split("</title>")[0]


async def _create_site(customer: Customer, domain: str) -> str:
    created = await customer.does("POST", "/v1/sites", {"domain": domain, "profile": "static"})
    return f"/v1/sites/{created['resource']['site_id']}"


async def _look_up(stack: RunningStack, name: str, kind: str) -> list[str]:
    query = dns.message.make_query(f"{name}.", kind)
    answer = await dns.asyncquery.udp(query, LOOPBACK, port=stack[PowerDns].dns_port, timeout=5)
    return [str(each) for part in answer.answer for each in part]


async def test_any_name_below_a_wildcard_is_served_over_https(
    customer: Customer, visitor: Visitor, stack: RunningStack
) -> None:
    site = await _create_site(customer, DOMAIN)
    domains, records = f"{site}/environments/production/domains", f"{site}/dns/records"
    refused = await customer.api.post(domains, json={"hostname": f"*.{DOMAIN}"})
    assert code_of(refused) == "domain.needs_zone"
    made = await customer.post(records, {"type": "TXT", "name": "@", "value": "v=spf1 -all"})

    async def is_delegated() -> bool | None:
        return (await customer.get(f"{records}/{made['id']}"))["delegation"] == "complete" or None

    await until(is_delegated, bound=60)
    await customer.does("POST", domains, {"hostname": f"*.{DOMAIN}"})
    await visitor.until(f"any-name.{DOMAIN}", TITLE)

    async def is_redirected() -> Answer | None:
        """The record that tells the edge to redirect follows the certificate."""
        plain = await visitor.get(f"another.{DOMAIN}", "/a?b", secure=False)
        return plain if plain.status != 200 else None

    plain = await until(is_redirected, bound=60)
    assert (plain.status, plain.headers["location"].split(":")[1]) == (301, f"//another.{DOMAIN}")
    await visitor.until(DOMAIN, TITLE)
    with pytest.raises(httpx.ConnectError):
        await visitor.get(f"a.b.{DOMAIN}")

    # The name server has the addresses, and the proof no longer.
    async def has_addresses() -> bool | None:
        return await _look_up(stack, f"any.{DOMAIN}", "A") == [LOOPBACK] or None

    async def has_no_proof() -> bool | None:
        return await _look_up(stack, f"_acme-challenge.{DOMAIN}", "TXT") == [] or None

    await until(has_addresses, bound=60)
    await until(has_no_proof, bound=60)
    for type_, value in (("TXT", "mine"), ("CNAME", "mine.example.net"), ("NS", "ns1.example.net")):
        body = {"type": type_, "name": "_acme-challenge", "value": value}
        assert code_of(await customer.api.post(records, json=body)) == "dns_record.conflicts"

    # Another site of the owner has its own name, and its own certificate, below the wildcard.
    other = await _create_site(customer, f"shop.{DOMAIN}")

    async def has_certificate() -> bool | None:
        return (await customer.get(f"{other}/tls"))["state"] == "valid" or None

    await until(has_certificate, bound=60)
    await visitor.until(f"shop.{DOMAIN}", TITLE)

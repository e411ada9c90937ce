"""The preview host of production: a customer looks at the site over HTTPS before the domain points here."""

import httpx
import pytest

from stead.node.drivers.placeholder import PAGE
from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.node.harness import until

DOMAIN = "not-switched-yet.example.com"
TITLE = PAGE.split("<title>")[1].split("</title>")[0]


@pytest.mark.timeout(300)
async def test_the_preview_host_of_production_has_a_certificate_until_the_site_is_deleted(
    customer: Customer, visitor: Visitor
) -> None:
    created = await customer.does("POST", "/v1/sites", {"domain": DOMAIN, "profile": "static"})
    site = f"/v1/sites/{created['resource']['site_id']}"
    host = (await customer.get(f"{site}/environments/production"))["subdomain"]
    await visitor.until(host, TITLE)

    await customer.does("DELETE", site, {"confirm_domain": DOMAIN})
    await _lose_certificate(visitor, host)
    await customer.does("POST", f"{site}/recover")
    await visitor.until(host, TITLE)


async def _lose_certificate(visitor: Visitor, host: str) -> None:
    async def has_none() -> bool | None:
        try:
            await visitor.get(host)
        except httpx.ConnectError:
            return True
        return None

    await until(has_none, bound=60)

"""Environments of a WordPress site have its data: cloned, changed, refreshed, reset, suspended, destroyed."""

import pytest

from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import DOMAIN, WordPressSite


@pytest.mark.timeout(600)
async def test_environments_have_the_data_of_production_and_leave_it_alone(
    customer: Customer, visitor: Visitor, wordpress_site: WordPressSite
) -> None:
    site, production = wordpress_site.path, f"{wordpress_site.path}/environments/production"
    await customer.run(production, "post", "create", "--post_title=Bestseller", "--post_status=publish")

    created = await customer.does("POST", f"{site}/environments", {"type": "staging", "copy_uploads": True})
    staging = f"{site}/environments/{created['result']['env_id']}"
    host = (await customer.get(staging))["subdomain"]
    await visitor.until(host, "Bestseller")
    await visitor.until(host, DOMAIN)

    # What is changed in staging is not seen in production.
    await customer.run(staging, "option", "update", "blogname", "Only here")
    await visitor.until(host, "Only here", "/?after=change")
    assert "Only here" not in (await visitor.get(wordpress_site.host, "/?after=change")).text

    # A refresh brings what production has now.
    await customer.run(production, "post", "create", "--post_title=Newcomer", "--post_status=publish")
    await customer.does("POST", f"{staging}/refresh")
    await visitor.until(host, "Newcomer", "/?after=refresh")
    assert "Only here" not in (await visitor.get(host, "/?after=refresh")).text

    # A branch environment is a copy, too. It sleeps, and comes back with its rows.
    made = await customer.does("POST", f"{site}/environments", {"type": "branch", "branch": "redesign"})
    branch = f"{site}/environments/{made['result']['env_id']}"
    other = (await customer.get(branch))["subdomain"]
    await visitor.until(other, "Newcomer")
    await customer.does("POST", f"{branch}/suspend")
    assert (await visitor.get(other, "/?after=suspension")).status == 503
    await customer.does("POST", f"{branch}/resume")
    await visitor.until(other, "Newcomer", "/?after=resumption")
    await customer.does("DELETE", branch)

    # A reset is a new WordPress.
    await customer.does("POST", f"{staging}/reset")
    await visitor.until(host, "Hello world!", "/?after=reset")
    assert "Newcomer" not in (await visitor.get(host, "/?after=reset")).text
    await customer.does("POST", f"{staging}/refresh")
    await visitor.until(host, "Newcomer", "/?after=another-refresh")
    await customer.does("DELETE", staging)
    await visitor.until(wordpress_site.host, "Newcomer", "/?after=all")

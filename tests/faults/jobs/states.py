"""States of sites and answers to visitors that several scenarios share."""

from dataclasses import replace

from stead.control.jobs.rules import NoNode
from stead.control.nodes import store
from stead.control.nodes.rules import describe_offers
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import ExpectedState, Refusal, Sight
from tests.faults.jobs.sites import MISSING_REGION, SiteUnderTest

SERVED = ExpectedState("running", routed=True, on_node=True, assigned=True)
DELETED = ExpectedState("deleted", routed=False, on_node=True, assigned=True)
"""It can be recovered: the node still has its environment."""
FAILED = ExpectedState("failed", routed=False, on_node=False, assigned=False, has_reason=True)
FIRST, SECOND = replace(SERVED, shows=1), replace(SERVED, shows=2)

PAGE: Sight = (200, "")
UNKNOWN_HOST: Sight = (404, "unknown_host")
NO_PAGE: Sight = (404, "not_found")
NOT_ALLOWED: Sight = (403, "not_allowed")
SUSPENDED: Sight = (503, "suspended")


async def without_node(harness: Harness, site: SiteUnderTest) -> Refusal:
    """Move the site to a region without nodes, and take its node away."""
    await harness.sql("update sites set region = $2 where id = $1", site.id, MISSING_REGION)
    await harness.sql("update environments set node_id = null where site_id = $1", site.id)
    async with harness.database.reading() as tx:
        available = describe_offers(await store.list_offers_with_room(tx))
    error = NoNode(region=MISSING_REGION, runtime="simulated", available=available)
    return Refusal(error.code, str(error), assigned=False)

"""HTTP operations on redirects."""

from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.redirects import service
from stead.control.redirects.schema import NewRedirects, RedirectsView
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite

operation = Operations(tag="Edge")


@operation(
    "GET /v1/sites/{site_id}/redirects",
    id="sites.redirects_get",
    scope="redirects:read",
    errors=[SiteNotFound],
)
async def get_redirects(call: Call, site: VisibleSite) -> RedirectsView:
    """Read all redirects of a site."""
    return RedirectsView(await service.list_rules(call.tx, site.id))


@operation(
    "PUT /v1/sites/{site_id}/redirects",
    id="sites.redirects_replace",
    scope="redirects:write",
    job="job.redirects_apply",
    errors=[SiteNotFound, SiteBusy, JobsWaiting],
)
async def replace_redirects(call: Call, site: VisibleSite, body: NewRedirects) -> JobView:
    """Replace all redirects of a site.

    A rule for an exact path takes precedence over rules that end in `*`; among those the longest one matches.
    The order of the rules does not matter. Rules that would cause a redirect loop are refused.
    """
    return await service.queue_replacement(call.tx, site, body)

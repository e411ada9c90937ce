"""HTTP operations on branch routes."""

from stead.control.git import service
from stead.control.git.schema import BranchRoutesView, NewBranchRoutes
from stead.control.http.operations import Call, Operations
from stead.control.sites.rules import SiteNotFound, VisibleSite

operation = Operations(tag="Git")


@operation(
    "GET /v1/sites/{site_id}/branch-routes",
    id="sites.branch_routes_get",
    scope="sites:read",
    errors=[SiteNotFound],
)
async def get_branch_routes(call: Call, site: VisibleSite) -> BranchRoutesView:
    """Get the branch routes of a site, and what is needed to connect its repository."""
    return await service.get_branch_routes(call.tx, site, call.sealer, base_url=call.context.base_url)


@operation(
    "PUT /v1/sites/{site_id}/branch-routes",
    id="sites.branch_routes_replace",
    scope="sites:write",
    audit="site_branch_routes_replace",
    errors=[SiteNotFound],
)
async def replace_branch_routes(call: Call, site: VisibleSite, body: NewBranchRoutes) -> BranchRoutesView:
    """Replace the branch routes of a site.

    If several rules match a branch, the first applies. A branch that no rule matches is ignored, except the
    site's own `git_branch`, which is live. In a pattern, `*` matches anything except `/`, and `**` matches
    anything. With `roll_hook_secret`, the response contains a new secret for the hook; it is returned only
    once.
    """
    return await service.replace_branch_routes(
        call.tx, site, body, call.sealer, base_url=call.context.base_url
    )

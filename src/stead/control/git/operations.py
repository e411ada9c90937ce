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
    """Read what becomes of a push to each branch, and what connects the repository."""
    return await service.view(call.tx, site, call.sealer, base_url=call.context.base_url)


@operation(
    "PUT /v1/sites/{site_id}/branch-routes",
    id="sites.branch_routes_replace",
    scope="sites:write",
    audit="site_branch_routes_replace",
    errors=[SiteNotFound],
)
async def replace_branch_routes(call: Call, site: VisibleSite, body: NewBranchRoutes) -> BranchRoutesView:
    """Replace the branch routes of a site.

    Of several rules that match a branch, the first counts. A branch that none matches is ignored, except the
    site's own `git_branch`, which is live. In a pattern `*` stands for anything but `/`, `**` for anything.
    With `roll_hook_secret` the answer carries a new secret for the hook; it is not shown again.
    """
    return await service.set_routes(call.tx, site, body, call.sealer, base_url=call.context.base_url)

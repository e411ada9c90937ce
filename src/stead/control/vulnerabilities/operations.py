"""The HTTP operation that reads the vulnerabilities of a site."""

from stead.control.http.operations import Call, Operations
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.vulnerabilities import service
from stead.control.vulnerabilities.schema import VulnerabilitiesView

operation = Operations(tag="Security")


@operation(
    "GET /v1/sites/{site_id}/security/vulnerabilities",
    id="vulnerabilities.get",
    scope="vulnerabilities:read",
    errors=[SiteNotFound],
)
async def get_vulnerabilities(call: Call, site: VisibleSite) -> VulnerabilitiesView:
    """Read the known vulnerabilities of WordPress, plugins and themes on a site, with their sources."""
    return await service.view(call.tx, site)

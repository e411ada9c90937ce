"""The HTTP operation that switches the version of PHP."""

from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.php import service
from stead.control.php.rules import PhpForbidden
from stead.control.php.schema import PhpSwitch, PhpSwitchPreview
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite
from stead.shared.errors import CapabilityUnsupported

operation = Operations(tag="Sites")


@operation(
    "POST /v1/sites/{site_id}/php-version",
    id="sites.switch_php",
    scope="sites:write",
    job="site.config_apply",
    errors=[SiteNotFound, SiteBusy, CapabilityUnsupported, JobsWaiting, PhpForbidden],
)
async def switch_php(call: Call, site: VisibleSite, body: PhpSwitch) -> JobView | PhpSwitchPreview:
    """Switch a WordPress site and all its environments to another version of PHP.

    A version that the `composer.lock` of a release does not allow is refused with 400, unless `force` is
    sent. With `dry_run` nothing changes, and the response with status 200 describes the switch.

    The job first checks each environment: what its Composer packages, its active plugins and its theme
    require, and whether its front page is answered on the new version. Then one environment after the other
    is switched, and its visitors are served throughout. If the job fails, with `php.incompatible`,
    `php.unhealthy` or any other error, all environments have the version from before.
    """
    if body.dry_run:
        call.audit.note(dry_run=True)
    return await service.switch(call.tx, site, body)

"""HTTP operations on uploads."""

from stead.control.http.operations import Call, Operations
from stead.control.plans.rules import StorageExhausted
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite
from stead.control.uploads import service
from stead.control.uploads.schema import UploadView

operation = Operations(tag="Deployments")


@operation(
    "POST /v1/sites/{site_id}/uploads",
    id="uploads.create",
    scope="deployments:write",
    status=201,
    errors=[SiteNotFound, SiteBusy, StorageExhausted],
)
async def create_upload(call: Call, site: VisibleSite) -> UploadView:
    """Get a URL to upload an archive to, for a build of files that are in no repository.

    Send a tar, tar.gz or zip file with one `PUT`, then build with the id of the upload as `source`. The
    archive is kept until a build of it has succeeded, for one day at most.
    """
    return await service.create(call.tx, site, call.context.objects)

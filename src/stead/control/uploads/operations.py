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
    """Get an address to send an archive to, for a build of something that is in no repository.

    Send a tar, tar.gz or zip with one `PUT`, then build with the upload's id as `source`. It is kept until a
    build of it has succeeded, for a day at most.
    """
    return await service.create(call.tx, site, call.context.objects)

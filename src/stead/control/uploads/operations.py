"""HTTP operations on uploads."""

from stead.control.http.operations import Call, Operations
from stead.control.plans.rules import StorageExhausted
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite
from stead.control.uploads import service
from stead.control.uploads.rules import UploadsExhausted
from stead.control.uploads.schema import NewUpload, UploadView

operation = Operations(tag="Deployments")


@operation(
    "POST /v1/sites/{site_id}/uploads",
    id="uploads.create",
    scope="deployments:write",
    status=201,
    errors=[SiteNotFound, SiteBusy, StorageExhausted, UploadsExhausted],
)
async def create_upload(call: Call, site: VisibleSite, body: NewUpload) -> UploadView:
    """Get a URL to upload an archive to, for a build of files that are in no repository.

    Send a tar, tar.gz or zip file of exactly the declared size with one `PUT` and the returned headers, then
    build with the id of the upload as `source`. The URL accepts one archive. It is kept until a build of it
    has succeeded, for one day at most, and counts toward the storage of the plan until then.
    """
    return await service.create(call.tx, site, call.context.objects, body.size_bytes)

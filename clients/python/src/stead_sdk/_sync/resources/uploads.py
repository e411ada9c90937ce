# Generated from `_async/resources/uploads.py` by `make generate`.
"""Uploads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.resource import Resource

if TYPE_CHECKING:
    pass


class Uploads(Resource):
    def create(self, site_id: str, *, size_bytes: int) -> types.Upload:
        """Get a URL to upload an archive to, for a build of files that are in no repository.

        Send a tar, tar.gz or zip file of exactly the declared size with one `PUT` and the returned headers,
        then build with the id of the upload as `source`. The URL accepts one archive. It is kept until a
        build of it has succeeded, for one day at most, and counts toward the storage of the plan until
        then.

        Scopes: `deployments:write`.
        """
        return returned(
            types.Upload,
            self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/uploads",
                body={"size_bytes": size_bytes},
                idempotent="key",
            ),
        )

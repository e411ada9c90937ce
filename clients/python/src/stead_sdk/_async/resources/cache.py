# Generated from the API description by `make generate`.
"""Cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncCache(AsyncResource):
    async def purge(
        self,
        site_id: str,
        env_id: str,
        *,
        type: types.PurgeType | Omit = OMIT,
        url: str | Omit = OMIT,
        tag: str | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Purge pages from the cache of an environment: all pages, those of a URL, or those with a tag.

        When the job has succeeded, no visitor gets an older copy, not even one that was being fetched
        meanwhile.

        Scopes: `cache:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cache/purge",
            body={"type": type, "url": url, "tag": tag},
            may_lack_body=True,
            idempotent="key",
        )
        return self._handle(response, result_of)

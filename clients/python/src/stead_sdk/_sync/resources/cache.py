# Generated from `_async/resources/cache.py` by `make generate`.
"""Cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path
from stead_sdk._sync.jobs import JobHandle
from stead_sdk._sync.resource import Resource, result_of

if TYPE_CHECKING:
    pass


class Cache(Resource):
    def purge(
        self,
        site_id: str,
        env_id: str,
        *,
        type: types.PurgeType | Omit = OMIT,
        url: str | Omit = OMIT,
        tag: str | Omit = OMIT,
    ) -> JobHandle[dict[str, Any]]:
        """Purge pages from the cache of an environment: all pages, those of a URL, or those with a tag.

        When the job has succeeded, no visitor gets an older copy, not even one that was being fetched
        meanwhile.

        Scopes: `cache:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/cache/purge",
            body={"type": type, "url": url, "tag": tag},
            may_lack_body=True,
            idempotent="key",
        )
        return self._handle(response, result_of)

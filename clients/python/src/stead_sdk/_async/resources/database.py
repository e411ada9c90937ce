# Generated from the API description by `make generate`.
"""Database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence


class AsyncDatabase(AsyncResource):
    async def get(self, site_id: str) -> types.Database:
        """Read the version, the size and the tables of the database of a site.

        Scopes: `db:read`.
        """
        return returned(
            types.Database, await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/database")
        )

    async def get_in_environment(self, site_id: str, env_id: str) -> types.Database:
        """Read the version, the size and the tables of the database of a site.

        Scopes: `db:read`.
        """
        return returned(
            types.Database,
            await self._client._call(
                "GET", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/database"
            ),
        )

    async def query(
        self,
        site_id: str,
        *,
        query: str,
        params: Sequence[str | int | float | bool | None] | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.QueryResult:
        """Run one statement that reads, with a user that can do nothing else. It may take 10 seconds.

        The tables contain everything that the site stores, also hashes of passwords and the secrets of
        plugins.

        Scopes: `db:read`.
        """
        return returned(
            types.QueryResult,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/database/query",
                body={"query": query, "params": params, "limit": limit},
                idempotent="key",
            ),
        )

    async def query_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        query: str,
        params: Sequence[str | int | float | bool | None] | Omit = OMIT,
        limit: int | Omit = OMIT,
    ) -> types.QueryResult:
        """Run one statement that reads, with a user that can do nothing else. It may take 10 seconds.

        The tables contain everything that the site stores, also hashes of passwords and the secrets of
        plugins.

        Scopes: `db:read`.
        """
        return returned(
            types.QueryResult,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/database/query",
                body={"query": query, "params": params, "limit": limit},
                idempotent="key",
            ),
        )

    async def execute(
        self,
        site_id: str,
        *,
        query: str,
        params: Sequence[str | int | float | bool | None] | Omit = OMIT,
        confirm: bool | Omit = OMIT,
    ) -> types.StatementResult:
        """Run one `INSERT`, `UPDATE`, `DELETE` or `REPLACE`: as a dry run, unless `confirm` is true.

        A dry run makes the change in a transaction, reports how many rows it affects, and takes it back. To
        apply it to production, the site needs a snapshot of the last hour.

        Scopes: `db:write`.
        """
        return returned(
            types.StatementResult,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/database/execute",
                body={"query": query, "params": params, "confirm": confirm},
                idempotent="key",
            ),
        )

    async def execute_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        query: str,
        params: Sequence[str | int | float | bool | None] | Omit = OMIT,
        confirm: bool | Omit = OMIT,
    ) -> types.StatementResult:
        """Run one `INSERT`, `UPDATE`, `DELETE` or `REPLACE`: as a dry run, unless `confirm` is true.

        A dry run makes the change in a transaction, reports how many rows it affects, and takes it back. To
        apply it to production, the site needs a snapshot of the last hour.

        Scopes: `db:write`.
        """
        return returned(
            types.StatementResult,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/database/execute",
                body={"query": query, "params": params, "confirm": confirm},
                idempotent="key",
            ),
        )

    async def export(
        self,
        site_id: str,
        *,
        tables: Sequence[str] | Omit = OMIT,
        compress: bool | Omit = OMIT,
        query: str | Omit = OMIT,
        params: Sequence[str | int | float | bool | None] | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Export the database of a site as SQL, or the result of a statement as lines of JSON.

        `GET /v1/jobs/{job_id}` shows the `download_url`, which expires, to credentials with `db:read`. A
        site has at most 3 exports at a time.

        Scopes: `db:read`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/database/export",
            body={"tables": tables, "compress": compress, "query": query, "params": params},
            may_lack_body=True,
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def export_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        tables: Sequence[str] | Omit = OMIT,
        compress: bool | Omit = OMIT,
        query: str | Omit = OMIT,
        params: Sequence[str | int | float | bool | None] | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Export the database of a site as SQL, or the result of a statement as lines of JSON.

        `GET /v1/jobs/{job_id}` shows the `download_url`, which expires, to credentials with `db:read`. A
        site has at most 3 exports at a time.

        Scopes: `db:read`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/database/export",
            body={"tables": tables, "compress": compress, "query": query, "params": params},
            may_lack_body=True,
            idempotent="key",
        )
        return self._handle(response, result_of)

# Generated from the API description by `make generate`.
"""Dns records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncDnsRecords(AsyncResource):
    def list(self, site_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Record]:
        """List the DNS records of a site, newest first. Those that the platform adds itself are not listed.

        Scopes: `domains:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/dns/records"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Record
        )

    async def create(
        self,
        site_id: str,
        *,
        type: types.RecordType,
        name: str,
        value: str,
        ttl: int | Omit = OMIT,
        priority: int | Omit | None = OMIT,
    ) -> types.Record:
        """Create a DNS record in the zone of a site, which is its domain without `www`.

        The platform adds the addresses of every domain of the site itself, also at the top of the zone. The
        zone is served once the domain is verified, and counts once the domain is delegated to the name
        servers of the platform.

        Scopes: `domains:write`.
        """
        return returned(
            types.Record,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/dns/records",
                body={"type": type, "name": name, "value": value, "ttl": ttl, "priority": priority},
                idempotent="key",
            ),
        )

    async def get(self, site_id: str, record_id: str) -> types.Record:
        """Read a DNS record, and whether the name servers have it.

        Scopes: `domains:read`.
        """
        return returned(
            types.Record,
            await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/dns/records/{in_path(record_id)}"),
        )

    async def update(
        self,
        site_id: str,
        record_id: str,
        *,
        value: str | Omit = OMIT,
        ttl: int | Omit = OMIT,
        priority: int | Omit = OMIT,
    ) -> types.Record:
        """Change the value, the TTL or the priority of a DNS record.

        Scopes: `domains:write`.
        """
        return returned(
            types.Record,
            await self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/dns/records/{in_path(record_id)}",
                body={"value": value, "ttl": ttl, "priority": priority},
                idempotent="none",
            ),
        )

    async def delete(self, site_id: str, record_id: str) -> None:
        """Delete a DNS record.

        Scopes: `domains:write`.
        """
        await self._client._call("DELETE", f"/v1/sites/{in_path(site_id)}/dns/records/{in_path(record_id)}")

# Generated from the API description by `make generate`.
"""Teams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    pass


class AsyncTeams(AsyncResource):
    def list(self, *, limit: int | Omit = OMIT) -> AsyncPager[types.Team]:
        """List the teams of which you are a member, with your role in each.

        Scopes: `teams:read`.
        """
        path = "/v1/teams"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Team
        )

    async def create(self, *, name: str) -> types.CreatedTeam:
        """Create a team and become its owner.

        Scopes: `teams:write`.
        """
        return returned(
            types.CreatedTeam,
            await self._client._call("POST", "/v1/teams", body={"name": name}, idempotent="key"),
        )

    async def get(self, team_id: str) -> types.Team:
        """Read a team.

        Scopes: `teams:read`.
        """
        return returned(types.Team, await self._client._call("GET", f"/v1/teams/{in_path(team_id)}"))

    async def update(self, team_id: str, *, name: str | Omit = OMIT) -> types.Team:
        """Rename a team.

        Scopes: `teams:write`.
        """
        return returned(
            types.Team,
            await self._client._call(
                "PATCH", f"/v1/teams/{in_path(team_id)}", body={"name": name}, idempotent="none"
            ),
        )

    async def delete(self, team_id: str) -> None:
        """Delete a team that has no sites.

        Deleted sites that can still be recovered are transferred to your account.

        Scopes: `teams:write`.
        """
        await self._client._call("DELETE", f"/v1/teams/{in_path(team_id)}")

    async def plan(self, team_id: str) -> types.Plan:
        """Read the limits of the team's plan and the current usage.

        Scopes: `teams:read`.
        """
        return returned(types.Plan, await self._client._call("GET", f"/v1/teams/{in_path(team_id)}/plan"))

    def sites(self, team_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Site]:
        """List the sites that a team owns.

        Scopes: `teams:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/sites"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Site
        )

    def audit(
        self,
        team_id: str,
        *,
        event: str | Omit | None = OMIT,
        actor: str | Omit | None = OMIT,
        since: str | Omit | None = OMIT,
        until: str | Omit | None = OMIT,
        before: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.AuditEvent]:
        """List the actions in a team, including denied ones.

        Scopes: `audit:read`.
        """
        path = f"/v1/teams/{in_path(team_id)}/audit"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {
                "event": event,
                "actor": actor,
                "since": since,
                "until": until,
                "before": before,
                "limit": limit,
            },
            types.AuditEvent,
        )

    async def insights_summary(
        self,
        team_id: str,
        *,
        days: int | Omit = OMIT,
        from_: str | Omit | None = OMIT,
        to: str | Omit | None = OMIT,
    ) -> types.Summary:
        """Get the web vitals of all sites of a team, and how fast the server answers.

        Of the production environments of up to 1,000 sites, the newest ones, that your role and your
        credential can see.

        Scopes: `observability:read`.
        """
        return returned(
            types.Summary,
            await self._client._call(
                "GET",
                f"/v1/teams/{in_path(team_id)}/insights/summary",
                query={"days": days, "from": from_, "to": to},
            ),
        )

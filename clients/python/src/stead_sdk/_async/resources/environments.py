# Generated from the API description by `make generate`.
"""Environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle, field_of
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from stead_sdk import params


class AsyncEnvironments(AsyncResource):
    def list(self, site_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Environment]:
        """List the environments of a site, newest first. Production is not listed.

        Scopes: `environments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Environment
        )

    async def create(
        self,
        site_id: str,
        *,
        type: types.NewEnvironmentType,
        branch: str | Omit | None = OMIT,
        copy_uploads: bool | Omit = OMIT,
    ) -> AsyncJobHandle[types.Environment]:
        """Create the staging environment of a site, or one for a branch.

        A new environment is a copy of production on a host of its own. A branch environment gets its own
        content with the first build of its branch.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments",
            body={"type": type, "branch": branch, "copy_uploads": copy_uploads},
            idempotent="key",
        )

        async def read(job: types.Job) -> types.Environment:
            return await self._client.environments.get(field_of(job, "site_id"), field_of(job, "env_id"))

        return self._handle(response, read)

    async def get(self, site_id: str, env_id: str) -> types.Environment:
        """Read an environment. The identifier `production` names the production environment.

        Scopes: `environments:read`.
        """
        return returned(
            types.Environment,
            await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}"),
        )

    async def destroy(self, site_id: str, env_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Destroy an environment permanently. A new one can be created for its branch afterwards.

        Commands that are queued or running in it are cancelled.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}", idempotent="key"
        )
        return self._handle(response, result_of)

    async def refresh(self, site_id: str, env_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Deploy the current release of production to an environment.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "POST", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/refresh", idempotent="key"
        )
        return self._handle(response, result_of)

    async def reset(self, site_id: str, env_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Reset an environment to its initial state.

        The initial state of a static site is the placeholder page. The settings of the environment and its
        deployments are kept; each deployment can be rolled back to.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "POST", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/reset", idempotent="key"
        )
        return self._handle(response, result_of)

    async def push(
        self, site_id: str, env_id: str, *, mode: types.PushMode | Omit = OMIT
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Push the content of an environment to production.

        The content of a static site is its release: production switches to the artifact that the
        environment serves. First the current release of production is read from the object store and
        verified, so that a rollback is possible; if the verification fails, nothing changes. To undo the
        push, roll back the new deployment of production. On a site with a repository, only the staging
        environment can be pushed.

        The content of a WordPress site is its files, its database or both, as `mode` says. The output of
        the job first lists what is new on production. Orders, accounts, comments and form entries of
        production are kept, and so are uploads that the environment does not have. Production is stopped
        only for the switch, and its page is requested afterwards; if that fails, production serves what it
        served before.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/push",
            body={"mode": mode},
            may_lack_body=True,
            idempotent="key",
        )
        return self._handle(response, result_of)

    def mail(self, site_id: str, env_id: str, *, limit: int | Omit = OMIT) -> AsyncPager[types.Mail]:
        """List what an environment tried to send, newest first.

        Mail of a copy of production is never sent: the copy has the addresses of real customers. The latest
        100 messages are kept for 14 days. The list of production is empty.

        Scopes: `environments:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/mail"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Mail
        )

    async def suspend(self, site_id: str, env_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Suspend an environment. Visitors get a 503 page until it is resumed.

        Commands that are queued or running in it are cancelled.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "POST", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/suspend", idempotent="key"
        )
        return self._handle(response, result_of)

    async def resume(self, site_id: str, env_id: str) -> AsyncJobHandle[dict[str, Any]]:
        """Resume a suspended environment.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "POST", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/resume", idempotent="key"
        )
        return self._handle(response, result_of)

    async def renew(self, site_id: str, env_id: str) -> types.Lease:
        """Renew the lease of an environment and issue a new metrics token. The previous token stops working.

        Scopes: `environments:write`.
        """
        return returned(
            types.Lease,
            await self._client._call(
                "POST", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/renew", idempotent="key"
            ),
        )

    async def lock(self, site_id: str, env_id: str, *, reason: str) -> types.Lock:
        """Keep an environment on the release that it serves.

        Deployments, promotions and rollbacks to it, pushes to it, refreshes and resets are refused, also
        those that wait in the queue; what is being deployed already is finished. Pushed commits are still
        built, and builds with `auto_deploy` still run, but their artifacts are not deployed; the `error` of
        the build says why. Locking again replaces the reason.

        Scopes: `deployments:write`.
        """
        return returned(
            types.Lock,
            await self._client._call(
                "PUT",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/lock",
                body={"reason": reason},
            ),
        )

    async def unlock(self, site_id: str, env_id: str) -> None:
        """Allow deployments again. Artifacts that were held back are not deployed by this.

        Scopes: `deployments:write`.
        """
        await self._client._call(
            "DELETE", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/lock"
        )

    async def config_get(self, site_id: str, env_id: str) -> types.EnvironmentConfiguration:
        """Read the configuration that an environment inherits, overrides and effectively uses.

        Scopes: `environments:read`.
        """
        return returned(
            types.EnvironmentConfiguration,
            await self._client._call(
                "GET", f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/config"
            ),
        )

    async def config_update(
        self,
        site_id: str,
        env_id: str,
        *,
        security: params.SecurityChange | Omit = OMIT,
        performance: params.PerformanceChange | Omit = OMIT,
        observability: params.ObservabilityChange | Omit = OMIT,
        serving: params.ServingChange | Omit = OMIT,
    ) -> AsyncJobHandle[dict[str, Any]] | types.Unchanged:
        """Change the configuration of an environment.

        Fields that are not sent keep their value; null inherits the value of the site again. A request that
        names no setting is answered with status 200 and changes nothing.

        Scopes: `environments:write`.
        """
        response = await self._client._call(
            "PATCH",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/config",
            body={
                "security": security,
                "performance": performance,
                "observability": observability,
                "serving": serving,
            },
            idempotent="none",
        )
        if "links" not in response["data"]:
            return returned(types.Unchanged, response)
        return self._handle(response, result_of)

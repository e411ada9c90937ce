# Generated from `_async/resources/sites.py` by `make generate`.
"""Sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._omit import OMIT, Omit
from stead_sdk._sync.client import in_path, returned
from stead_sdk._sync.jobs import JobHandle, field_of
from stead_sdk._sync.pages import Pager
from stead_sdk._sync.resource import Resource, result_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stead_sdk import params


class Sites(Resource):
    def list(
        self,
        *,
        status: types.SiteStatus | Omit | None = OMIT,
        q: str | Omit | None = OMIT,
        domain: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> Pager[types.Site]:
        """List the sites you can see, newest first. Deleted sites only with `status=deleted`.

        Scopes: `sites:read`.
        """
        path = "/v1/sites"
        return Pager(
            lambda query: self._client._call("GET", path, query=query),
            {"status": status, "q": q, "domain": domain, "limit": limit},
            types.Site,
        )

    def create(
        self,
        *,
        domain: str,
        profile: types.Profile,
        php_version: types.PhpVersion | Omit | None = OMIT,
        region: str | Omit = OMIT,
        git_repo: str | Omit | None = OMIT,
        git_branch: str | Omit | None = OMIT,
        team_id: str | Omit | None = OMIT,
        admin: params.NewAdministrator | Omit | None = OMIT,
    ) -> JobHandle[types.Site]:
        """Create a site. When the job has succeeded, the site answers at its preview host.

        It answers at its domain, and gets a certificate for it, once the domain is verified: it points to
        this platform, or has the TXT record in `challenge` of the site. The profile cannot be changed
        later. A site that is created with a test key is simulated.

        Scopes: `sites:write`.
        """
        response = self._client._call(
            "POST",
            "/v1/sites",
            body={
                "domain": domain,
                "profile": profile,
                "php_version": php_version,
                "region": region,
                "git_repo": git_repo,
                "git_branch": git_branch,
                "team_id": team_id,
                "admin": admin,
            },
            idempotent="key",
        )

        def read(job: types.Job) -> types.Site:
            return self._client.sites.get(field_of(job, "site_id"))

        return self._handle(response, read)

    def get(self, site_id: str) -> types.Site:
        """Read a site.

        Scopes: `sites:read`.
        """
        return returned(types.Site, self._client._call("GET", f"/v1/sites/{in_path(site_id)}"))

    def delete(self, site_id: str, *, confirm_domain: str) -> JobHandle[dict[str, Any]]:
        """Delete a site. It can be recovered, and keeps its domains, for 30 days.

        Commands that are queued or running in its environments are cancelled.

        Scopes: `sites:admin`.
        """
        response = self._client._call(
            "DELETE",
            f"/v1/sites/{in_path(site_id)}",
            body={"confirm_domain": confirm_domain},
            idempotent="key",
        )
        return self._handle(response, result_of)

    def recover(self, site_id: str) -> JobHandle[dict[str, Any]]:
        """Recover a deleted site.

        Scopes: `sites:admin`.
        """
        response = self._client._call("POST", f"/v1/sites/{in_path(site_id)}/recover", idempotent="key")
        return self._handle(response, result_of)

    def restart(self, site_id: str) -> JobHandle[dict[str, Any]]:
        """Restart a site and check that it answers.

        Scopes: `sites:write`.
        """
        response = self._client._call("POST", f"/v1/sites/{in_path(site_id)}/restart", idempotent="key")
        return self._handle(response, result_of)

    def transfer(
        self, site_id: str, *, to_team_id: str | Omit = OMIT, to_client_id: str | Omit = OMIT
    ) -> types.Transferred:
        """Transfer a site to a team that you own or administer, or to your own account.

        Its secrets and variables go along. The token of its forge does not: the new owner sets another one.

        Scopes: `sites:admin`.
        """
        return returned(
            types.Transferred,
            self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/transfer",
                body={"to_team_id": to_team_id, "to_client_id": to_client_id},
                idempotent="key",
            ),
        )

    def tls_get(self, site_id: str) -> types.Tls:
        """Read the state of the certificate for the domain of a site.

        Scopes: `tls:read`.
        """
        return returned(types.Tls, self._client._call("GET", f"/v1/sites/{in_path(site_id)}/tls"))

    def switch_php(
        self,
        site_id: str,
        *,
        version: types.PhpSwitchVersion,
        dry_run: bool | Omit = OMIT,
        force: bool | Omit = OMIT,
    ) -> JobHandle[dict[str, Any]] | types.PhpSwitchPreview:
        """Switch a WordPress site and all its environments to another version of PHP.

        A version that the `composer.lock` of a release does not allow is refused with 400, unless `force`
        is sent. With `dry_run` nothing changes, and the response with status 200 describes the switch.

        The job first checks each environment: what its Composer packages, its active plugins and its theme
        require, and whether its front page is answered on the new version. Then one environment after the
        other is switched, and its visitors are served throughout. If the job fails, with
        `php.incompatible`, `php.unhealthy` or any other error, all environments have the version from
        before.

        Scopes: `sites:write`.
        """
        response = self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/php-version",
            body={"version": version, "dry_run": dry_run, "force": force},
            idempotent="key",
        )
        if "links" not in response["data"]:
            return returned(types.PhpSwitchPreview, response)
        return self._handle(response, result_of)

    def config_get(self, site_id: str) -> types.Configuration:
        """Read the configuration of a site. Its environments inherit it.

        Scopes: `sites:read`.
        """
        return returned(
            types.Configuration, self._client._call("GET", f"/v1/sites/{in_path(site_id)}/config")
        )

    def config_update(
        self,
        site_id: str,
        *,
        security: params.SecurityChange | Omit = OMIT,
        performance: params.PerformanceChange | Omit = OMIT,
        observability: params.ObservabilityChange | Omit = OMIT,
        serving: params.ServingChange | Omit = OMIT,
    ) -> JobHandle[dict[str, Any]] | types.Unchanged:
        """Change the configuration of a site.

        Fields that are not sent keep their value; null restores the default. When the job has succeeded,
        every edge of the region applies the change, and a probe has shown that the site still answers. If
        the job fails, nothing has changed. A request that names no setting is answered with status 200 and
        changes nothing.

        Scopes: `sites:write`.
        """
        response = self._client._call(
            "PATCH",
            f"/v1/sites/{in_path(site_id)}/config",
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

    def redirects_get(self, site_id: str) -> types.Redirects:
        """Read all redirects of a site.

        Scopes: `redirects:read`.
        """
        return returned(types.Redirects, self._client._call("GET", f"/v1/sites/{in_path(site_id)}/redirects"))

    def redirects_replace(
        self, site_id: str, *, redirects: Sequence[params.RedirectRule]
    ) -> JobHandle[dict[str, Any]]:
        """Replace all redirects of a site.

        A rule for an exact path takes precedence over rules that end in `*`; among those the longest one
        matches. The order of the rules does not matter. Rules that would cause a redirect loop are refused.

        Scopes: `redirects:write`.
        """
        response = self._client._call(
            "PUT", f"/v1/sites/{in_path(site_id)}/redirects", body={"redirects": redirects}
        )
        return self._handle(response, result_of)

    def magic_link(
        self,
        site_id: str,
        *,
        redirect_to: str | Omit = OMIT,
        user: str | Omit | None = OMIT,
        environment: str | Omit = OMIT,
    ) -> types.MagicLink:
        """Create a link that signs a user in to the administration of a WordPress site, once, within a minute.

        The link shows a page with a button. Only the button signs in, so a program that follows the link,
        such as a preview or a mail scanner, does not use it up. It ends when its creator loses access to
        the site. The link of a test site leads nowhere, because test sites are simulated.

        Scopes: `credentials:write`.
        """
        return returned(
            types.MagicLink,
            self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/magic-link",
                body={"redirect_to": redirect_to, "user": user, "environment": environment},
                may_lack_body=True,
                idempotent="key",
            ),
        )

    def branch_routes_get(self, site_id: str) -> types.BranchRoutes:
        """Get the branch routes of a site, and what is needed to connect its repository.

        Scopes: `sites:read`.
        """
        return returned(
            types.BranchRoutes, self._client._call("GET", f"/v1/sites/{in_path(site_id)}/branch-routes")
        )

    def branch_routes_replace(
        self,
        site_id: str,
        *,
        rules: Sequence[params.BranchRule],
        roll_hook_secret: bool | Omit = OMIT,
        forge: params.NewForge | Omit | None = OMIT,
    ) -> types.BranchRoutes:
        """Replace the branch routes of a site.

        If several rules match a branch, the first applies. A branch that no rule matches is ignored, except
        the site's own `git_branch`, which is live. In a pattern, `*` matches anything except `/`, and `**`
        matches anything. With `roll_hook_secret`, the response contains a new secret for the hook; it is
        returned only once.

        Scopes: `sites:write`.
        """
        return returned(
            types.BranchRoutes,
            self._client._call(
                "PUT",
                f"/v1/sites/{in_path(site_id)}/branch-routes",
                body={"rules": rules, "roll_hook_secret": roll_hook_secret, "forge": forge},
            ),
        )

    def snapshots(self, site_id: str, *, limit: int | Omit = OMIT) -> Pager[types.Snapshot]:
        """List the snapshots of a site, newest first. Only complete snapshots are listed.

        Scopes: `backups:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/snapshots"
        return Pager(
            lambda query: self._client._call("GET", path, query=query), {"limit": limit}, types.Snapshot
        )

    def audit(
        self,
        site_id: str,
        *,
        event: str | Omit | None = OMIT,
        actor: str | Omit | None = OMIT,
        since: str | Omit | None = OMIT,
        until: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> Pager[types.AuditEvent]:
        """List the actions on a site, including denied ones.

        Scopes: `audit:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/audit"
        return Pager(
            lambda query: self._client._call("GET", path, query=query),
            {"event": event, "actor": actor, "since": since, "until": until, "limit": limit},
            types.AuditEvent,
        )

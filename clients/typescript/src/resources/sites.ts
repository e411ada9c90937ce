// Generated from the API description by `make generate`.
import { fieldOf, JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource, unlessEmpty } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Sites extends Resource {
  /**
   * List the sites you can see, newest first. Deleted sites only with `status=deleted`.
   *
   * Scopes: `sites:read`.
   */
  list(query: { status?: types.SiteStatus | null | undefined; q?: string | null | undefined; domain?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Site> {
    const path = "/v1/sites";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a site. When the job has succeeded, the site answers at its preview host.
   *
   * It answers at its domain, and gets a certificate for it, once the domain is verified: it points to this
   * platform, or has the TXT record in `challenge` of the site. The profile cannot be changed later. A site
   * that is created with a test key is simulated.
   *
   * Scopes: `sites:write`.
   */
  async create(body: types.NewSite, options: RequestOptions = {}): Promise<JobHandle<types.Site>> {
    const { body: found } = await this.transport.request("POST", "/v1/sites", { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), (job, given) =>
      this.client.sites.get(fieldOf(job, "site_id"), given),
    );
  }

  /**
   * Read a site.
   *
   * Scopes: `sites:read`.
   */
  async get(siteId: string, options: RequestOptions = {}): Promise<types.Site> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}`, { options });
    return dataOf<types.Site>(found);
  }

  /**
   * Delete a site. It can be recovered, and keeps its domains, for 30 days.
   *
   * Commands that are queued or running in its environments are cancelled.
   *
   * Scopes: `sites:admin`.
   */
  async delete(siteId: string, body: types.Deletion, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Recover a deleted site.
   *
   * Scopes: `sites:admin`.
   */
  async recover(siteId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/recover`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Restart a site and check that it answers.
   *
   * Scopes: `sites:write`.
   */
  async restart(siteId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/restart`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Transfer a site to a team that you own or administer, or to your own account.
   *
   * Its secrets and variables go along. The token of its forge does not: the new owner sets another one.
   *
   * Scopes: `sites:admin`.
   */
  async transfer(siteId: string, body: types.Transfer = {}, options: RequestOptions = {}): Promise<types.Transferred> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/transfer`, { body, idempotent: "key", options });
    return dataOf<types.Transferred>(found);
  }

  /**
   * Read the state of the certificate for the domain of a site.
   *
   * Scopes: `tls:read`.
   */
  async tlsGet(siteId: string, options: RequestOptions = {}): Promise<types.Tls> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/tls`, { options });
    return dataOf<types.Tls>(found);
  }

  /**
   * Switch a WordPress site and all its environments to another version of PHP.
   *
   * A version that the `composer.lock` of a release does not allow is refused with 400, unless `force` is
   * sent. With `dry_run` nothing changes, and the response with status 200 describes the switch.
   *
   * The job first checks each environment: what its Composer packages, its active plugins and its theme
   * require, and whether its front page is answered on the new version. Then one environment after the other
   * is switched, and its visitors are served throughout. If the job fails, with `php.incompatible`,
   * `php.unhealthy` or any other error, all environments have the version from before.
   *
   * Scopes: `sites:write`.
   */
  async switchPhp(siteId: string, body: types.PhpSwitch, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>> | types.PhpSwitchPreview> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/php-version`, { body, idempotent: "key", options });
    const data = dataOf<types.PhpSwitchPreview>(found);
    if (!("links" in data)) return data;
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Read the configuration of a site. Its environments inherit it.
   *
   * Scopes: `sites:read`.
   */
  async configGet(siteId: string, options: RequestOptions = {}): Promise<types.Configuration> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/config`, { options });
    return dataOf<types.Configuration>(found);
  }

  /**
   * Change the configuration of a site.
   *
   * Fields that are not sent keep their value; null restores the default. When the job has succeeded, every
   * edge of the region applies the change, and a probe has shown that the site still answers. If the job
   * fails, nothing has changed. A request that names no setting is answered with status 200 and changes
   * nothing.
   *
   * Scopes: `sites:write`.
   */
  async configUpdate(siteId: string, body: types.ConfigurationChange = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>> | types.Unchanged> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/config`, { body, idempotent: "none", options });
    const data = dataOf<types.Unchanged>(found);
    if (!("links" in data)) return data;
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Read all redirects of a site.
   *
   * Scopes: `redirects:read`.
   */
  async redirectsGet(siteId: string, options: RequestOptions = {}): Promise<types.Redirects> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/redirects`, { options });
    return dataOf<types.Redirects>(found);
  }

  /**
   * Replace all redirects of a site.
   *
   * A rule for an exact path takes precedence over rules that end in `*`; among those the longest one matches.
   * The order of the rules does not matter. Rules that would cause a redirect loop are refused.
   *
   * Scopes: `redirects:write`.
   */
  async redirectsReplace(siteId: string, body: types.NewRedirects, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("PUT", `/v1/sites/${inPath(siteId)}/redirects`, { body, options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Create a link that signs a user in to the administration of a WordPress site, once, within a minute.
   *
   * The link shows a page with a button. Only the button signs in, so a program that follows the link, such as
   * a preview or a mail scanner, does not use it up. It ends when its creator loses access to the site. The
   * link of a test site leads nowhere, because test sites are simulated.
   *
   * Scopes: `credentials:write`.
   */
  async magicLink(siteId: string, body: types.NewMagicLink = {}, options: RequestOptions = {}): Promise<types.MagicLink> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/magic-link`, { body: unlessEmpty(body), idempotent: "key", options });
    return dataOf<types.MagicLink>(found);
  }

  /**
   * Get the branch routes of a site, and what is needed to connect its repository.
   *
   * Scopes: `sites:read`.
   */
  async branchRoutesGet(siteId: string, options: RequestOptions = {}): Promise<types.BranchRoutes> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/branch-routes`, { options });
    return dataOf<types.BranchRoutes>(found);
  }

  /**
   * Replace the branch routes of a site.
   *
   * If several rules match a branch, the first applies. A branch that no rule matches is ignored, except the
   * site's own `git_branch`, which is live. In a pattern, `*` matches anything except `/`, and `**` matches
   * anything. With `roll_hook_secret`, the response contains a new secret for the hook; it is returned only
   * once.
   *
   * Scopes: `sites:write`.
   */
  async branchRoutesReplace(siteId: string, body: types.NewBranchRoutes, options: RequestOptions = {}): Promise<types.BranchRoutes> {
    const { body: found } = await this.transport.request("PUT", `/v1/sites/${inPath(siteId)}/branch-routes`, { body, options });
    return dataOf<types.BranchRoutes>(found);
  }

  /**
   * List the snapshots of a site, newest first. Only complete snapshots are listed.
   *
   * Scopes: `backups:read`.
   */
  snapshots(siteId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Snapshot> {
    const path = `/v1/sites/${inPath(siteId)}/snapshots`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * List the actions on a site, including denied ones.
   *
   * Scopes: `audit:read`.
   */
  audit(siteId: string, query: { event?: string | null | undefined; actor?: string | null | undefined; since?: string | null | undefined; until?: string | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.AuditEvent> {
    const path = `/v1/sites/${inPath(siteId)}/audit`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }
}

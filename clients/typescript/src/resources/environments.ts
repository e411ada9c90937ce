// Generated from the API description by `make generate`.
import { fieldOf, JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource, unlessEmpty } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Environments extends Resource {
  /**
   * List the environments of a site, newest first. Production is not listed.
   *
   * Scopes: `environments:read`.
   */
  list(siteId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Environment> {
    const path = `/v1/sites/${inPath(siteId)}/environments`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create the staging environment of a site, or one for a branch.
   *
   * A new environment is a copy of production on a host of its own. A branch environment gets its own content
   * with the first build of its branch.
   *
   * Scopes: `environments:write`.
   */
  async create(siteId: string, body: types.NewEnvironment, options: RequestOptions = {}): Promise<JobHandle<types.Environment>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), (job, given) =>
      this.client.environments.get(fieldOf(job, "site_id"), fieldOf(job, "env_id"), given),
    );
  }

  /**
   * Read an environment. The identifier `production` names the production environment.
   *
   * Scopes: `environments:read`.
   */
  async get(siteId: string, envId: string, options: RequestOptions = {}): Promise<types.Environment> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}`, { options });
    return dataOf<types.Environment>(found);
  }

  /**
   * Destroy an environment permanently. A new one can be created for its branch afterwards.
   *
   * Commands that are queued or running in it are cancelled.
   *
   * Scopes: `environments:write`.
   */
  async destroy(siteId: string, envId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Deploy the current release of production to an environment.
   *
   * Scopes: `environments:write`.
   */
  async refresh(siteId: string, envId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/refresh`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Reset an environment to its initial state.
   *
   * The initial state of a static site is the placeholder page. The settings of the environment and its
   * deployments are kept; each deployment can be rolled back to.
   *
   * Scopes: `environments:write`.
   */
  async reset(siteId: string, envId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/reset`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Push the content of an environment to production.
   *
   * The content of a static site is its release: production switches to the artifact that the environment
   * serves. First the current release of production is read from the object store and verified, so that a
   * rollback is possible; if the verification fails, nothing changes. To undo the push, roll back the new
   * deployment of production. On a site with a repository, only the staging environment can be pushed.
   *
   * The content of a WordPress site is its files, its database or both, as `mode` says. The output of the job
   * first lists what is new on production. Orders, accounts, comments and form entries of production are kept,
   * and so are uploads that the environment does not have. Production is stopped only for the switch, and its
   * page is requested afterwards; if that fails, production serves what it served before.
   *
   * Scopes: `environments:write`.
   */
  async push(siteId: string, envId: string, body: types.NewPush = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/push`, { body: unlessEmpty(body), idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * List what an environment tried to send, newest first.
   *
   * Mail of a copy of production is never sent: the copy has the addresses of real customers. The latest 100
   * messages are kept for 14 days. The list of production is empty.
   *
   * Scopes: `environments:read`.
   */
  mail(siteId: string, envId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Mail> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/mail`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Suspend an environment. Visitors get a 503 page until it is resumed.
   *
   * Commands that are queued or running in it are cancelled.
   *
   * Scopes: `environments:write`.
   */
  async suspend(siteId: string, envId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/suspend`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Resume a suspended environment.
   *
   * Scopes: `environments:write`.
   */
  async resume(siteId: string, envId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/resume`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Renew the lease of an environment and issue a new metrics token. The previous token stops working.
   *
   * Scopes: `environments:write`.
   */
  async renew(siteId: string, envId: string, options: RequestOptions = {}): Promise<types.Lease> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/renew`, { idempotent: "key", options });
    return dataOf<types.Lease>(found);
  }

  /**
   * Keep an environment on the release that it serves.
   *
   * Deployments, promotions and rollbacks to it, pushes to it, refreshes and resets are refused, also those
   * that wait in the queue; what is being deployed already is finished. Pushed commits are still built, and
   * builds with `auto_deploy` still run, but their artifacts are not deployed; the `error` of the build says
   * why. Locking again replaces the reason.
   *
   * Scopes: `deployments:write`.
   */
  async lock(siteId: string, envId: string, body: types.NewLock, options: RequestOptions = {}): Promise<types.Lock> {
    const { body: found } = await this.transport.request("PUT", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/lock`, { body, options });
    return dataOf<types.Lock>(found);
  }

  /**
   * Allow deployments again. Artifacts that were held back are not deployed by this.
   *
   * Scopes: `deployments:write`.
   */
  async unlock(siteId: string, envId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/lock`, { idempotent: "natural", options });
  }

  /**
   * Read the configuration that an environment inherits, overrides and effectively uses.
   *
   * Scopes: `environments:read`.
   */
  async configGet(siteId: string, envId: string, options: RequestOptions = {}): Promise<types.EnvironmentConfiguration> {
    const { body: found } = await this.transport.request("GET", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/config`, { options });
    return dataOf<types.EnvironmentConfiguration>(found);
  }

  /**
   * Change the configuration of an environment.
   *
   * Fields that are not sent keep their value; null inherits the value of the site again. A request that names
   * no setting is answered with status 200 and changes nothing.
   *
   * Scopes: `environments:write`.
   */
  async configUpdate(siteId: string, envId: string, body: types.ConfigurationChange = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>> | types.Unchanged> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/config`, { body, idempotent: "none", options });
    const data = dataOf<types.Unchanged>(found);
    if (!("links" in data)) return data;
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}

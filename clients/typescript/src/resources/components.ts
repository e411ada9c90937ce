// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Components extends Resource {
  /**
   * List the plugins and themes of a site, with the updates that WordPress knows of.
   *
   * A key that may read only plugins sees only plugins, and one that may read only themes sees only themes.
   *
   * Scopes: `cms.plugins:read`, `cms.themes:read`.
   */
  list(siteId: string, query: { kind?: types.ComponentKind | null | undefined; status?: types.ComponentStatus | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Component> {
    const path = `/v1/sites/${inPath(siteId)}/components`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Install a plugin or theme from the registry of WordPress, or from an upload.
   *
   * A snapshot of production is taken first. If the site does not answer afterwards, what was installed is
   * removed again, and the job fails with `component.unhealthy`. A version with a known vulnerability is
   * refused without `force`. WordPress itself is updated by the platform.
   *
   * Scopes: `cms.plugins:write`.
   */
  async install(siteId: string, body: types.NewComponent, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/components`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * List the plugins and themes of a site, with the updates that WordPress knows of.
   *
   * A key that may read only plugins sees only plugins, and one that may read only themes sees only themes.
   *
   * Scopes: `cms.plugins:read`, `cms.themes:read`.
   */
  listInEnvironment(siteId: string, envId: string, query: { kind?: types.ComponentKind | null | undefined; status?: types.ComponentStatus | null | undefined; limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Component> {
    const path = `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/components`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Install a plugin or theme from the registry of WordPress, or from an upload.
   *
   * A snapshot of production is taken first. If the site does not answer afterwards, what was installed is
   * removed again, and the job fails with `component.unhealthy`. A version with a known vulnerability is
   * refused without `force`. WordPress itself is updated by the platform.
   *
   * Scopes: `cms.plugins:write`.
   */
  async installInEnvironment(siteId: string, envId: string, body: types.NewComponent, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/components`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Update a plugin or theme to a version of the registry, or activate or deactivate it.
   *
   * If the site does not answer afterwards, the earlier version and status come back at once. A version with a
   * known vulnerability is refused without `force`.
   *
   * Scopes: `cms.plugins:write`, `cms.themes:write`.
   */
  async update(siteId: string, componentId: string, body: types.ComponentUpdate = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/components/${inPath(componentId)}`, { body, idempotent: "none", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Deactivate a plugin and delete it, or delete a theme that is not active.
   *
   * Scopes: `cms.plugins:write`, `cms.themes:write`.
   */
  async delete(siteId: string, componentId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/components/${inPath(componentId)}`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Update a plugin or theme to a version of the registry, or activate or deactivate it.
   *
   * If the site does not answer afterwards, the earlier version and status come back at once. A version with a
   * known vulnerability is refused without `force`.
   *
   * Scopes: `cms.plugins:write`, `cms.themes:write`.
   */
  async updateInEnvironment(siteId: string, envId: string, componentId: string, body: types.ComponentUpdate = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("PATCH", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/components/${inPath(componentId)}`, { body, idempotent: "none", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Deactivate a plugin and delete it, or delete a theme that is not active.
   *
   * Scopes: `cms.plugins:write`, `cms.themes:write`.
   */
  async deleteInEnvironment(siteId: string, envId: string, componentId: string, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("DELETE", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/components/${inPath(componentId)}`, { idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Change several plugins and themes, one after the other.
   *
   * The output of the job reports each of them. The job fails if none could be changed.
   *
   * Scopes: `cms.plugins:write`, `cms.themes:write`.
   */
  async batch(siteId: string, body: types.ComponentBatch, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/components:batch`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Change several plugins and themes, one after the other.
   *
   * The output of the job reports each of them. The job fails if none could be changed.
   *
   * Scopes: `cms.plugins:write`, `cms.themes:write`.
   */
  async batchInEnvironment(siteId: string, envId: string, body: types.ComponentBatch, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/sites/${inPath(siteId)}/environments/${inPath(envId)}/components:batch`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }
}

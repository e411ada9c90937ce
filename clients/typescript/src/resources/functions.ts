// Generated from the API description by `make generate`.
import { JobHandle, jobOf } from "../jobs.js";
import { Pager } from "../pages.js";
import { Resource } from "../resource.js";
import { dataOf } from "../responses.js";
import { inPath } from "../transport.js";
import type { RequestOptions } from "../transport.js";
import type * as types from "../types.js";

export class Functions extends Resource {
  /**
   * List the functions of all sites that the caller can see, newest first.
   *
   * Scopes: `functions:read`.
   */
  list(query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Function> {
    const path = "/v1/functions";
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Create a function of a site with the profile `wasm`.
   *
   * With `source` it is built, and deployed unless `auto_deploy` is false: `last_build_job_id` names the job.
   * It answers at `/_fn/<slug>` of every domain of the site, or at `route_path`.
   *
   * Scopes: `functions:write`.
   */
  async create(body: types.NewFunction, options: RequestOptions = {}): Promise<types.Function> {
    const { body: found } = await this.transport.request("POST", "/v1/functions", { body, idempotent: "key", options });
    return dataOf<types.Function>(found);
  }

  /**
   * List the functions of a site, newest first.
   *
   * Scopes: `functions:read`.
   */
  listForSite(siteId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.Function> {
    const path = `/v1/sites/${inPath(siteId)}/functions`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }

  /**
   * Read a function.
   *
   * Scopes: `functions:read`.
   */
  async get(functionId: string, options: RequestOptions = {}): Promise<types.Function> {
    const { body: found } = await this.transport.request("GET", `/v1/functions/${inPath(functionId)}`, { options });
    return dataOf<types.Function>(found);
  }

  /**
   * Change the settings of a function. They apply from its next deployment or rollback on.
   *
   * Scopes: `functions:write`.
   */
  async update(functionId: string, body: types.FunctionChange = {}, options: RequestOptions = {}): Promise<types.Function> {
    const { body: found } = await this.transport.request("PATCH", `/v1/functions/${inPath(functionId)}`, { body, idempotent: "none", options });
    return dataOf<types.Function>(found);
  }

  /**
   * Delete a function. The edges stop serving it within seconds. Its state is kept with the site.
   *
   * Scopes: `functions:write`.
   */
  async delete(functionId: string, options: RequestOptions = {}): Promise<void> {
    await this.transport.request("DELETE", `/v1/functions/${inPath(functionId)}`, { idempotent: "natural", options });
  }

  /**
   * Build a function from a new source, or from its stored one.
   *
   * Scopes: `functions:write`.
   */
  async build(functionId: string, body: types.NewFunctionBuild = {}, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/functions/${inPath(functionId)}/build`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Deploy an artifact of a function.
   *
   * The node verifies, compiles and starts the function before any visitor reaches it; then all visitors get
   * it at once. If it cannot be started, the job fails and the version before is still served.
   *
   * Scopes: `functions:write`.
   */
  async deploy(functionId: string, body: types.NewFunctionDeployment, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/functions/${inPath(functionId)}/deploy`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * Serve an earlier version of a function again, with its current settings. Nothing is built.
   *
   * Scopes: `functions:write`.
   */
  async rollback(functionId: string, body: types.FunctionRollback, options: RequestOptions = {}): Promise<JobHandle<Record<string, unknown>>> {
    const { body: found } = await this.transport.request("POST", `/v1/functions/${inPath(functionId)}/rollback`, { body, idempotent: "key", options });
    return new JobHandle(this.transport, jobOf(found), async (job) => ({ ...job.result }));
  }

  /**
   * List the versions of a function that can be deployed again, newest first.
   *
   * Scopes: `functions:read`.
   */
  versions(functionId: string, query: { limit?: number | undefined } = {}, options: RequestOptions = {}): Pager<types.FunctionVersion> {
    const path = `/v1/functions/${inPath(functionId)}/versions`;
    return new Pager((cursor) => this.transport.request("GET", path, { query: { ...query, cursor }, options }));
  }
}
